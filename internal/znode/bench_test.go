package znode_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// deepTree has a node at depth 1 and one at depth 16.
func deepTree(b *testing.B) (tree *znode.Tree, shallow, deep string) {
	tree = newTree(b, nil)
	path := ""
	for i := range 16 {
		path += fmt.Sprintf("/component-%d", i)
		create(b, tree, path, strings.Repeat("x", 200), 0)
	}
	return tree, "/component-0", path
}

func BenchmarkGetData(b *testing.B) {
	tree, shallow, deep := deepTree(b)
	for _, path := range []string{shallow, deep} {
		b.Run(fmt.Sprintf("depth=%d", strings.Count(path, "/")), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree.View(func(v *znode.View) { _, _, _ = v.Data(path, nil) })
			}
		})
		b.Run(fmt.Sprintf("depth=%d/parallel", strings.Count(path, "/")), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					tree.View(func(v *znode.View) { _, _, _ = v.Data(path, nil) })
				}
			})
		})
	}
}

func BenchmarkExists(b *testing.B) {
	tree, _, deep := deepTree(b)
	for name, path := range map[string]string{"present": deep, "missing": "/none"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree.View(func(v *znode.View) { _, _ = v.Exists(path, nil) })
			}
		})
	}
	b.Run("with watch", func(b *testing.B) {
		w := &conn{}
		b.ReportAllocs()
		for b.Loop() {
			tree.Arm(func(v *znode.View) {
				_, _ = v.Exists(deep, nil)
				v.Watch(w, deep, znode.WatchExist)
			})
		}
	})
}

func BenchmarkChildren(b *testing.B) {
	tree := newTree(b, nil)
	create(b, tree, "/d", "", 0)
	for i := range 1000 {
		create(b, tree, fmt.Sprintf("/d/dubbo%%3A%%2F%%2F10.0.0.%d", i), "", 1)
	}
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tree.View(func(v *znode.View) { _, _, _ = v.ChildrenBody("/d", nil) })
		}
	})
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			create(b, tree, "/d/x", "", 1)
			remove(b, tree, "/d/x")
			tree.View(func(v *znode.View) { _, _, _ = v.ChildrenBody("/d", nil) })
		}
	})
}

func BenchmarkEphemeral(b *testing.B) {
	tree := newTree(b, nil)
	create(b, tree, "/d", "", 0)
	open := zkproto.WorldAnyone()
	b.ReportAllocs()
	for b.Loop() {
		tree.Update(client, func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{Path: "/d/e", Kind: znode.Ephemeral, Owner: 1, ACL: open})
			return err
		}, nil)
		tree.Update(client, func(x *znode.Tx) error { return x.Delete("/d/e", -1) }, nil)
	}
}

// counting is a connection that only counts.
type counting int

func (c *counting) Notify(*znode.Event) { *c++ }

// BenchmarkFanOut is one change told to 1,000 connections, each of which sets
// its one-shot watch again.
func BenchmarkFanOut(b *testing.B) {
	tree := newTree(b, nil)
	create(b, tree, "/d", "", 0)
	watchers := make([]*counting, 1000)
	for i := range watchers {
		watchers[i] = new(counting)
	}
	arm := func() {
		tree.Arm(func(v *znode.View) {
			for _, w := range watchers {
				v.Watch(w, "/d", znode.WatchChild)
			}
		})
	}
	b.Run("fire and set again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			arm()
			create(b, tree, "/d/e", "", 1)
			arm()
			remove(b, tree, "/d/e")
		}
	})
	b.Run("fire", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			arm()
			b.StartTimer()
			if i%2 == 0 {
				create(b, tree, "/d/e", "", 1)
			} else {
				remove(b, tree, "/d/e")
			}
		}
	})
}

// BenchmarkMemory is what 100,000 ephemerals in 1,000 directories cost, beyond
// their names and data, and what 100,000 watches of 1,000 connections do.
func BenchmarkMemory(b *testing.B) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		tree := newTree(b, nil)
		payload := 0
		for d := range 1000 {
			dir := fmt.Sprintf("/dubbo.Interface%d", d)
			create(b, tree, dir, "", 0)
			for n := range 100 {
				path := fmt.Sprintf("%s/provider-%d", dir, n)
				payload += len(path) + 9
				create(b, tree, path, "127.0.0.1", int64(n+1))
			}
		}
		nodes := heap()
		watchers := make([]*counting, 1000)
		for i := range watchers {
			watchers[i] = new(counting)
			for n := range 100 {
				watch(tree, watchers[i], znode.WatchChild, fmt.Sprintf("/dubbo.Interface%d", (i+n)%1000))
			}
		}
		watches := heap()
		b.ReportMetric(float64(nodes-before-uint64(payload))/101_000, "B/node")
		b.ReportMetric(float64(watches-nodes)/100_000, "B/watch")
		require.Equal(b, 101_004, tree.Stats().Nodes)
		require.Equal(b, 100_000, tree.Stats().ChildWatches)
	}
}
