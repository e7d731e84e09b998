package server_test

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// load asks for the sizes of `make load`. Without it the same tests run small.
var load = flag.Bool("load", false, "run the load tests in full")

// full is the size of a load test: much with -load, little else.
func full(much, little int) int {
	if *load {
		return much
	}
	return little
}

// at runs fn(0) to fn(n-1), width of them at a time.
func at(width, n int, fn func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(width, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	wg.Wait()
}

// providerName is a name as long as Dubbo's often are, 480 bytes.
func providerName(i int) string {
	name := fmt.Sprintf("dubbo%%3A%%2F%%2F10.0.%d.%d%%3A20880%%2F", i/256, i%256)
	return name + strings.Repeat("x", 480-len(name))
}

// Consumers that list a thousand providers again at each change are served
// completely beside clients that ask for as much and take nothing. What the
// server holds for these stays within the budget of all.
func TestLoadSlowReaders(t *testing.T) {
	consumers, providers, slow, changes := full(1000, 60), full(1000, 200), full(100, 20), full(10, 10)
	const budget = 16 << 20
	b := serve(t, options{tight: true, server: server.Config{MaxPendingBytes: 1 << 20, MaxPendingTotal: budget, WriteTimeout: time.Hour}})
	writer := b.connect()
	writer.create("/d", zkproto.FlagPersistent)
	for i := range providers {
		writer.create("/d/"+providerName(i), zkproto.FlagEphemeral)
	}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	var most atomic.Int64
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				most.Store(max(most.Load(), b.server.Stats().PendingBytes))
			}
		}
	})
	all := make([]*client, consumers)
	at(16, consumers, func(i int) { all[i] = b.connect() })
	list := func(c *client) error {
		c.within(time.Minute)
		c.xid++
		if _, err := c.nc.Write(request(c.xid, zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: "/d", Watch: true})); err != nil {
			return err
		}
		f, err := c.next()
		if err != nil {
			return err
		}
		if f.Xid != c.xid || f.Err != zkproto.OK || len(f.body) < providers*480 {
			return fmt.Errorf("xid %d, code %d, %d bytes, want %d, 0 and all %d names", f.Xid, int32(f.Err), len(f.body), c.xid, providers)
		}
		return nil
	}
	var failed, lists atomic.Int64
	each := func(fn func(c *client) error) {
		at(consumers, consumers, func(i int) {
			if err := fn(all[i]); err != nil {
				failed.Add(1)
				t.Errorf("consumer %d: %v", i, err)
			}
		})
	}
	each(list)
	stuck := func() { // clients that ask and do not read
		for i := range slow {
			c := b.connect()
			if i%2 == 0 {
				c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/d", Mode: zkproto.WatchPersistentRecursive})
			}
			var reqs []byte
			for k := range int32(100) {
				reqs = append(reqs, request(k, zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: "/d"})...)
			}
			_, err := c.nc.Write(reqs)
			require.NoError(t, err)
		}
	}
	stuck()
	require.Eventually(t, func() bool { return b.server.Stats().PendingBytes > 0 }, tick, poll, "nobody is slow")
	for n := range changes {
		if n%2 == 0 {
			writer.create("/d/changing", zkproto.FlagEphemeral)
		} else {
			writer.delete("/d/changing")
		}
		each(func(c *client) error {
			c.within(time.Minute)
			f, err := c.next()
			if err != nil {
				return err
			}
			if f.Xid != zkproto.XidNotification {
				return errors.New("no event")
			}
			lists.Add(1)
			return list(c)
		})
		require.Zero(t, failed.Load())
	}
	close(stop)
	watching.Wait()
	require.EqualValues(t, consumers*changes, lists.Load())
	// What one client may add before it is noticed: its own limit.
	require.LessOrEqual(t, most.Load(), int64(budget+1<<20), "bytes held")
	st := b.server.Stats()
	require.Positive(t, st.PendingBytes, "nobody was slow")
	t.Logf("%d consumers read %d MB in %d lists beside %d clients that read nothing: at most %d KB held, %d cut by the budget, %d by their own limit",
		consumers, lists.Load()*int64(providers)*480>>20, lists.Load(), slow, most.Load()>>10, st.Rejected[server.RejectedBudget], st.Rejected[server.RejectedLaggard])
}

