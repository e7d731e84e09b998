package znode_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// woken is a connection that is only woken.
type woken chan struct{}

func (w woken) Notify(*znode.Event) {
	select {
	case w <- struct{}{}:
	default:
	}
}

// TestNoChangeIsMissed: writers change a directory while readers follow it as
// clients do, by reading with a watch and waiting for it. Everyone arrives at
// the end, and no reply comes before it may.
func TestNoChangeIsMissed(t *testing.T) {
	const writers, readers, rounds = 3, 4, 300
	store := open(t, newDisk())
	tree := treeOn(t, store)
	create(t, tree, "/d", "", 0)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- store.Run(ctx) }()

	var owed atomic.Int64
	var g errgroup.Group
	for n := range writers {
		g.Go(func() error {
			for i := range rounds {
				c := znode.Create{Path: fmt.Sprintf("/d/%d-%d", n, i), ACL: zkproto.WorldAnyone(), Owner: int64(n + 1)}
				if i%2 == 0 {
					c.Kind = znode.Ephemeral
				}
				var gate int64
				tree.Update(client, func(x *znode.Tx) error { _, _, err := x.Create(c); return err }, func(r znode.Result) { gate = r.Gate })
				owed.Add(1)
				tree.WhenDurable(gate, func() {
					if tree.Durable() < gate {
						t.Errorf("called at 0x%x, before 0x%x", tree.Durable(), gate)
					}
					owed.Add(-1)
				})
				if i%3 == 0 {
					tree.Update(client, func(x *znode.Tx) error { return x.Delete(c.Path, -1) }, nil)
				}
			}
			tree.Update(client, func(x *znode.Tx) error { x.CloseSession(int64(n+1), nil); return nil }, nil)
			return nil
		})
	}
	left := 0 // of each writer: persistent ones that were not deleted
	for i := range rounds {
		if i%2 != 0 && i%3 != 0 {
			left++
		}
	}
	for n := range readers {
		g.Go(func() error {
			w := make(woken, 1)
			last := int64(0)
			for {
				var names []string
				var body []byte
				var st zkproto.Stat
				tree.Arm(func(v *znode.View) {
					names, st, _ = v.Children("/d", nil)
					body, _, _ = v.ChildrenBody("/d", nil)
					v.Watch(w, "/d", znode.WatchChild)
				})
				if st.Pzxid < last || int(st.NumChildren) != len(names) || len(body) < 4*len(names) {
					return fmt.Errorf("reader %d: Stat %+v after 0x%x, %d names", n, st, last, len(names))
				}
				last = st.Pzxid
				if st.Pzxid == tree.Zxid() && len(names) == writers*left && st.Cversion == int32(2*writers*rounds-writers*left) {
					tree.Forget(w)
					return nil
				}
				tree.View(func(v *znode.View) { _, _, _ = v.ChildrenBody("/d", nil); _ = v.Gate() })
				select {
				case <-w:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
	}
	require.NoError(t, g.Wait())
	stop()
	require.NoError(t, <-ran)
	require.Zero(t, owed.Load())
	require.Zero(t, tree.Stats().Watches())
}
