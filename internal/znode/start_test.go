package znode_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// stored is how many nodes TestStart has: `make start` has a million.
var stored = flag.Int("stored", 20_000, "nodes of TestStart")

// TestStart: what a start costs on a log of many providers' ephemerals, and what
// each of them costs on the disk.
func TestStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	nodes := writeLog(t, dir)
	runtime.GC() // what the first life held
	info, err := os.Stat(filepath.Join(dir, "tree.log"))
	require.NoError(t, err)
	begin := time.Now()
	store, err := znode.OpenStore(dir)
	require.NoError(t, err)
	opened := time.Since(begin)
	tree := treeOn(t, store)
	took := time.Since(begin)
	require.Equal(t, nodes, tree.Stats().Nodes)
	require.Len(t, tree.Sessions(), *stored/perSession)
	require.True(t, store.Whole())
	t.Logf("a start on %d nodes, a log of %d MB: %v (read, checked and written anew as one snapshot: %v)", nodes, info.Size()>>20, took.Round(time.Millisecond), opened.Round(time.Millisecond))
	require.NoError(t, store.Close())
}

// How TestStart's providers are spread.
const (
	perService = 100
	perSession = 10
)

// writeLog fills a data directory, and says how many nodes are in it then.
func writeLog(t *testing.T, dir string) int {
	t.Helper()
	store, err := znode.OpenStore(dir)
	require.NoError(t, err)
	tree := treeOn(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- store.Run(ctx) }()
	create(t, tree, "/d", "", 0)
	name := strings.Repeat("x", 470)
	tree.EnsureWritten()
	before := store.Stats()
	begin := time.Now()
	for i := range *stored {
		owner := int64(i/perSession + 1)
		if i%perService == 0 {
			create(t, tree, fmt.Sprintf("/d/%d", i/perService), "", 0)
		}
		if i%perSession == 0 {
			openSession(t, tree, owner, 30*time.Second)
		}
		tree.Update(znode.Origin{Session: owner}, func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{
				Path: fmt.Sprintf("/d/%d/%d%s", i/perService, i, name), Data: []byte("192.0.2.10"), ACL: zkproto.WorldAnyone(), Kind: znode.Ephemeral, Owner: owner,
			})
			return err
		}, func(r znode.Result) { require.NoError(t, r.Err) })
		if i%64 == 0 {
			tree.EnsureWritten()
		}
	}
	tree.EnsureWritten()
	made := time.Since(begin)
	st := store.Stats()
	cancel()
	require.NoError(t, <-ran)
	require.NoError(t, store.Close())
	t.Logf("%d ephemerals made in %v; %d bytes written for each, those of %d snapshots among them, in %d writes and %d syncs", *stored,
		made.Round(time.Millisecond), (st.Bytes-before.Bytes)/uint64(*stored), st.Snapshots-before.Snapshots, st.Writes-before.Writes, st.Syncs-before.Syncs)
	return tree.Stats().Nodes
}
