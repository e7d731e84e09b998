package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

const bound = "/dubbo/com.acme.Order/providers"

// heeding is a server that looks for stale consumers of .../providers.
func heeding(after time.Duration) server.Config {
	return server.Config{
		StaleAfter: after,
		BoundDir:   func(path string) bool { return strings.HasSuffix(path, "/providers") },
	}
}

// mkdirs creates path and what is above it.
func (c *client) mkdirs(path string) {
	c.t.Helper()
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			f := c.call(zkproto.OpCreate, create(path[:i], zkproto.FlagPersistent))
			require.Contains(c.t, []zkproto.Code{zkproto.OK, zkproto.NodeExists}, f.Err)
		}
	}
}

// cut closes the socket, and waits until the server has let go of it.
func (b *bench) cut(c *client) {
	b.t.Helper()
	open := b.server.Stats().Connections
	_ = c.nc.Close()
	require.Eventually(b.t, func() bool { return b.server.Stats().Connections < open }, 10*time.Second, 100*time.Microsecond)
}

func (c *client) setWatches(m zkproto.SetWatches2Request) {
	c.t.Helper()
	for _, l := range []*[]string{&m.Data, &m.Exist, &m.Child, &m.Persistent, &m.PersistentRecursive} {
		if *l == nil {
			*l = []string{}
		}
	}
	c.ok(zkproto.OpSetWatches2, &m)
}

// heard reads the next frame, which must be an event. Over a pipe a client must
// not write while the server may be writing to it.
func (c *client) heard() event {
	c.t.Helper()
	f, err := c.next()
	require.NoError(c.t, err)
	require.Equal(c.t, zkproto.XidNotification, f.Xid)
	return f.event(c.t)
}

// stale lists the stale consumers as "session path".
func (b *bench) stale() []string {
	list := []string{}
	for _, s := range b.server.StaleConsumers() {
		list = append(list, s.Session+" "+s.Path)
	}
	slices.Sort(list)
	return list
}

func debt(c *client, path string) string { return fmt.Sprintf("0x%x %s", uint64(c.id), path) }

// Field report 19, steps 1 to 4: a consumer watches, is told, loses its socket
// before it lists again, resumes, and restores its watches without the one that
// was spent. The server serves it as ZooKeeper does, and says who it is.
func TestFieldReport19StaleConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, options{pipes: true, server: heeding(30 * time.Second)})
		b.timeout = 40000
		consumer, provider := b.connect(), b.connect()
		provider.mkdirs(bound)

		consumer.watchChildren(bound) // 1
		provider.create(bound+"/a", zkproto.FlagEphemeral)
		require.Equal(t, bound, consumer.heard().Path) // 2
		told := time.Now()
		_ = consumer.nc.Close() // 3
		synctest.Wait()
		time.Sleep(time.Second)
		consumer = b.resume(consumer) // 4
		require.NotZero(t, consumer.id, "it is not expired")
		consumer.setWatches(zkproto.SetWatches2Request{RelativeZxid: consumer.zxid, Child: []string{"/dubbo"}})
		require.Empty(t, consumer.take())

		time.Sleep(29*time.Second - 1)
		provider.ok(zkproto.OpPing, nil)
		require.Empty(t, b.stale())
		require.Zero(t, b.server.Stats().Stale)
		time.Sleep(time.Nanosecond)
		list := b.server.StaleConsumers()
		require.Len(t, list, 1)
		require.Equal(t, bound, list[0].Path)
		require.Equal(t, fmt.Sprintf("0x%x", uint64(consumer.id)), list[0].Session)
		require.True(t, told.Equal(list[0].Since), "got %v, want %v", list[0].Since, told)
		require.Equal(t, 1, b.server.Stats().Stale)
		require.Equal(t, list, b.server.StaleConsumersOf(bound))
		require.Empty(t, b.server.StaleConsumersOf("/dubbo"))

		consumer.ok(zkproto.OpPing, nil)
		require.Len(t, b.stale(), 1, "a heartbeat changes nothing")
		consumer.watchChildren(bound)
		require.Empty(t, b.stale())
		require.Zero(t, b.server.Stats().Stale)
		b.stop()
	})
}

