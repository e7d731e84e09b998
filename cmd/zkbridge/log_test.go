package main

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/bridge"
	"zkbridge/internal/config"
)

// TestLog: both commands on the directory of a bridge that has come and gone.
func TestLog(t *testing.T) {
	c := config.Default()
	c.Data.Dir = filepath.Join(t.TempDir(), "data")
	c.Server.Listen, c.Registry.Embedded.Listen, c.Admin.Listen = "127.0.0.1:0", "", ""
	b, err := bridge.New(c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, b.Run(ctx))

	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := root()
		cmd.SetArgs(args)
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	text, err := run("log", "verify", c.Data.Dir)
	require.NoError(t, err)
	require.Contains(t, text, "every record can be read")
	require.Contains(t, text, "incarnation 1")
	require.Contains(t, text, "resumes the sessions: it ended in order")
	text, err = run("log", "dump", c.Data.Dir)
	require.NoError(t, err)
	require.Contains(t, text, "@24 identity cluster ")
	require.Contains(t, text, "end of the snapshot")
	require.Contains(t, text, "end in order")
	text, err = run("log", "dump", c.Data.Dir, "--from", "0x100")
	require.NoError(t, err)
	require.Empty(t, text)
	_, err = run("log", "dump", c.Data.Dir, "--from", "soon")
	require.ErrorContains(t, err, "is no zxid")
	_, err = run("log", "verify", t.TempDir())
	require.ErrorContains(t, err, "has no log")
	_, err = run("log", "verify")
	require.ErrorContains(t, err, "accepts 1 arg")
}
