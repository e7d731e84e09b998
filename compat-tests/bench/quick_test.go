//go:build compat

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/bench"
)

// TestQuick: every case runs on every server and fills in every number. What the
// numbers are is nobody's business here.
func TestQuick(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, run(t.Context(), []string{"--quick", "--json", file}, io.Discard))
	body, err := os.ReadFile(file)
	require.NoError(t, err)
	var r bench.Report
	require.NoError(t, json.Unmarshal(body, &r))
	names, _ := bench.Cases()
	require.Len(t, r.Cases, len(names))
	for _, c := range r.Cases {
		for _, m := range c.Metrics {
			for _, server := range []string{zookeeper, bridge} {
				require.Contains(t, m.Medians, server, "%s, %s", c.Name, m.Name)
			}
		}
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), []string{"--servers", "etcd"}, io.Discard), `no such server: "etcd" (one of zkbridge zookeeper zk-nosync floor)`)
}
