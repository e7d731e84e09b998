package main

import (
	"fmt"
	"log/slog"
	"os"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

// tokenVariable holds the registry's token where it should not be on a command
// line.
const tokenVariable = "ZKBRIDGE_REGISTRY_TOKEN"

func registryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "Run the embedded registry as a process of its own, or ask one",
	}
	cmd.AddCommand(registryServeCommand(), registryServicesCommand(), registryInstancesCommand())
	return cmd
}

func registryServeCommand() *cobra.Command {
	cfg := embedded.ServeConfig{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the registry as a process of its own",
		Long: `Run the registry that is otherwise inside the bridge, so that either can be restarted
without the other: zkbridge serve --registry.address http://HOST:PORT.

It listens on loopback unless told otherwise, and then only with a token
(--token or ` + tokenVariable + `). The API is described at /openapi.yaml.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if cfg.Token == "" {
				cfg.Token = os.Getenv(tokenVariable)
			}
			return embedded.Serve(cmd.Context(), cfg)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Listen, "listen", embedded.DefaultListen, "address of the HTTP API")
	f.StringVar(&cfg.Token, "token", "", "bearer token that every client must send; or "+tokenVariable)
	f.StringVar(&cfg.Data, "data-dir", "registry-data", "directory of the snapshot; empty: nothing is kept over a restart")
	f.IntVar(&cfg.Registry.Limits.Metadata, "max-metadata", 0, "longest metadata of an instance, in characters of keys and values; 0: no limit (Nacos has 1024)")
	return cmd
}

// asking is what the commands that ask a registry share.
type asking struct {
	address, token, namespace, group string
}

func (a *asking) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.address, "address", "http://"+embedded.DefaultListen, "URL of the registry's HTTP API")
	f.StringVar(&a.token, "token", "", "bearer token; or "+tokenVariable)
	f.StringVar(&a.namespace, "namespace", "public", "namespace")
	f.StringVar(&a.group, "group", "DEFAULT_GROUP", "group")
}

func (a *asking) client() (*embedded.HTTPClient, error) {
	token := a.token
	if token == "" {
		token = os.Getenv(tokenVariable)
	}
	return embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: a.address, Token: token})
}

func registryServicesCommand() *cobra.Command {
	var ask asking
	cmd := &cobra.Command{
		Use:   "services",
		Short: "List the services of a group, with their number of instances",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := ask.client()
			if err != nil {
				return err
			}
			defer client.Close()
			services, err := client.Services(cmd.Context(), ask.namespace, ask.group)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "SERVICE\tINSTANCES")
			for _, s := range services {
				_, _ = fmt.Fprintf(w, "%s\t%d\n", s.Service, s.Instances)
			}
			return w.Flush()
		},
	}
	ask.flags(cmd)
	return cmd
}

func registryInstancesCommand() *cobra.Command {
	var ask asking
	var all bool
	cmd := &cobra.Command{
		Use:     "instances SERVICE",
		Short:   "List the instances of a service, and who registered each",
		Example: "  zkbridge registry instances providers:com.example.Greeter::",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := ask.client()
			if err != nil {
				return err
			}
			defer client.Close()
			list, err := client.Instances(cmd.Context(), registryclient.Service{Namespace: ask.namespace, Group: ask.group, Name: args[0]}, all)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(w, "ADDRESS\tREGISTERED BY\tMETADATA")
			for _, r := range list.Instances {
				by := "itself, for " + r.TTL
				if r.Owner != "" {
					by = "bridge " + r.Owner
				}
				_, _ = fmt.Fprintf(w, "%s:%d\t%s\t%s\n", r.IP, r.Port, by, inline(r.Metadata))
			}
			return w.Flush()
		},
	}
	ask.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every record: both a native and a bridged one of the same address")
	return cmd
}

// inline gives metadata as sorted key=value words.
func inline(metadata map[string]string) string {
	words := make([]string, 0, len(metadata))
	for k, v := range metadata {
		words = append(words, k+"="+v)
	}
	sort.Strings(words)
	return strings.Join(words, " ")
}