// Field report 19 with Config.ExpireStale: step 4 is answered expired, and the
// end of the session is that of any other that expires.
func TestFieldReport19Strict(t *testing.T) {
	cfg := heeding(30 * time.Second)
	cfg.ExpireStale = true
	b := serve(t, options{server: cfg})
	consumer, provider := b.connect(), b.connect()
	provider.mkdirs(bound)
	consumer.create("/mine", zkproto.FlagEphemeral)
	consumer.create("/mine-too", zkproto.FlagEphemeral)
	provider.watchChildren("/")

	consumer.watchChildren(bound)
	provider.create(bound+"/a", zkproto.FlagEphemeral)
	require.Len(t, consumer.take(), 1)
	b.cut(consumer)
	before := provider.ok(zkproto.OpPing, nil).Zxid
	again := b.resume(consumer)
	require.Zero(t, again.id, "expired")
	require.Zero(t, again.timeout)
	again.closed()
	require.Len(t, provider.take(), 1)
	require.Equal(t, before+1, provider.zxid, "one transaction")
	provider.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/mine"})
	provider.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/mine-too"})
	require.Nil(t, b.sessions.Lookup(consumer.id))
	st := b.sessions.Stats()
	require.EqualValues(t, 1, st.Expired)
	require.Zero(t, st.Closed)
	require.EqualValues(t, 1, b.server.Stats().Expired)
	require.Zero(t, b.resume(consumer).id, "it stays so")
	require.Contains(t, b.log.String(), "expired instead of resumed")
}

// Strict mode strikes only who owes an answer when the connection ends.
func TestStrictSparesTheOthers(t *testing.T) {
	cfg := heeding(30 * time.Second)
	cfg.ExpireStale = true
	for _, tt := range []struct {
		name    string
		do      func(c, other *client)
		expired bool
	}{
		{"nothing happened", func(c, _ *client) { c.watchChildren(bound) }, false},
		{"listed again", func(c, other *client) {
			c.watchChildren(bound)
			other.create(bound+"/x", zkproto.FlagEphemeral)
			c.watchChildren(bound)
		}, false},
		{"listed without a watch", func(c, other *client) {
			c.watchChildren(bound)
			other.create(bound+"/x", zkproto.FlagEphemeral)
			c.ok(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: bound})
		}, true},
		{"another directory", func(c, other *client) {
			c.watchChildren("/dubbo")
			other.create("/dubbo/x", zkproto.FlagEphemeral)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, how := range []string{"cut", "taken over"} {
				t.Run(how, func(t *testing.T) {
					b := serve(t, options{server: cfg})
					c, other := b.connect(), b.connect()
					other.mkdirs(bound)
					tt.do(c, other)
					c.take()
					if how == "cut" {
						b.cut(c)
					}
					require.Equal(t, tt.expired, b.resume(c).id == 0)
				})
			}
		})
	}
}

// A change behind the back of a client that is away is told by setWatches: its
// watch was not spent, and nothing is owed by then.
func TestStrictSparesWhoWasNotTold(t *testing.T) {
	cfg := heeding(1)
	cfg.ExpireStale = true
	b := serve(t, options{server: cfg})
	c, other := b.connect(), b.connect()
	other.mkdirs(bound)
	c.watchChildren(bound)
	c.take()
	b.cut(c)
	other.create(bound+"/a", zkproto.FlagEphemeral)
	c = b.resume(c)
	require.NotZero(t, c.id)
	require.Empty(t, b.stale())
	c.setWatches(zkproto.SetWatches2Request{RelativeZxid: c.zxid, Child: []string{bound}})
	require.Len(t, c.take(), 1)
	require.Equal(t, []string{debt(c, bound)}, b.stale(), "now it was told")
}

