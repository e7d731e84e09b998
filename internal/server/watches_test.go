package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/zkproto"
)

// Field report 13: a child watch restored by setWatches is a child watch.
func TestFieldReport13RestoredChildWatch(t *testing.T) {
	b := serve(t, options{})
	a, other := b.connect(), b.connect()
	a.create("/d", zkproto.FlagPersistent)
	a.watchChildren("/d")
	_ = a.nc.Close()
	a = b.resume(a)
	a.ok(zkproto.OpSetWatches, &zkproto.SetWatchesRequest{
		RelativeZxid: a.zxid, Data: []string{}, Exist: []string{}, Child: []string{"/d"},
	})
	other.setData("/d", 1)
	require.Empty(t, a.take())
	other.create("/d/c", zkproto.FlagPersistent)
	got := a.take()
	require.Len(t, got, 1)
	require.Equal(t, event{zkproto.EventChildrenChanged, "/d", other.zxid}, got[0])
	other.create("/d/e", zkproto.FlagPersistent)
	require.Empty(t, a.take())
}

// Field report 14: a setWatches of 4 MB, and 20 of 128 KiB with the same xid.
func TestFieldReport14LargeSetWatches(t *testing.T) {
	path := func(i int) string { return fmt.Sprintf("/%0119d", i) }
	list := func(from, to int) []string {
		l := make([]string, 0, to-from)
		for i := from; i < to; i++ {
			l = append(l, path(i))
		}
		return l
	}
	check := func(t *testing.T, c, writer *client, n int) {
		t.Helper()
		require.Empty(t, c.take())
		for _, i := range []int{0, 1, n / 2, n - 1} {
			writer.create(path(i), zkproto.FlagPersistent)
			require.Equal(t, []event{{zkproto.EventCreated, path(i), writer.zxid}}, c.take())
		}
	}
	t.Run("one of 4 MB", func(t *testing.T) {
		b := serve(t, options{})
		c := b.connect()
		const n = 34000
		all := request(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{
			RelativeZxid: 1, Data: []string{}, Exist: list(0, n), Child: []string{},
		})
		require.Greater(t, len(all), 4<<20)
		_, err := c.nc.Write(all)
		require.NoError(t, err)
		f := c.reply()
		require.Equal(t, zkproto.XidSetWatches, f.Xid)
		require.Equal(t, zkproto.OK, f.Err)
		require.Equal(t, 16, f.size)
		require.Equal(t, n, b.tree.Stats().DataWatches)
		check(t, c, b.connect(), n)
	})
	t.Run("20 of 128 KiB", func(t *testing.T) {
		b := serve(t, options{})
		c := b.connect()
		const n, parts = 20 * 1050, 20
		for i := range parts {
			part := request(zkproto.XidSetWatches, zkproto.OpSetWatches2, &zkproto.SetWatches2Request{
				RelativeZxid: 1, Data: []string{}, Exist: list(i*n/parts, (i+1)*n/parts), Child: []string{},
				Persistent: []string{}, PersistentRecursive: []string{},
			})
			require.Greater(t, len(part), 127<<10)
			_, err := c.nc.Write(part)
			require.NoError(t, err)
		}
		for range parts {
			f := c.reply()
			require.Equal(t, zkproto.XidSetWatches, f.Xid)
			require.Equal(t, zkproto.OK, f.Err)
		}
		check(t, c, b.connect(), n)
	})
	t.Run("everything fires at once", func(t *testing.T) {
		// More events than may otherwise wait for a client: it asked for them.
		b := serve(t, options{})
		c := b.connect()
		const n = 60000
		all := request(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{
			RelativeZxid: 1, Data: list(0, n), Exist: []string{}, Child: []string{},
		})
		go func() { _, _ = c.nc.Write(all) }()
		require.Equal(t, zkproto.OK, c.reply().Err)
		require.Len(t, c.events, n)
		require.Equal(t, event{zkproto.EventDeleted, path(n - 1), -1}, c.events[n-1])
		c.ok(zkproto.OpPing, nil)
	})
	t.Run("other operations keep their limit", func(t *testing.T) {
		b := serve(t, options{})
		c := b.connect()
		_, err := c.nc.Write(request(1, zkproto.OpMulti, bad(make([]byte, 2<<20)))[:100])
		require.NoError(t, err)
		c.closed()
	})
	t.Run("beyond the limit of setWatches", func(t *testing.T) {
		b := serve(t, options{})
		c := b.connect()
		_, err := c.nc.Write([]byte{4, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 101})
		require.NoError(t, err)
		c.closed()
	})
}

