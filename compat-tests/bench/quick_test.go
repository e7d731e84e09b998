//go:build compat

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuick: every case runs on every server and fills in every number. What the
// numbers are is nobody's business here.
func TestQuick(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, run(t.Context(), []string{"--quick", "--json", file}))
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(body, &r))
	require.Len(t, r.Cases, len(cases())+1)
	for _, c := range r.Cases {
		for _, m := range c.Metrics {
			for _, server := range []string{zookeeper, bridge} {
				if m.Name == "per session" {
					continue // a process may happen not to grow
				}
				require.Positive(t, m.Medians[server], "%s, %s, %s", c.Name, m.Name, server)
			}
		}
	}
}
