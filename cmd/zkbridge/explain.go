package main

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"zkbridge/internal/config"
)

func explainCommand() *cobra.Command {
	var admin string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain PATH",
		Short: "Say what a path is, who vouches for it, and why it is or is not in a list",
		Example: `  zkbridge explain /dubbo
  zkbridge explain /dubbo/com.example.Greeter/providers`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return askAdmin(cmd.Context(), cmd.OutOrStdout(), http.MethodGet, admin, "/explain?path="+url.QueryEscape(args[0]), asJSON)
		},
	}
	cmd.Flags().StringVar(&admin, "admin", "http://"+config.Default().Admin.Listen, "URL, or host:port, of the bridge's admin listener")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
