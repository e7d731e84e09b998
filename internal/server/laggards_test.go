package server_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// A client that has stopped reading delays neither the writer whose changes it
// watches nor the others who watch them (design rule 11).
func TestStoppedReaderDelaysNobody(t *testing.T) {
	b := serve(t, options{tight: true, server: server.Config{Flushers: 2}})
	writer := b.connect()
	writer.create("/d", zkproto.FlagPersistent)
	const stopped, watching, writes = 20, 1000, 30
	for range stopped {
		b.connect().ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/d", Mode: zkproto.WatchPersistentRecursive})
	}
	long := strings.Repeat("x", 60000) // fills the sockets of those who do not read
	full := func() bool {
		st := b.server.Stats()
		return st.Laggards >= stopped && st.PendingBytes >= stopped*100_000
	}
	for i := 0; !full(); i++ { // how much a kernel takes is its own affair
		require.Less(t, i, 100)
		writer.create(fmt.Sprintf("/d/%d%s", i, long), zkproto.FlagPersistent)
	}

	watchers := make([]*client, watching)
	for i := range watchers {
		watchers[i] = b.connect()
		watchers[i].ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/d", Mode: zkproto.WatchPersistent})
	}
	var slowest time.Duration
	for i := range writes {
		began := time.Now()
		writer.setData("/d", byte(i))
		slowest = max(slowest, time.Since(began))
	}
	// Who waits for a stopped reader waits for the write timeout, 20 s.
	require.Less(t, slowest, 5*time.Second, "a write with %d watchers", watching+stopped)
	t.Logf("slowest write with %d watchers: %v", watching+stopped, slowest)
	for i, w := range watchers {
		w.within(10 * time.Second)
		for k := range writes {
			f, err := w.next()
			require.NoError(t, err, "watcher %d, event %d", i, k)
			require.Equal(t, zkproto.EventDataChanged, f.event(t).Type)
		}
	}
	require.Zero(t, b.server.Stats().Rejected[server.RejectedLaggard], "nobody has reached the limit")
}

// What waits for a client has a limit; above it the connection is cut, and the
// session stays.
func TestPendingLimit(t *testing.T) {
	b := serve(t, options{tight: true, server: server.Config{MaxPendingBytes: 1 << 20}})
	writer, lagging := b.connect(), b.connect()
	writer.create("/d", zkproto.FlagPersistent)
	lagging.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/d", Mode: zkproto.WatchPersistentRecursive})
	lagging.create("/mine", zkproto.FlagEphemeral)
	long := strings.Repeat("x", 60000)
	for i := 0; b.server.Stats().Rejected[server.RejectedLaggard] == 0; i++ {
		require.Less(t, i, 100)
		writer.create(fmt.Sprintf("/d/%d%s", i, long), zkproto.FlagPersistent)
	}
	require.Eventually(t, func() bool { return b.server.Stats().PendingBytes == 0 && b.server.Stats().Connections == 1 }, 10*time.Second, time.Millisecond)
	require.Zero(t, b.tree.Stats().Watches())
	require.Equal(t, lagging.id, writer.stat("/mine").EphemeralOwner)
	again := b.resume(lagging)
	require.Equal(t, lagging.id, again.id)
	again.ok(zkproto.OpPing, nil)
}

// All clients together have a limit too: who holds most goes first.
func TestPendingTotal(t *testing.T) {
	b := serve(t, options{tight: true, server: server.Config{MaxPendingTotal: 2 << 20}})
	writer, small, large := b.connect(), b.connect(), b.connect()
	writer.create("/s", zkproto.FlagPersistent)
	writer.create("/l", zkproto.FlagPersistent)
	small.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/s", Mode: zkproto.WatchPersistentRecursive})
	large.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/l", Mode: zkproto.WatchPersistentRecursive})
	long := strings.Repeat("x", 60000)
	for i := range 8 {
		writer.create(fmt.Sprintf("/s/%d%s", i, long), zkproto.FlagPersistent)
	}
	for i := 0; b.server.Stats().Rejected[server.RejectedBudget] == 0; i++ {
		require.Less(t, i, 100)
		writer.create(fmt.Sprintf("/l/%d%s", i, long), zkproto.FlagPersistent)
	}
	require.EqualValues(t, 1, b.server.Stats().Rejected[server.RejectedBudget])
	require.Contains(t, b.log.String(), "peer="+large.nc.LocalAddr().String())
	small.within(10 * time.Second)
	for range 8 {
		_, err := small.next()
		require.NoError(t, err)
	}
	require.Equal(t, large.id, b.resume(large).id)
}

