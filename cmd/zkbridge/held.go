package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zkbridge/internal/config"
)

func heldCommand() *cobra.Command {
	var admin string
	cmd := &cobra.Command{
		Use:   "held",
		Short: "Addresses that are shown and published although nobody vouches for them",
		Long: `Addresses whose removal is doubtful are held: see docs/guard.md. list shows them with
the reason; keep has you vouch for one, so that neither probes nor time end it;
drop ends one now. KEY is the first line of its entry in the list.`,
	}
	cmd.PersistentFlags().StringVar(&admin, "admin", "http://"+config.Default().Admin.Listen, "URL, or host:port, of the bridge's admin listener")
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "What is held, why, and until when", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return askAdmin(cmd.Context(), cmd.OutOrStdout(), http.MethodGet, admin, "/held", asJSON)
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	word := func(name, short string) *cobra.Command {
		return &cobra.Command{
			Use: name + " KEY", Short: short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return askAdmin(cmd.Context(), cmd.OutOrStdout(), http.MethodPost, admin, "/held/"+name+"?key="+url.QueryEscape(args[0]), false)
			},
		}
	}
	cmd.AddCommand(list, word("keep", "Vouch for one: only a new registration, a delete or drop ends it"), word("drop", "End one now"))
	return cmd
}

// askAdmin sends a request to a bridge's admin listener and prints the answer.
func askAdmin(ctx context.Context, out io.Writer, method, admin, path string, asJSON bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if !strings.Contains(admin, "://") {
		admin = "http://" + admin
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(admin, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("--admin %s: %w", admin, err)
	}
	if asJSON {
		req.Header.Set("Accept", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the bridge's admin listener (is it running? --admin names another): %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
		return fmt.Errorf("%s answers %s: %s", admin, res.Status, strings.TrimSpace(string(text)))
	}
	_, err = io.Copy(out, res.Body)
	return err
}
