package server

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// The table of debts against a slice in the order of time: whatever is added,
// settled and ended, the list of all debts and those of the sessions agree, and
// a session that has ended leaves nothing.
func TestDebtsTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := sessions.New(sessions.Config{Bridge: 1, Incarnation: 1, Key: make([]byte, 32), Expire: func(*sessions.Session) {}})
		require.NoError(t, err)
		table := newDebts(&Config{Sessions: m, StaleAfter: time.Minute, BoundDir: func(string) bool { return true }})
		type owed struct {
			c    *conn
			path string
			at   time.Time
		}
		var conns []*conn
		var model []owed
		debtors := make(map[*conn]*debtor)
		clock := time.Now().Add(-2 * time.Minute)
		path := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("/%d", rapid.IntRange(0, 5).Draw(t, "path")) })
		one := func(t *rapid.T) *conn {
			if len(conns) == 0 {
				t.Skip("no session")
			}
			return conns[rapid.IntRange(0, len(conns)-1).Draw(t, "session")]
		}
		t.Repeat(map[string]func(*rapid.T){
			"session": func(*rapid.T) {
				c := &conn{}
				s, err := m.Create(time.Minute, c)
				require.NoError(t, err)
				m.Detach(s, c)
				c.carry(s)
				conns = append(conns, c)
			},
			"add": func(t *rapid.T) {
				c, path := one(t), path.Draw(t, "path")
				clock = clock.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
				table.at = clock
				debtors[c] = table.add(c, debtors[c], path)
				if !slices.ContainsFunc(model, func(o owed) bool { return o.c == c && o.path == path }) {
					model = append(model, owed{c, path, clock})
				}
			},
			"settle": func(t *rapid.T) {
				c, path := one(t), path.Draw(t, "path")
				if debtors[c] != nil {
					table.settle(debtors[c], path)
				}
				model = slices.DeleteFunc(model, func(o owed) bool { return o.c == c && o.path == path })
			},
			"settle many": func(t *rapid.T) {
				c, top := one(t), path.Draw(t, "path")
				if debtors[c] != nil {
					table.settleWhere(debtors[c], func(p string) bool { return p > top })
				}
				model = slices.DeleteFunc(model, func(o owed) bool { return o.c == c && o.path > top })
			},
			"resume": func(t *rapid.T) {
				c := one(t)
				require.Same(t, debtors[c], table.resumed(c))
			},
			"end": func(t *rapid.T) {
				c := one(t)
				require.True(t, m.Expire(c.session))
				conns = slices.DeleteFunc(conns, func(o *conn) bool { return o == c })
				model = slices.DeleteFunc(model, func(o owed) bool { return o.c == c })
				require.Same(t, debtors[c], table.add(c, debtors[c], "/late"), "nothing is noted for the dead")
				delete(debtors, c)
			},
			"": func(t *rapid.T) {
				var all, stale []owed
				var last *debt
				for n := table.oldest; n != nil; n = n.newer {
					require.Same(t, last, n.older)
					require.Same(t, n, n.by.owed[n.path])
					last = n
				}
				require.Same(t, last, table.newest)
				byID := make(map[int64]*conn)
				for _, c := range conns {
					byID[c.session.ID()] = c
				}
				for n := table.oldest; n != nil; n = n.newer {
					all = append(all, owed{byID[n.by.session.ID()], n.path, n.since})
				}
				require.True(t, slices.Equal(model, all), "got %v, want %v", all, model)
				table.each(func(n *debt) { stale = append(stale, owed{byID[n.by.session.ID()], n.path, n.since}) })
				late := time.Now().Add(-table.after)
				for _, o := range stale {
					require.False(t, o.at.After(late))
				}
				require.Len(t, slices.DeleteFunc(slices.Clone(model), func(o owed) bool { return o.at.After(late) }), len(stale))
				for _, c := range conns {
					n := 0
					for _, o := range model {
						if o.c == c {
							n++
						}
					}
					require.Equal(t, n, table.owes(c.session))
				}
				require.LessOrEqual(t, len(table.debtors), len(conns), "nobody is kept who has ended")
			},
		})
	})
}