// A list that many are slow to take counts once.
func TestSharedListCountsOnce(t *testing.T) {
	b := serve(t, options{tight: true, server: server.Config{MaxPendingTotal: 4 << 20}})
	writer := b.connect()
	writer.create("/d", zkproto.FlagPersistent)
	const names = 100
	for i := range names {
		writer.create(fmt.Sprintf("/d/%d%s", i, strings.Repeat("x", 10000)), zkproto.FlagPersistent)
	}
	readers := make([]*client, 50)
	for i := range readers {
		readers[i] = b.connect()
		readers[i].send(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: "/d"})
	}
	require.Eventually(t, func() bool { return b.server.Stats().PendingBytes > names*10000 }, 10*time.Second, time.Millisecond)
	for _, r := range readers {
		var m zkproto.GetChildrenResponse
		require.NoError(t, m.Decode(r.reply().body))
		require.Len(t, m.Children, names)
	}
	require.Zero(t, b.server.Stats().Rejected[server.RejectedBudget])
	require.Eventually(t, func() bool { return b.server.Stats().PendingBytes == 0 }, 10*time.Second, time.Millisecond)
}

// A client that asks for much and is slow to take it is not cut: its requests
// wait.
func TestSlowReaderOfReplies(t *testing.T) {
	b := serve(t, options{tight: true, server: server.Config{MaxPendingBytes: 256 << 10}})
	c := b.connect()
	big := create("/big", zkproto.FlagPersistent)
	big.Data = bytes.Repeat([]byte("x"), 500<<10)
	c.ok(zkproto.OpCreate, big)
	const n = 60 // 30 MB
	var reqs []byte
	for i := range int32(n) {
		reqs = append(reqs, request(i, zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/big"})...)
	}
	_, err := c.nc.Write(reqs)
	require.NoError(t, err)
	b.connect().ok(zkproto.OpPing, nil)
	for i := range int32(n) {
		f := c.reply()
		require.Equal(t, i, f.Xid)
		require.Len(t, f.body, len(big.Data)+4+zkproto.StatSize)
	}
	c.ok(zkproto.OpPing, nil)
}

// A client that takes nothing at all for the write timeout loses its connection.
func TestWriteTimeout(t *testing.T) {
	b := serve(t, options{tight: true, server: server.Config{WriteTimeout: 300 * time.Millisecond}})
	c := b.connect()
	big := create("/big", zkproto.FlagPersistent)
	big.Data = bytes.Repeat([]byte("x"), 900<<10)
	c.ok(zkproto.OpCreate, big)
	for range 10 {
		c.send(zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/big"})
	}
	require.Eventually(t, func() bool { return b.server.Stats().Connections == 0 }, 10*time.Second, 5*time.Millisecond)
	require.Zero(t, b.server.Stats().PendingBytes)
	require.Equal(t, c.id, b.resume(c).id)
}

// blocked is a Hook with a registry behind it that takes its time.
type blocked struct{ work chan int64 }

func (h *blocked) Stage(*znode.Tx, []znode.Change) {}
func (h *blocked) Committed(zxid int64) {
	select {
	case h.work <- zxid:
	default:
	}
}

// Field report 4, second half: with the registry blocked for 5 s, the pings,
// writes and reads of the same session are answered at once. In virtual time
// that is exact: time stands still while anybody can run.
func TestFieldReport4RegistryBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &blocked{work: make(chan int64, 1)}
		var registry sync.WaitGroup
		registry.Go(func() {
			for range h.work {
				time.Sleep(5 * time.Second)
			}
		})
		b := serve(t, options{pipes: true, tree: znode.Config{Hook: h, Reserved: sessions.ReservedID(1)}})
		c := b.connect()
		start := time.Now()
		for i := range 20 {
			c.create(fmt.Sprintf("/p%d", i), zkproto.FlagEphemeral)
			require.Equal(t, zkproto.XidPing, c.call(zkproto.OpPing, nil).Xid)
			c.stat(fmt.Sprintf("/p%d", i))
			require.Less(t, time.Since(start), 100*time.Millisecond, "round %d", i)
			time.Sleep(time.Second)
			start = time.Now()
		}
		b.stop()
		close(h.work)
		registry.Wait()
	})
}
