package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			version, goVersion := "unknown", "unknown"
			if info, ok := debug.ReadBuildInfo(); ok {
				version, goVersion = info.Main.Version, info.GoVersion
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						version += " " + s.Value
					}
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "zkbridge %s, %s, answers as ZooKeeper 3.9.5\n", version, goVersion)
			return err
		},
	}
}