// A session that lets thousands of directories go is kept within bounds.
func TestDebtsOfOneSessionAreBounded(t *testing.T) {
	m, err := sessions.New(sessions.Config{Bridge: 1, Incarnation: 1, Key: make([]byte, 32), Expire: func(*sessions.Session) {}})
	require.NoError(t, err)
	table := newDebts(&Config{Sessions: m, StaleAfter: 1, BoundDir: func(string) bool { return true }})
	c := &conn{}
	s, err := m.Create(time.Minute, c)
	require.NoError(t, err)
	c.carry(s)
	var d *debtor
	for i := range debtMax + 100 {
		d = table.add(c, d, fmt.Sprint("/", i))
	}
	require.Equal(t, debtMax, table.owes(s))
}

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		persistent, recursive []string
		want                  bool
	}{
		{"nothing", nil, nil, false},
		{"itself, persistent", []string{"/a/b/c"}, nil, true},
		{"its parent, persistent", []string{"/a/b"}, nil, false},
		{"itself, recursive", nil, []string{"/a/b/c"}, true},
		{"its parent, recursive", nil, []string{"/a/b"}, true},
		{"the root, recursive", nil, []string{"/"}, true},
		{"a child, recursive", nil, []string{"/a/b/c/d"}, false},
		{"a namesake, recursive", nil, []string{"/a/b/cc", "/a/bb", "/aa"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &standing{}
			for _, path := range tt.persistent {
				s.persistent.add(path)
			}
			inSome := slices.ContainsFunc(tt.recursive, func(top string) bool { return inSubtree("/a/b/c", top) })
			for _, path := range tt.recursive {
				s.recursive.add(path)
			}
			require.Equal(t, tt.want, s.covers("/a/b/c"))
			require.Equal(t, tt.want && tt.recursive != nil, inSome, "inSubtree agrees")
		})
	}
	require.False(t, (*standing)(nil).covers("/a"))
}

// Events that a client cannot have got, or has no use for, are not owed; nor is
// the list about sessions that are ending.
func TestEventsThatAreNotOwed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event zkproto.EventType
		do    func(m *sessions.Manager, c *conn)
		owes  int
		lists int
	}{
		{"an event that is owed", zkproto.EventChildrenChanged, func(*sessions.Manager, *conn) {}, 1, 1},
		{"an event of the node itself", zkproto.EventDeleted, func(*sessions.Manager, *conn) {}, 0, 0},
		{"its session was taken over", zkproto.EventChildrenChanged, func(_ *sessions.Manager, c *conn) {
			why := "moved"
			c.kicked.Store(&why)
		}, 0, 0},
		{"its socket is closed", zkproto.EventChildrenChanged, func(_ *sessions.Manager, c *conn) { c.shutOff.Store(true) }, 0, 0},
		{"its session is ending", zkproto.EventChildrenChanged, func(m *sessions.Manager, c *conn) { m.BeginEnd(c.session) }, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := sessions.New(sessions.Config{Bridge: 1, Incarnation: 1, Key: make([]byte, 32), Expire: func(*sessions.Session) {}})
			require.NoError(t, err)
			s := &Server{stale: newDebts(&Config{Sessions: m, StaleAfter: 1, BoundDir: func(path string) bool { return path == "/d" }})}
			c := &conn{srv: s}
			session, err := m.Create(time.Minute, c)
			require.NoError(t, err)
			c.carry(session)
			tt.do(m, c)
			s.stale.told(c, &znode.Event{Type: tt.event, Path: "/d"})
			require.Equal(t, tt.owes, s.stale.owes(session))
			require.Equal(t, tt.lists, s.staleConsumers())
			m.BeginEnd(session)
			require.Zero(t, s.staleConsumers(), "it is ending")
		})
	}
}

// What one event on a bound directory costs for each consumer, answered at once,
// and what an ordinary list costs beside it.
func BenchmarkDebts(b *testing.B) {
	m, err := sessions.New(sessions.Config{Bridge: 1, Incarnation: 1, Key: make([]byte, 32), Expire: func(*sessions.Session) {}})
	require.NoError(b, err)
	t := newDebts(&Config{Sessions: m, StaleAfter: time.Minute, BoundDir: func(path string) bool { return path == "/d" }})
	conns := make([]*conn, 1000)
	for i := range conns {
		conns[i] = &conn{}
		s, err := m.Create(time.Minute, conns[i])
		require.NoError(b, err)
		conns[i].carry(s)
	}
	bystander := &conn{}
	b.Run("told and answered by 1000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e := &znode.Event{Type: zkproto.EventChildrenChanged, Path: "/d"}
			for _, c := range conns {
				t.told(c, e)
			}
			for _, c := range conns {
				t.listed(c, "/d", nil)
			}
		}
	})
	b.Run("a list by who owes nothing", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t.listed(bystander, "/d", nil)
		}
	})
	b.Run("an event of another kind", func(b *testing.B) {
		e := &znode.Event{Type: zkproto.EventDataChanged, Path: "/d"}
		b.ReportAllocs()
		for b.Loop() {
			t.told(bystander, e)
		}
	})
}