// Field report 16: no watch outlives its connection, or is counted twice.
func TestFieldReport16WatchLeak(t *testing.T) {
	b := serve(t, options{})
	keeper := b.connect()
	keeper.create("/a", zkproto.FlagPersistent)
	for i := range 1000 {
		c := b.connect()
		for range 2 {
			c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/a", Mode: zkproto.WatchPersistent})
			c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/a", Mode: zkproto.WatchPersistentRecursive})
			c.watchChildren("/a")
			c.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/none", Watch: true})
		}
		require.LessOrEqual(t, b.tree.Stats().Watches(), 3*4, "round %d", i)
		if i%2 == 0 {
			c.ok(zkproto.OpCloseSession, nil)
			c.closed()
		}
		_ = c.nc.Close()
		require.Eventually(t, func() bool { return b.tree.Stats().Watches() == 0 }, 10*time.Second, 50*time.Microsecond)
	}
	require.Contains(t, b.word("mntr"), "zk_watch_count\t0\n")
}

// Field report 17: the reply that arms a watch is in front of its event, and no
// event comes behind a reply that shows what it tells of.
//
// Pitfall P19: what is read after an event is not older than the event.
func TestFieldReport17EventAfterArmingReply(t *testing.T) {
	b := serve(t, options{})
	c, writer := b.connect(), b.connect()
	c.create("/k", zkproto.FlagPersistent)
	const rounds, batch = 20, 1000
	var stop sync.WaitGroup
	done := make(chan struct{})
	stop.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				writer.setData("/k", byte(i))
			}
		}
	})
	armed, events := 0, 0 // replies that armed, events
	var version int32     // the latest one shown
	shown := int64(0)     // its mzxid
	for range rounds {
		var reqs []byte
		for i := range int32(batch) {
			reqs = append(reqs, request(i, zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/k", Watch: true})...)
		}
		go func() { _, _ = c.nc.Write(reqs) }()
		for got := 0; got < batch; {
			f, err := c.next()
			require.NoError(t, err)
			if f.Xid == zkproto.XidNotification {
				events++
				require.Positive(t, armed, "an event without a reply that armed it")
				armed = 0 // one-shot, and set semantics
				require.Greater(t, f.Zxid, shown, "an event of what a reply has shown already")
				continue
			}
			require.Equal(t, int32(got), f.Xid)
			got++
			armed++
			var m zkproto.GetDataResponse
			require.NoError(t, m.Decode(f.body))
			if m.Stat.Version != version {
				require.Equal(t, 1, armed, "version %d was shown before the event of it", m.Stat.Version)
			}
			version, shown = m.Stat.Version, m.Stat.Mzxid
		}
	}
	close(done)
	stop.Wait()
	require.Positive(t, events)
}

// Field report 17, end: the writer's own event is in front of its reply.
func TestFieldReport17OwnEventFirst(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	c.create("/k", zkproto.FlagPersistent)
	for i := range 200 {
		c.watchData("/k")
		c.watchChildren("/k")
		c.setData("/k", byte(i))
		require.Equal(t, []event{{zkproto.EventDataChanged, "/k", c.zxid}}, c.events)
		c.events = nil
		c.create("/k/c", zkproto.FlagEphemeral)
		require.Equal(t, []event{{zkproto.EventChildrenChanged, "/k", c.zxid}}, c.events)
		c.events = nil
		c.delete("/k/c")
		require.Empty(t, c.events)
	}
}

// Field report 18: three ways of coming back.
func TestFieldReport18ThreeWaysBack(t *testing.T) {
	b := serve(t, options{})
	writer := b.connect()
	cut := func(t *testing.T, dir string) *client {
		c := b.connect()
		c.create(dir, zkproto.FlagPersistent)
		c.watchChildren(dir)
		_ = c.nc.Close()
		require.Eventually(t, func() bool { return b.tree.Stats().Watches() == 0 }, 10*time.Second, time.Millisecond)
		writer.create(dir+"/meanwhile", zkproto.FlagPersistent)
		return b.resume(c)
	}
	t.Run("nothing", func(t *testing.T) {
		c := cut(t, "/nothing")
		writer.create("/nothing/later", zkproto.FlagPersistent)
		require.Empty(t, c.take())
	})
	t.Run("setWatches", func(t *testing.T) {
		c := cut(t, "/set")
		xid := c.send(zkproto.OpSetWatches, &zkproto.SetWatchesRequest{
			RelativeZxid: c.zxid, Data: []string{}, Exist: []string{}, Child: []string{"/set"},
		})
		require.Equal(t, xid, c.reply().Xid, "go-zookeeper's xid is echoed")
		require.Equal(t, []event{{zkproto.EventChildrenChanged, "/set", -1}}, c.events, "in front of the reply")
		c.events = nil
		writer.create("/set/later", zkproto.FlagPersistent)
		require.Empty(t, c.take())
	})
	t.Run("many reads", func(t *testing.T) {
		c := cut(t, "/reads")
		for range 64 {
			c.watchChildren("/reads")
		}
		writer.create("/reads/later", zkproto.FlagPersistent)
		require.Len(t, c.take(), 1)
		writer.create("/reads/later2", zkproto.FlagPersistent)
		require.Empty(t, c.take())
	})
}

// A one-shot exists watch fires on creation; persistent and recursive watches
// stay; removeWatches takes just what it names.
//
// Pitfalls P13 and P14: addWatch is answered, and a recursive watch never hears of children.
func TestWatchKinds(t *testing.T) {
	b := serve(t, options{})
	c, w := b.connect(), b.connect()
	c.fails(zkproto.NoNode, zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/x", Watch: true}) // leaves none
	w.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/x", Watch: true})   // leaves one
	c.create("/x", zkproto.FlagPersistent)
	require.Equal(t, []event{{zkproto.EventCreated, "/x", c.zxid}}, w.take())
	require.Empty(t, c.take())

	w.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/x", Mode: zkproto.WatchPersistentRecursive})
	for range 2 {
		c.create("/x/y", zkproto.FlagPersistent)
		require.Equal(t, []event{{zkproto.EventCreated, "/x/y", c.zxid}}, w.take())
		c.delete("/x/y")
		require.Equal(t, []event{{zkproto.EventDeleted, "/x/y", c.zxid}}, w.take())
	}
	w.ok(zkproto.OpCheckWatches, &zkproto.CheckWatchesRequest{Path: "/x", Type: zkproto.WatcherAny})
	w.fails(zkproto.NoWatcher, zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: "/x", Type: zkproto.WatcherData})
	w.ok(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: "/x", Type: zkproto.WatcherPersistentRecursive})
	c.create("/x/z", zkproto.FlagPersistent)
	require.Empty(t, w.take())
}

