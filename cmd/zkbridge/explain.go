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
			return explain(cmd.Context(), cmd.OutOrStdout(), admin, args[0], asJSON)
		},
	}
	cmd.Flags().StringVar(&admin, "admin", "http://"+config.Default().Admin.Listen, "URL, or host:port, of the bridge's admin listener")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func explain(ctx context.Context, out io.Writer, admin, path string, asJSON bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if !strings.Contains(admin, "://") {
		admin = "http://" + admin
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(admin, "/")+"/explain?path="+url.QueryEscape(path), nil)
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