// Several connections that ask for one session that is to be expired all hear
// that it has, and its nodes go once.
func TestStrictOnce(t *testing.T) {
	cfg := heeding(1)
	cfg.ExpireStale = true
	b := serve(t, options{server: cfg})
	c, other := b.connect(), b.connect()
	other.mkdirs(bound)
	c.create("/mine", zkproto.FlagEphemeral)
	c.watchChildren(bound)
	other.create(bound+"/a", zkproto.FlagEphemeral)
	b.cut(c)
	before := other.ok(zkproto.OpPing, nil).Zxid
	m := zkproto.ConnectRequest{Timeout: b.timeout, SessionID: c.id, Passwd: c.passwd}
	var all sync.WaitGroup
	for range 8 {
		again := b.raw()
		again.write(m.AppendTo(nil))
		all.Go(func() {
			f, err := again.readFrame()
			if err != nil {
				return // taken over by another one in time
			}
			var r zkproto.ConnectResponse
			if err := r.Decode(f); err != nil || r.SessionID != 0 {
				t.Errorf("got session %d (%v), want expired", r.SessionID, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, before+1, other.ok(zkproto.OpPing, nil).Zxid)
	require.EqualValues(t, 1, b.sessions.Stats().Expired)
	require.Empty(t, b.stale())
}

// What ends the record of an event, and what does not.
func TestWhatAnswersAnEvent(t *testing.T) {
	child := func(path string) zkproto.SetWatches2Request {
		return zkproto.SetWatches2Request{RelativeZxid: 1 << 40, Child: []string{path}}
	}
	addWatch := func(path string, mode zkproto.AddWatchMode) func(*bench, *client, *client) {
		return func(_ *bench, c, _ *client) {
			c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: path, Mode: mode})
		}
	}
	for _, tt := range []struct {
		name string
		do   func(b *bench, c, other *client)
		ends bool
	}{
		{"getChildren with a watch", func(_ *bench, c, _ *client) {
			c.ok(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: bound, Watch: true})
		}, true},
		{"getChildren2 with a watch", func(_ *bench, c, _ *client) { c.watchChildren(bound) }, true},
		{"getChildren without", func(_ *bench, c, _ *client) {
			c.ok(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: bound})
		}, false},
		{"getChildren2 without", func(_ *bench, c, _ *client) {
			c.ok(zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: bound})
		}, false},
		{"a list of another directory", func(_ *bench, c, _ *client) { c.watchChildren("/dubbo") }, false},
		{"a list that finds no directory", func(_ *bench, c, other *client) {
			other.delete(bound + "/a")
			other.delete(bound)
			c.fails(zkproto.NoNode, zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: bound, Watch: true})
		}, true},
		{"a list that is refused", func(_ *bench, c, other *client) {
			other.ok(zkproto.OpSetACL, &zkproto.SetACLRequest{Path: bound, ACL: []zkproto.ACL{{Perms: zkproto.PermRead, Scheme: "ip", ID: "192.0.2.1"}}, Version: -1})
			c.fails(zkproto.NoAuth, zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: bound, Watch: true})
		}, false},
		{"exists with a watch", func(_ *bench, c, _ *client) {
			c.ok(zkproto.OpExists, &zkproto.ExistsRequest{Path: bound, Watch: true})
		}, false},
		{"getData with a watch", func(_ *bench, c, _ *client) { c.watchData(bound) }, false},
		{"the end of the directory alone", func(_ *bench, _, other *client) {
			other.delete(bound + "/a")
			other.delete(bound)
		}, false},
		{"a persistent watch", addWatch(bound, zkproto.WatchPersistent), true},
		{"a persistent watch of the parent", addWatch("/dubbo/com.acme.Order", zkproto.WatchPersistent), false},
		{"a recursive watch", addWatch(bound, zkproto.WatchPersistentRecursive), true},
		{"a recursive watch further up", addWatch("/dubbo", zkproto.WatchPersistentRecursive), true},
		{"a recursive watch of everything", addWatch("/", zkproto.WatchPersistentRecursive), true},
		{"a recursive watch of a namesake", addWatch("/dubbo/com.acme", zkproto.WatchPersistentRecursive), false},
		{"an addWatch in no mode", func(_ *bench, c, _ *client) {
			c.fails(zkproto.MarshallingError, zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: bound, Mode: 7})
		}, false},
		{"setWatches on the same connection", func(_ *bench, c, _ *client) {
			c.ok(zkproto.OpSetWatches, &zkproto.SetWatchesRequest{RelativeZxid: c.zxid, Data: []string{}, Exist: []string{}, Child: []string{bound}})
		}, true},
		{"setWatches as a child watch, after a cut", func(b *bench, c, _ *client) {
			b.cut(c)
			m := child(bound)
			m.RelativeZxid = c.zxid
			b.resume(c).setWatches(m)
		}, true},
		{"setWatches of the child watches of others", func(b *bench, c, _ *client) {
			b.cut(c)
			b.resume(c).setWatches(child("/dubbo"))
		}, false},
		{"setWatches as a data watch", func(b *bench, c, _ *client) {
			c.setWatches(zkproto.SetWatches2Request{RelativeZxid: c.zxid, Data: []string{bound}, Exist: []string{"/nothing"}})
		}, false},
		{"setWatches with a persistent watch", func(b *bench, c, _ *client) {
			b.cut(c)
			b.resume(c).setWatches(zkproto.SetWatches2Request{Persistent: []string{bound}})
		}, true},
		{"setWatches with a recursive watch", func(b *bench, c, _ *client) {
			b.cut(c)
			b.resume(c).setWatches(zkproto.SetWatches2Request{PersistentRecursive: []string{"/dubbo"}})
		}, true},
		{"a cut", func(b *bench, c, _ *client) { b.cut(c) }, false},
		{"a resumed session", func(b *bench, c, _ *client) {
			b.cut(c)
			b.resume(c).take()
		}, false},
		{"a session taken over", func(b *bench, c, _ *client) { b.resume(c).take() }, false},
		{"closeSession", func(_ *bench, c, _ *client) {
			c.ok(zkproto.OpCloseSession, nil)
			c.closed()
		}, true},
		{"the session expires", func(b *bench, c, _ *client) {
			b.cut(c)
			require.True(b.t, b.sessions.Expire(b.sessions.Lookup(c.id)))
		}, true},
		{"the session expires with its connection open", func(b *bench, c, _ *client) {
			require.True(b.t, b.sessions.Expire(b.sessions.Lookup(c.id)))
			c.closed()
		}, true},
		{"another session lists", func(_ *bench, _, other *client) { other.watchChildren(bound) }, false},
		{"further changes", func(_ *bench, _, other *client) { other.create(bound+"/b", zkproto.FlagEphemeral) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := serve(t, options{server: heeding(1)})
			c, other := b.connect(), b.connect()
			other.mkdirs(bound)
			c.watchChildren(bound)
			other.create(bound+"/a", zkproto.FlagPersistent)
			require.Len(t, c.take(), 1)
			require.Equal(t, []string{debt(c, bound)}, b.stale())
			tt.do(b, c, other)
			want := []string{debt(c, bound)}
			if tt.ends {
				want = []string{}
			}
			require.Equal(t, want, b.stale())
		})
	}
}