// One session with 4,096 ephemerals: they are there, they are told, they go
// together with it, and everybody is served all the while.
func TestLoadManyEphemerals(t *testing.T) {
	const n = 4096
	b := serve(t, options{})
	owner, other, watcher := b.connect(), b.connect(), b.connect()
	owner.create("/d", zkproto.FlagPersistent)
	other.create("/d/other", zkproto.FlagEphemeral)
	watcher.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/d", Mode: zkproto.WatchPersistentRecursive})
	for i := range n {
		owner.create("/d/"+providerName(i), zkproto.FlagEphemeral)
	}
	var m zkproto.GetEphemeralsResponse
	require.NoError(t, m.Decode(owner.ok(zkproto.OpGetEphemerals, &zkproto.GetEphemeralsRequest{Prefix: "/"}).body))
	require.Len(t, m.Paths, n)
	created := 0
	for _, e := range watcher.take() {
		require.Equal(t, zkproto.EventCreated, e.Type)
		created++
	}
	require.Equal(t, n, created)
	var others sync.WaitGroup
	others.Go(func() {
		for i := range 200 {
			other.setData("/d/other", byte(i))
		}
	})
	owner.ok(zkproto.OpCloseSession, nil)
	others.Wait()
	deleted := make(map[string]bool)
	for _, e := range watcher.take() {
		if e.Type == zkproto.EventDeleted {
			require.False(t, deleted[e.Path], "deleted twice: %s", e.Path)
			deleted[e.Path] = true
		}
	}
	require.Len(t, deleted, n)
	require.Equal(t, 1, b.tree.Stats().Ephemerals)
	require.EqualValues(t, 1, other.stat("/d").NumChildren)
}

// Clients that all connect at one moment, lose their connections at one moment
// and all come back: each has its own session again, with its watch.
// Field report 63.
func TestLoadStorm(t *testing.T) {
	n, waves := full(3000, 300), full(3, 2)
	b := serve(t, options{})
	writer := b.connect()
	writer.create("/d", zkproto.FlagPersistent)
	all := make([]*client, n)
	at(n, n, func(i int) { all[i] = b.connect() })
	ids := make(map[int64]bool)
	for i, c := range all {
		require.False(t, ids[c.id], "two clients have session %x", c.id)
		ids[c.id] = true
		c.create(fmt.Sprintf("/d/%d", i), zkproto.FlagEphemeral)
	}
	for range waves {
		for _, c := range all {
			_ = c.nc.Close()
		}
		at(n, n, func(i int) {
			old := all[i]
			c := b.resume(old)
			if c.id != old.id {
				t.Errorf("client %d: came back as %x, want %x", i, c.id, old.id)
			}
			c.send(zkproto.OpSetWatches, &zkproto.SetWatchesRequest{RelativeZxid: c.zxid, Data: []string{"/d"}, Exist: []string{}, Child: []string{}})
			f, err := c.next()
			if err != nil || f.Err != zkproto.OK {
				t.Errorf("client %d: set watches: %v, %v", i, f.Err, err)
			}
			all[i] = c
		})
	}
	require.False(t, t.Failed())
	st := b.server.Stats()
	require.EqualValues(t, n+1, st.Created)
	require.EqualValues(t, n*waves, st.Resumed)
	require.Zero(t, st.Expired)
	require.Equal(t, n, b.tree.Stats().Ephemerals)
	writer.setData("/d", 1)
	for i, c := range all {
		c.within(time.Minute)
		f, err := c.next()
		require.NoError(t, err, "client %d", i)
		require.Equal(t, zkproto.XidNotification, f.Xid)
	}
}

// A hundred thousand sessions over a listener in memory, and then as many whose
// clients are gone. Nobody is expired, cut or forgotten, and what they cost is
// told.
func TestLoadSessions(t *testing.T) {
	n := full(100_000, 2000)
	b := serve(t, options{pipes: true, sessions: sessions.Config{MaxTimeout: time.Hour}})
	b.timeout = int32(time.Hour.Milliseconds())
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := used()
	all := make([]*client, n)
	at(64, n, func(i int) { all[i] = b.connect() })
	require.Equal(t, n, b.server.Stats().Connections)
	for _, i := range []int{0, n / 2, n - 1} {
		all[i].create(fmt.Sprintf("/e%d", i), zkproto.FlagEphemeral)
	}
	at(64, n, func(i int) { all[i].ok(zkproto.OpPing, nil) })
	t.Logf("%d connected sessions: %d bytes each, with the test's end of the pipe", n, (used()-before)/uint64(n))

	for _, c := range all {
		_ = c.nc.Close()
		c.r = nil
	}
	require.Eventually(t, func() bool { return b.server.Stats().Connections == 0 }, time.Minute, 10*time.Millisecond)
	st := b.sessions.Stats()
	require.Equal(t, n, st.Open)
	require.Zero(t, st.Expired)
	require.Equal(t, 3, b.tree.Stats().Ephemerals)
	t.Logf("%d disconnected sessions: %d bytes each, with the test's clients", n, (used()-before)/uint64(n))

	for i := 0; i < n; i += 97 {
		require.Equal(t, all[i].id, b.resume(all[i]).id)
	}
	b.connect().ok(zkproto.OpPing, nil)
}
