package main

import (
	"github.com/spf13/cobra"

	"zkbridge/internal/bridge"
	"zkbridge/internal/config"
)

func serveCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a bridge",
		Long: `Run a bridge until SIGTERM or an interrupt, then stop taking connections, close
them one by one and leave the sessions to their clients.

Without a configuration file it serves ZooKeeper clients on 127.0.0.1:2181, runs
the registry inside this process with its HTTP API on 127.0.0.1:8849, answers the
operator on 127.0.0.1:8180, and keeps its data in ./data.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file, cmd.Flags())
			if err != nil {
				return err
			}
			return bridge.Serve(cmd.Context(), cfg, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "configuration `file` (YAML); zkbridge config sample prints one")
	config.AddFlags(cmd.Flags())
	return cmd
}