// Who is told of a change and owes nothing.
func TestWhoOwesNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(c *client)
		told int
	}{
		{"no watch", func(*client) {}, 0},
		{"a data watch", func(c *client) { c.watchData(bound) }, 0},
		{"a persistent watch", func(c *client) {
			c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: bound, Mode: zkproto.WatchPersistent})
		}, 1},
		{"a persistent watch beside the one that is spent", func(c *client) {
			c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: bound, Mode: zkproto.WatchPersistent})
			c.watchChildren(bound)
		}, 1},
		{"a recursive watch beside the one that is spent", func(c *client) {
			c.watchChildren(bound)
			c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/", Mode: zkproto.WatchPersistentRecursive})
		}, 2},
		{"a watch that was removed", func(c *client) {
			c.watchChildren(bound)
			c.ok(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: bound, Type: zkproto.WatcherChildren})
		}, 0},
		{"a directory that is not bound", func(c *client) { c.watchChildren("/dubbo/com.acme.Order") }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := serve(t, options{server: heeding(1)})
			c, other := b.connect(), b.connect()
			other.mkdirs(bound)
			tt.do(c)
			other.create(bound+"/a", zkproto.FlagPersistent)
			require.Len(t, c.take(), tt.told)
			require.Empty(t, b.stale())
		})
	}
}

// A watch that stays, once it is removed, covers nothing any more.
func TestCoverThatWasRemoved(t *testing.T) {
	for _, tt := range []struct {
		name string
		mode zkproto.AddWatchMode
		typ  zkproto.WatcherType
		owes bool
	}{
		{"persistent, by its type", zkproto.WatchPersistent, zkproto.WatcherPersistent, true},
		{"persistent, by any", zkproto.WatchPersistent, zkproto.WatcherAny, true},
		{"recursive, by its type", zkproto.WatchPersistentRecursive, zkproto.WatcherPersistentRecursive, true},
		{"persistent, by the type of data watches", zkproto.WatchPersistent, zkproto.WatcherData, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := serve(t, options{server: heeding(1)})
			c, other := b.connect(), b.connect()
			other.mkdirs(bound)
			c.watchData(bound)
			c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: bound, Mode: tt.mode})
			c.ok(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: bound, Type: tt.typ})
			c.watchChildren(bound)
			other.create(bound+"/a", zkproto.FlagPersistent)
			c.take()
			require.Equal(t, tt.owes, len(b.stale()) == 1)
		})
	}
}

// A session that ends may be told of its own end; nothing of it is left.
func TestOwnEndIsNotOwed(t *testing.T) {
	b := serve(t, options{server: heeding(1)})
	c, other := b.connect(), b.connect()
	other.mkdirs(bound)
	c.create(bound+"/mine", zkproto.FlagEphemeral)
	c.watchChildren(bound)
	c.ok(zkproto.OpCloseSession, nil)
	require.Len(t, c.events, 1)
	require.Empty(t, b.stale())
}

