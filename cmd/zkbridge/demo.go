package main

import (
	"github.com/spf13/cobra"

	"zkbridge/internal/demo"
)

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show in ten seconds what a bridge does",
		Long: `Start a bridge on free loopback ports with a temporary data directory, register one
provider through ZooKeeper and one natively over HTTP, and print what each side
sees as they come and go. Nothing is left behind.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo.Run(cmd.Context(), cmd.OutOrStdout()) },
	}
}
