package znode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
)

// TestInspect: what a log says beside the process that writes it, behind it, torn
// and damaged; and that looking changes nothing.
func TestInspect(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, err := znode.Inspect(dir, nil)
	require.ErrorContains(t, err, "has no log")
	store, err := znode.OpenStore(dir)
	require.NoError(t, err)
	tree := treeOn(t, store)
	openSession(t, tree, 5, 7*time.Second)
	openSession(t, tree, 6, 4*time.Second)
	create(t, tree, "/p", "persistent", 0)
	create(t, tree, "/e", "mine", 5)
	create(t, tree, "/held", "", 6)
	must(t, tree, func(x *znode.Tx) { x.Hold("/held", "nobody knows") })
	require.Equal(t, 0, closeSession(t, tree, 6))
	tree.EnsureWritten()
	file := filepath.Join(dir, "tree.log")
	before, err := os.ReadFile(file)
	require.NoError(t, err)

	var lines []string
	look := func() (znode.Report, error) {
		lines = nil
		return znode.Inspect(dir, func(r znode.Record) error {
			line := strings.TrimSpace(r.Kind + " " + r.Text)
			for _, e := range r.Txn.Effects {
				line += fmt.Sprintf("; %v", e)
			}
			lines = append(lines, line)
			return nil
		})
	}
	report, err := look()
	require.NoError(t, err, "while it is open")
	if _, err := os.Stat("/proc/sys/kernel/random/boot_id"); err != nil { // elsewhere only an orderly end is proof
		report.Whole, report.Why = true, "it was written in this boot of the machine"
	}
	require.Equal(t, znode.Report{
		File: file, Format: 3, Size: int64(len(before)), Frames: report.Frames, Transactions: 7, ClusterID: store.ClusterID(), Incarnation: 1,
		Zxid: 7, Nodes: 7, Ephemerals: 2, Held: 1, Sessions: 1, Whole: true, Why: "it was written in this boot of the machine",
	}, report)
	text := strings.Join(lines, "\n")
	require.Contains(t, text, "transaction; session 0x5: timeout 7000 ms, since 0x1")
	require.Contains(t, text, "create persistent /p: 10 bytes, czxid 0x3, mzxid 0x3")
	require.Contains(t, text, "create ephemeral /e of session 0x5: 4 bytes, czxid 0x4, mzxid 0x4")
	require.Contains(t, text, "transaction; hold /held: nobody knows")
	require.Contains(t, text, "transaction; session 0x6: over")
	require.NotContains(t, text, string(store.Secret()))
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, before, after)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, store.Run(ctx))
	require.NoError(t, store.Close())
	report, err = look()
	require.NoError(t, err)
	require.True(t, report.Whole)
	require.Equal(t, "it ended in order", report.Why)

	require.NoError(t, os.WriteFile(file, append(before[:len(before):len(before)], "torn"...), 0o600))
	report, err = look()
	require.NoError(t, err)
	require.EqualValues(t, 4, report.Torn)
	require.NoError(t, os.Remove(filepath.Join(dir, "tree.whole")))
	report, err = look()
	require.NoError(t, err)
	require.False(t, report.Whole)
	require.Contains(t, report.Why, "the disk took no data")

	damaged := append([]byte(nil), before...)
	damaged[60] ^= 1
	require.NoError(t, os.WriteFile(file, damaged, 0o600))
	_, err = look()
	require.ErrorContains(t, err, "at byte 24")
	require.NoError(t, os.WriteFile(file, []byte("something else"), 0o600))
	_, err = look()
	require.ErrorContains(t, err, "not a zkbridge file")
	newer := append([]byte(nil), before...)
	newer[11] = 99
	require.NoError(t, os.WriteFile(file, newer, 0o600))
	_, err = look()
	require.Error(t, err)
}