// setWatches that tells a change again begins a new time.
func TestToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, options{pipes: true, server: heeding(5 * time.Second)})
		c, other := b.connect(), b.connect()
		other.mkdirs(bound)
		c.watchChildren(bound)
		other.create(bound+"/a", zkproto.FlagEphemeral)
		c.heard()
		time.Sleep(4 * time.Second)
		c.setWatches(zkproto.SetWatches2Request{RelativeZxid: 1, Child: []string{bound}})
		require.Len(t, c.take(), 1)
		told := time.Now()
		time.Sleep(4 * time.Second)
		require.Empty(t, b.stale())
		time.Sleep(time.Second)
		require.True(t, told.Equal(b.server.StaleConsumers()[0].Since))
		b.stop()
	})
}

// The list names the latest address, is in the order of time, and reads well.
func TestStaleConsumersAreListed(t *testing.T) {
	b := serve(t, options{server: heeding(1)})
	require.Equal(t, "No consumer is stale.\n", b.server.StaleConsumers().String())
	text, err := json.Marshal(b.server.StaleConsumers())
	require.NoError(t, err)
	require.Equal(t, "[]", string(text))

	c, other := b.connect(), b.connect()
	for _, path := range []string{"/b/providers", "/a/providers"} {
		other.mkdirs(path)
		c.watchChildren(path)
		other.create(path+"/x", zkproto.FlagPersistent)
	}
	b.cut(c)
	c = b.resume(c)
	list := b.server.StaleConsumers()
	require.Len(t, list, 2)
	require.Equal(t, "/b/providers", list[0].Path)
	require.Equal(t, "/a/providers", list[1].Path)
	require.Equal(t, c.nc.LocalAddr().String(), list[0].Client)
	require.Equal(t, fmt.Sprintf("Session 0x%x of %s has not listed /b/providers again since it was told of a change at %s.\n",
		uint64(c.id), c.nc.LocalAddr(), list[0].Since.Format(time.RFC3339)), list[:1].String())
}

// Nobody looks unless it is asked for.
func TestStaleConsumersAreOff(t *testing.T) {
	b := serve(t, options{server: server.Config{ExpireStale: true, BoundDir: heeding(0).BoundDir}})
	c, other := b.connect(), b.connect()
	other.mkdirs(bound)
	c.watchChildren(bound)
	other.create(bound+"/a", zkproto.FlagPersistent)
	b.cut(c)
	c = b.resume(c)
	require.NotZero(t, c.id)
	c.setWatches(zkproto.SetWatches2Request{Child: []string{bound}, Persistent: []string{bound}})
	require.Empty(t, b.stale())
	require.Zero(t, b.server.Stats().Stale)
}

// attentive is what the model knows of a client.
type attentive struct {
	*client
	child, persistent, recursive, owes map[string]bool
	away                               bool
	changed                            map[string]bool // while it was away
}

func (a *attentive) covered(path string) bool {
	if a.persistent[path] {
		return true
	}
	for top := range a.recursive {
		if top == "/" || path == top || strings.HasPrefix(path, top+"/") {
			return true
		}
	}
	return false
}

func (a *attentive) settleCovered() {
	for path := range a.owes {
		if a.covered(path) {
			delete(a.owes, path)
		}
	}
}

