package znode_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// reaping runs fn in virtual time beside a Reaper.
func reaping(t *testing.T, r znode.Reaper, fn func(t *testing.T, tree *znode.Tree)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tree, err := znode.New(znode.Config{})
		require.NoError(t, err)
		r.Tree = tree
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		fn(t, tree)
		stop()
		require.NoError(t, <-ended)
	})
}

func makeKind(t *testing.T, tree *znode.Tree, path string, kind znode.Kind, ttl time.Duration) {
	t.Helper()
	require.NoError(t, update(t, tree, znode.Origin{}, func(x *znode.Tx) error {
		_, st, err := x.Create(znode.Create{Path: path, Kind: kind, TTL: ttl.Milliseconds(), ACL: zkproto.WorldAnyone()})
		require.Zero(t, st.EphemeralOwner)
		return err
	}).Err)
}

func has(tree *znode.Tree, path string) (ok bool) {
	tree.View(func(v *znode.View) { _, ok = v.Lookup(path) })
	return ok
}

func TestReaperContainers(t *testing.T) {
	reaping(t, znode.Reaper{Keep: func(path string) bool { return path == "/kept" }}, func(t *testing.T, tree *znode.Tree) {
		for _, path := range []string{"/never", "/used", "/outer", "/outer/inner", "/kept", "/full", "/plain"} {
			kind := znode.Container
			if path == "/plain" {
				kind = znode.Persistent
			}
			makeKind(t, tree, path, kind, 0)
		}
		for _, path := range []string{"/used/x", "/outer/inner/x", "/kept/x", "/full/x", "/plain/x"} {
			makeKind(t, tree, path, znode.Persistent, 0)
			if path != "/full/x" {
				remove(t, tree, path)
			}
		}
		time.Sleep(59 * time.Second)
		require.True(t, has(tree, "/used"))
		time.Sleep(2 * time.Second)
		require.False(t, has(tree, "/used"))
		require.False(t, has(tree, "/outer/inner"))
		require.True(t, has(tree, "/outer"), "it was not empty when the reaper looked")
		time.Sleep(time.Minute)
		require.False(t, has(tree, "/outer"))
		time.Sleep(time.Hour)
		for _, path := range []string{"/never", "/kept", "/full", "/plain"} {
			require.True(t, has(tree, path), path)
		}
	})
}

func TestReaperTTL(t *testing.T) {
	reaping(t, znode.Reaper{Interval: time.Second, TTL: true}, func(t *testing.T, tree *znode.Tree) {
		makeKind(t, tree, "/short", znode.TTL, 10*time.Second)
		makeKind(t, tree, "/written", znode.TTL, 10*time.Second)
		makeKind(t, tree, "/parent", znode.TTL, 10*time.Second)
		makeKind(t, tree, "/parent/x", znode.Persistent, 0)
		makeKind(t, tree, "/long", znode.TTL, 1<<40*time.Millisecond/2)
		time.Sleep(5 * time.Second)
		require.NoError(t, update(t, tree, znode.Origin{}, func(x *znode.Tx) error {
			_, err := x.SetData("/written", nil, -1)
			if err == nil {
				_, err = x.SetACL("/short", zkproto.WorldAnyone(), -1)
			}
			return err
		}).Err)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.True(t, has(tree, "/short"), "10 s is not more than 10 s")
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		require.False(t, has(tree, "/short"))
		require.True(t, has(tree, "/written"))
		require.True(t, has(tree, "/parent"))
		time.Sleep(5 * time.Second)
		require.False(t, has(tree, "/written"))
		remove(t, tree, "/parent/x")
		time.Sleep(2 * time.Second)
		require.False(t, has(tree, "/parent"), "children do not refresh it")
		time.Sleep(24 * time.Hour)
		require.True(t, has(tree, "/long"))
	})
}

func TestReaperWithoutTTL(t *testing.T) {
	reaping(t, znode.Reaper{Interval: time.Second}, func(t *testing.T, tree *znode.Tree) {
		makeKind(t, tree, "/short", znode.TTL, time.Second)
		time.Sleep(time.Hour)
		require.True(t, has(tree, "/short"))
	})
}

func TestReaperPace(t *testing.T) {
	reaping(t, znode.Reaper{Interval: 10 * time.Second, PerMinute: 60, TTL: true}, func(t *testing.T, tree *znode.Tree) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			makeKind(t, tree, "/"+name, znode.TTL, 5*time.Second)
		}
		left := func() int { return tree.Stats().Nodes - 4 }
		time.Sleep(10*time.Second + time.Millisecond)
		require.Equal(t, 4, left())
		time.Sleep(time.Second)
		require.Equal(t, 3, left())
		time.Sleep(time.Second)
		require.Equal(t, 2, left())
		setData(t, tree, "/e", "changed while it waits for its turn")
		time.Sleep(5 * time.Second)
		require.True(t, has(tree, "/e"))
		require.Equal(t, 1, left())
	})
}

// Nodes of every kind are what they were after a restart, and a failed
// transaction leaves none of them to the reaper.
func TestPassingNodesAreKept(t *testing.T) {
	d := newDisk()
	store := open(t, d)
	tree := treeOn(t, store)
	makeKind(t, tree, "/ttl", znode.TTL, time.Hour)
	makeKind(t, tree, "/box", znode.Container, 0)
	require.Error(t, update(t, tree, znode.Origin{}, func(x *znode.Tx) error {
		_, _, err := x.Create(znode.Create{Path: "/none", Kind: znode.TTL, TTL: 5, ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
		require.NoError(t, x.Delete("/ttl", -1))
		return zkproto.BadVersion
	}).Err)
	require.Equal(t, map[string]int64{"/ttl": 3600_000, "/box": 0}, tree.Passing())
	require.NoError(t, store.Flush())
	require.NoError(t, store.Close())
	for range 2 { // from the log, then from the rewritten file
		store = open(t, d)
		tree = treeOn(t, store)
		require.Equal(t, map[string]int64{"/ttl": 3600_000, "/box": 0}, tree.Passing())
		tree.View(func(v *znode.View) {
			info, ok := v.Lookup("/ttl")
			require.True(t, ok)
			require.Equal(t, znode.TTL, info.Kind)
			require.Zero(t, info.Owner)
			require.Zero(t, info.Stat.EphemeralOwner)
		})
		require.NoError(t, store.Close())
	}
}

// More nodes than are looked at together, some of them removed.
func TestReaperOfMany(t *testing.T) {
	reaping(t, znode.Reaper{Interval: time.Second, PerMinute: 1e9, TTL: true}, func(t *testing.T, tree *znode.Tree) {
		const many = 21000
		must(t, tree, func(x *znode.Tx) {
			for i := range many {
				ttl := int64(1 << 39)
				if i%20 == 0 {
					ttl = 1000
				}
				_, _, err := x.Create(znode.Create{Path: fmt.Sprintf("/n%d", i), Kind: znode.TTL, TTL: ttl, ACL: zkproto.WorldAnyone()})
				require.NoError(t, err)
			}
		})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Len(t, tree.Passing(), many-many/20)
	})
}
