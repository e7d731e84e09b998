package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"zkbridge/compat-tests/control"
)

// nodeClient fetches node-zookeeper-client into the cache and returns the
// command that goes through its scenarios.
func nodeClient(ctx context.Context) ([]string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("the compat tests need Node.js 18 or later on the PATH (Debian: nodejs; no node found)")
	}
	sources := filepath.Join(control.Root(), "compat-tests", "clients", "node")
	dir := filepath.Join(control.CacheDir(), "node")
	err = control.Once(ctx, "node", func() error {
		want, err := os.ReadFile(filepath.Join(sources, "package.json"))
		if err != nil {
			return err
		}
		installed := filepath.Join(dir, "installed.json") // written last
		if have, err := os.ReadFile(installed); err == nil && string(have) == string(want) {
			return nil
		}
		npm, err := exec.LookPath("npm")
		if err != nil {
			return errors.New("the compat tests need npm on the PATH to fetch node-zookeeper-client (no npm found)")
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "package.json"), want, 0o644); err != nil {
			return err
		}
		install := exec.CommandContext(ctx, npm, "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
		install.Dir = dir
		if out, err := install.CombinedOutput(); err != nil {
			return fmt.Errorf("npm install: %w\n%s", err, out)
		}
		return os.WriteFile(installed, want, 0o644)
	})
	if err != nil {
		return nil, fmt.Errorf("fetch node-zookeeper-client: %w", err)
	}
	return []string{"env", "NODE_PATH=" + filepath.Join(dir, "node_modules"), node, filepath.Join(sources, "main.js")}, nil
}

func playNode(tb testing.TB, servers []server, dir string) map[string]*transcript {
	tb.Helper()
	command, err := nodeClient(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return play(tb, servers, dir, command)
}