// Random histories of clients that watch, list, lose their connection, come back
// and end, against a model that is a set of paths for each.
func TestDebtsAgainstAModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 19))
			b := serve(t, options{server: heeding(1)})
			writer := b.connect()
			dirs := []string{"/d/a/providers", "/d/b/providers", "/d/b/more/providers", "/d/b"}
			tops := append([]string{"/", "/d", "/d/a", "/d/b/m"}, dirs...)
			for _, dir := range dirs {
				writer.mkdirs(dir)
			}
			fresh := func() *attentive {
				return &attentive{
					client: b.connect(), child: map[string]bool{}, persistent: map[string]bool{},
					recursive: map[string]bool{}, owes: map[string]bool{}, changed: map[string]bool{},
				}
			}
			clients := []*attentive{fresh(), fresh(), fresh()}
			pick := func(from []string) string { return from[r.IntN(len(from))] }
			toggled := map[string]bool{}
			owe := func(a *attentive, dir string) {
				if strings.HasSuffix(dir, "/providers") && !a.covered(dir) {
					a.owes[dir] = true
				}
			}
			for range 150 {
				i := r.IntN(len(clients))
				a, dir := clients[i], pick(dirs)
				what := r.IntN(9)
				if a.away && what != 0 {
					what = 5
				}
				switch what {
				case 0, 1: // a change
					if toggled[dir] = !toggled[dir]; toggled[dir] {
						writer.create(dir+"/x", zkproto.FlagPersistent)
					} else {
						writer.delete(dir + "/x")
					}
					for _, a := range clients {
						a.changed[dir] = true
						if !a.away && a.child[dir] {
							delete(a.child, dir)
							owe(a, dir)
						}
					}
				case 2, 3:
					a.watchChildren(dir)
					a.child[dir] = true
					delete(a.owes, dir)
				case 4:
					a.ok(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: dir})
				case 5: // cut, and later back with some of its watches
					if !a.away {
						a.take()
						b.cut(a.client)
						a.away, a.changed = true, map[string]bool{}
						break
					}
					a.client = b.resume(a.client)
					require.NotZero(t, a.id)
					a.away = false
					m := zkproto.SetWatches2Request{RelativeZxid: a.zxid}
					kept := func(set map[string]bool) (list []string) {
						for _, path := range tops {
							if set[path] && r.IntN(3) > 0 {
								list = append(list, path)
							}
							delete(set, path)
						}
						return list
					}
					m.Child, m.Persistent, m.PersistentRecursive = kept(a.child), kept(a.persistent), kept(a.recursive)
					for _, path := range m.Persistent {
						a.persistent[path] = true
					}
					for _, path := range m.PersistentRecursive {
						a.recursive[path] = true
					}
					for _, path := range m.Child {
						delete(a.owes, path)
						if a.changed[path] {
							owe(a, path)
						} else {
							a.child[path] = true
						}
					}
					a.settleCovered()
					a.setWatches(m)
				case 6:
					top, mode, set := pick(tops), zkproto.WatchPersistent, a.persistent
					if r.IntN(2) == 0 {
						mode, set = zkproto.WatchPersistentRecursive, a.recursive
					}
					a.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: top, Mode: mode})
					set[top] = true
					a.settleCovered()
				case 7:
					top := pick(tops)
					switch {
					case a.persistent[top] && r.IntN(2) == 0:
						a.ok(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: top, Type: zkproto.WatcherPersistent})
						delete(a.persistent, top)
					case a.persistent[top] || a.recursive[top] || a.child[top]:
						a.ok(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: top, Type: zkproto.WatcherAny})
						delete(a.persistent, top)
						delete(a.recursive, top)
						delete(a.child, top)
					default:
						a.fails(zkproto.NoWatcher, zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: top, Type: zkproto.WatcherAny})
					}
				case 8:
					if r.IntN(4) == 0 {
						a.ok(zkproto.OpCloseSession, nil)
						a.closed()
						clients[i] = fresh()
					}
				}
				want := []string{}
				for _, a := range clients {
					for path := range a.owes {
						want = append(want, debt(a.client, path))
					}
				}
				slices.Sort(want)
				require.Equal(t, want, b.stale(), "after a step of kind %d", what)
			}
		})
	}
}

// Clients come, owe, answer, are cut and end while others read the list; nothing
// is left when all have gone.
func TestDebtsUnderLoad(t *testing.T) {
	cfg := heeding(1)
	cfg.ExpireStale = true
	b := serve(t, options{server: cfg, sessions: sessions.Config{}})
	writer := b.connect()
	writer.mkdirs(bound)
	done := make(chan struct{})
	var readers, all sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = b.server.StaleConsumers().String()
				_ = b.server.Stats().Stale
			}
		}
	})
	for i := range 8 {
		all.Go(func() {
			for k := range 30 {
				c := b.connect()
				c.watchChildren(bound)
				c.create(fmt.Sprintf("%s/%d-%d", bound, i, k), zkproto.FlagEphemeral)
				switch k % 3 {
				case 0:
					_ = c.nc.Close()
					c = b.resume(c) // its own event spent the watch: expired
					if c.id != 0 {
						t.Errorf("session %x was resumed", c.id)
					}
					continue
				case 1:
					c.watchChildren(bound)
				}
				c.ok(zkproto.OpCloseSession, nil)
			}
		})
	}
	all.Wait()
	close(done)
	readers.Wait()
	require.Empty(t, b.stale())
	require.Equal(t, 1, b.sessions.Stats().Open)
}
