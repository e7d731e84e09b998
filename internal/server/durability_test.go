package server_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// slowDisk is a tree whose log is synced when the test says so.
func slowDisk(t *testing.T) (*znode.Store, func()) {
	t.Helper()
	store, err := znode.OpenStore(t.TempDir())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // ends in the clean-up, not before
	var run sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		run.Wait()
		require.NoError(t, store.Close())
	})
	return store, sync.OnceFunc(func() {
		run.Go(func() {
			if err := store.Run(ctx); err != nil {
				t.Errorf("Run: got %v, want nil", err)
			}
		})
	})
}

// nothing asserts that no frame comes for a while.
func (c *client) nothing() {
	c.t.Helper()
	c.within(50 * time.Millisecond)
	_, err := c.readFrame()
	require.Error(c.t, err)
	c.within(10 * time.Second)
}

// Design rule 8: replies and events that show a persistent change wait until it
// is on the disk, and so does what is behind them; ephemerals do not wait.
func TestDurableBeforeVisible(t *testing.T) {
	store, startDisk := slowDisk(t)
	b := serve(t, options{tree: znode.Config{Store: store}})
	c, watcher, reader, other := b.connect(), b.connect(), b.connect(), b.connect()

	other.create("/e", zkproto.FlagEphemeral) // at once
	watcher.watchChildren("/")
	c.send(zkproto.OpCreate, create("/p", zkproto.FlagPersistent))
	c.nothing()
	watcher.nothing()
	reader.send(zkproto.OpExists, &zkproto.ExistsRequest{Path: "/p"})
	reader.nothing()
	c.send(zkproto.OpPing, nil)
	c.nothing() // replies stay in order
	other.ok(zkproto.OpPing, nil)

	startDisk()
	require.Equal(t, zkproto.OK, c.reply().Err)
	require.Equal(t, zkproto.XidPing, c.reply().Xid)
	require.Equal(t, zkproto.OK, reader.reply().Err)
	f, err := watcher.next()
	require.NoError(t, err)
	require.Equal(t, zkproto.EventChildrenChanged, f.event(t).Type)
	require.GreaterOrEqual(t, b.server.Stats().Gated, int64(2))

	// In the steady state many writers share a sync, and nothing gets stuck.
	for i := range 200 {
		c.send(zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/p", Data: []byte{byte(i)}, Version: -1})
	}
	for range 200 {
		require.Equal(t, zkproto.OK, c.reply().Err)
	}
}

// A connection that ends while its replies wait for the disk is let go.
func TestDisconnectBehindTheGate(t *testing.T) {
	store, startDisk := slowDisk(t)
	b := serve(t, options{tree: znode.Config{Store: store}})
	c := b.connect()
	c.send(zkproto.OpCreate, create("/p", zkproto.FlagPersistent))
	c.nothing()
	_ = c.nc.Close()
	require.Eventually(t, func() bool { return b.server.Stats().Connections == 0 && b.server.Stats().PendingBytes == 0 }, 10*time.Second, time.Millisecond)
	startDisk()
	b.connect().stat("/p")
}

// The reply to closeSession leaves behind replies that wait for the disk.
func TestCloseSessionBehindTheGate(t *testing.T) {
	store, startDisk := slowDisk(t)
	b := serve(t, options{tree: znode.Config{Store: store}})
	c := b.connect()
	c.send(zkproto.OpCreate, create("/p", zkproto.FlagPersistent))
	c.send(zkproto.OpCloseSession, nil)
	c.nothing()
	startDisk()
	require.Equal(t, int32(1), c.reply().Xid)
	require.Equal(t, int32(2), c.reply().Xid)
	c.closed()
}
