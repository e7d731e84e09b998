package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"zkbridge/internal/config"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check, print or begin a configuration"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "sample", Short: "Print every key with its default and what it means", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprint(cmd.OutOrStdout(), config.Sample())
				return err
			},
		},
		&cobra.Command{
			Use: "check FILE", Short: "Say what is wrong with a file, or nothing", Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error {
				_, err := config.Load(args[0], nil)
				return err
			},
		},
		printCommand(),
	)
	return cmd
}

func printCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "print", Short: "Print what serve would run with, from file, environment and flags", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file, cmd.Flags())
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), config.YAML(cfg.WithoutSecrets(), false))
			return err
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "configuration file")
	config.AddFlags(cmd.Flags())
	return cmd
}