// An event of a node that the world may not read reaches those who may.
func TestEventsOfUnreadableNodes(t *testing.T) {
	b := serve(t, options{})
	owner, stranger := b.connect(), b.connect()
	owner.ok(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("joe:secret")})
	owner.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/", Mode: zkproto.WatchPersistentRecursive})
	stranger.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/", Mode: zkproto.WatchPersistentRecursive})
	owner.ok(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/secret", ACL: []zkproto.ACL{{Perms: zkproto.PermAll, Scheme: "auth"}}})
	require.Len(t, owner.take(), 1)
	require.Empty(t, stranger.take())
}

// Everybody who watches hears of it, and the event is encoded once.
func TestFanOut(t *testing.T) {
	b := serve(t, options{})
	writer := b.connect()
	writer.create("/d", zkproto.FlagPersistent)
	watchers := make([]*client, 300)
	for i := range watchers {
		watchers[i] = b.connect()
		watchers[i].watchChildren("/d")
	}
	writer.create("/d/"+strings.Repeat("n", 300), zkproto.FlagEphemeral)
	for _, w := range watchers {
		w.within(10 * time.Second)
		f, err := w.next()
		require.NoError(t, err)
		require.Equal(t, event{zkproto.EventChildrenChanged, "/d", writer.zxid}, f.event(t))
	}
	require.EqualValues(t, len(watchers), b.server.Stats().Events)
}
