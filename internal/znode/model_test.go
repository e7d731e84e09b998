package znode_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// model is ZooKeeper's tree in the simplest form: whole paths, no parents, no
// sharing. A transaction works on a copy.
type model struct {
	zxid  int64
	nodes map[string]*modelNode
	steps []modelStep
	owed  []string // directories that a binding changed
	data  modelTable
	child modelTable
}

type modelNode struct {
	czxid, mzxid, pzxid         int64
	version, cversion, aversion int32
	creates                     int32
	owner                       int64
	data                        []byte
	applied, childrenApplied    int64
}

type modelStep struct {
	event string
	path  string
}

// modelTable is one of ZooKeeper's two watch tables: path, connection, modes.
type modelTable map[string]map[*conn]map[string]bool

func newModel() *model {
	m := &model{nodes: make(map[string]*modelNode), data: make(modelTable), child: make(modelTable)}
	for _, p := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		m.nodes[p] = &modelNode{data: []byte{}}
	}
	m.nodes["/"].cversion = -1
	m.nodes["/zookeeper"].cversion = -2
	m.nodes["/zookeeper/config"].aversion = -1
	return m
}

// copied is what a transaction works on; watches are touched only when it
// stands.
func (m *model) copied() *model {
	c := *m
	c.nodes = make(map[string]*modelNode, len(m.nodes))
	for p, n := range m.nodes {
		one := *n
		c.nodes[p] = &one
	}
	c.steps, c.owed = nil, nil
	return &c
}

func up(path string) string {
	if i := strings.LastIndex(path, "/"); i > 0 {
		return path[:i]
	}
	return "/"
}

func (m *model) childrenOf(path string) (names []string) {
	for p := range m.nodes {
		if p != "/" && up(p) == path {
			names = append(names, p[strings.LastIndex(p, "/")+1:])
		}
	}
	slices.Sort(names)
	return names
}

func (m *model) create(path string, data []byte, owner int64, sequential bool) (string, error) {
	parent := m.nodes[up(path)]
	if parent == nil {
		return "", zkproto.NoNode
	}
	if sequential {
		path = fmt.Sprintf("%s%010d", path, parent.creates)
	}
	if old := m.nodes[path]; old != nil {
		if old.owner != bridge || sequential {
			return "", zkproto.NodeExists
		}
		if !bytes.Equal(old.data, data) || (old.data == nil) != (data == nil) {
			m.steps = append(m.steps, modelStep{"data", path})
		}
		*old = *m.fresh(data, owner)
		return path, nil
	}
	if parent.owner != 0 {
		return "", zkproto.NoChildrenForEphemerals
	}
	m.add(path, data, owner)
	m.steps = append(m.steps, modelStep{"children", up(path)})
	return path, nil
}

func (m *model) fresh(data []byte, owner int64) *modelNode {
	return &modelNode{czxid: m.zxid, mzxid: m.zxid, pzxid: m.zxid, data: data, owner: owner, applied: m.zxid, childrenApplied: m.zxid}
}

func (m *model) add(path string, data []byte, owner int64) {
	m.nodes[path] = m.fresh(data, owner)
	parent := m.nodes[up(path)]
	parent.creates++
	m.touch(parent)
	m.steps = append(m.steps, modelStep{"created", path})
}

func (m *model) touch(parent *modelNode) {
	parent.cversion++
	parent.pzxid, parent.childrenApplied = m.zxid, m.zxid
}

func (m *model) take(path string) {
	delete(m.nodes, path)
	m.touch(m.nodes[up(path)])
	m.steps = append(m.steps, modelStep{"deleted", path})
}

func (m *model) delete(path string, version int32) error {
	n := m.nodes[path]
	switch {
	case path == "/" || path == "/zookeeper":
		return zkproto.BadArguments
	case m.nodes[up(path)] == nil || n == nil:
		return zkproto.NoNode
	case version != -1 && version != n.version:
		return zkproto.BadVersion
	case len(m.childrenOf(path)) > 0:
		return zkproto.NotEmpty
	}
	m.take(path)
	m.steps = append(m.steps, modelStep{"children", up(path)})
	return nil
}

func (m *model) set(path string, data []byte, version int32) error {
	n := m.nodes[path]
	switch {
	case n == nil:
		return zkproto.NoNode
	case version != -1 && version != n.version:
		return zkproto.BadVersion
	}
	m.write(path, data)
	return nil
}

func (m *model) write(path string, data []byte) {
	n := m.nodes[path]
	n.data, n.mzxid, n.applied = data, m.zxid, m.zxid
	n.version++
	m.steps = append(m.steps, modelStep{"data", path})
}

func (m *model) close(session int64) {
	for p, n := range m.nodes {
		if n.owner == session {
			m.take(p)
			m.steps = append(m.steps, modelStep{"children", up(p)})
		}
	}
}

func (m *model) put(path string, data []byte) {
	if n := m.nodes[path]; n != nil {
		if n.owner == bridge && !(bytes.Equal(n.data, data) && (n.data == nil) == (data == nil)) {
			m.write(path, data)
		}
		return
	}
	for p := up(path); ; p = up(p) {
		if n := m.nodes[p]; n != nil {
			if n.owner != 0 {
				return
			}
			break
		}
	}
	var missing []string
	for p := up(path); m.nodes[p] == nil; p = up(p) {
		missing = append([]string{p}, missing...)
	}
	for _, p := range missing {
		m.add(p, []byte{}, 0)
		m.owe(up(p))
	}
	m.add(path, data, bridge)
	m.owe(up(path))
}

func (m *model) remove(path string) {
	if n := m.nodes[path]; n != nil && n.owner == bridge {
		m.take(path)
		m.owe(up(path))
	}
}

func (m *model) owe(dir string) {
	if !slices.Contains(m.owed, dir) {
		m.owed = append(m.owed, dir)
	}
}

// fire is WatchManager.triggerWatch for every step, in order.
func (m *model) fire() {
	had := make(map[string]bool)
	for _, s := range m.steps {
		if s.event == "children" {
			had[s.path] = true
		}
	}
	for _, dir := range m.owed {
		if !had[dir] {
			m.steps = append(m.steps, modelStep{"children", dir})
		}
	}
	for _, s := range m.steps {
		heard := make(map[*conn]bool)
		if s.event == "children" {
			m.trigger(m.child, s, heard, heard)
			continue
		}
		m.trigger(m.data, s, heard, nil)
		if s.event == "deleted" {
			m.trigger(m.child, s, maps.Clone(heard), heard)
		}
	}
}

func (m *model) trigger(t modelTable, s modelStep, heard, suppress map[*conn]bool) {
	var hear []*conn
	for path := s.path; ; path = up(path) {
		for c, modes := range t[path] {
			if path == s.path {
				hear = append(hear, c)
				delete(modes, "standard")
				if len(modes) == 0 {
					delete(t[path], c)
				}
			} else if modes["recursive"] {
				hear = append(hear, c)
			}
		}
		if path == "/" {
			break
		}
	}
	done := make(map[*conn]bool)
	for _, c := range hear {
		if done[c] || suppress[c] {
			continue
		}
		done[c], heard[c] = true, true
		c.got = append(c.got, fmt.Sprintf("%s %s %d", s.event, s.path, m.zxid))
	}
}

func (t modelTable) set(c *conn, path, mode string) {
	if t[path] == nil {
		t[path] = make(map[*conn]map[string]bool)
	}
	if t[path][c] == nil {
		t[path][c] = make(map[string]bool)
	}
	t[path][c][mode] = true
}

func (t modelTable) count() (pairs, paths, conns int) {
	who := make(map[*conn]bool)
	for _, cs := range t {
		if len(cs) > 0 {
			paths++
		}
		for c := range cs {
			pairs++
			who[c] = true
		}
	}
	return pairs, paths, len(who)
}

func (m *model) watch(c *conn, path string, k znode.WatchKind) {
	switch k {
	case znode.WatchData, znode.WatchExist:
		m.data.set(c, path, "standard")
	case znode.WatchChild:
		m.child.set(c, path, "standard")
	case znode.WatchPersistent:
		m.data.set(c, path, "persistent")
		m.child.set(c, path, "persistent")
	case znode.WatchRecursive:
		m.data.set(c, path, "recursive")
	}
}

// TestTreeIsTheModel runs random histories against tree and model, and every
// committed transaction a second time into a twin.
func TestTreeIsTheModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tree := newTree(t, nil)
		twin := newTree(t, nil)
		tree.Tap(func(txn znode.Txn) {
			txn.Origin = znode.Origin{Kind: znode.Log}
			require.NoError(r, twin.Apply(txn))
		})
		m := newModel()
		// Each connection exists twice: as the tree tells it and as the model does.
		var conns, expected []*conn
		for i := range 3 {
			conns = append(conns, &conn{name: fmt.Sprint(i)})
			expected = append(expected, &conn{name: fmt.Sprint(i)})
		}
		paths := []string{"/", "/a", "/b", "/a/a", "/a/b", "/a/a/a", "/b/c", "/zookeeper"}
		path := rapid.SampledFrom(paths)
		session := rapid.SampledFrom([]int64{1, 2})
		owner := rapid.SampledFrom([]int64{0, 0, 1, 2})
		version := rapid.SampledFrom([]int32{-1, -1, -1, 0, 1})
		data := rapid.SampledFrom([][]byte{nil, {}, []byte("x"), []byte("yy")})
		kind := rapid.SampledFrom([]znode.WatchKind{znode.WatchData, znode.WatchExist, znode.WatchChild, znode.WatchPersistent, znode.WatchRecursive})
		who := rapid.IntRange(0, len(conns)-1)

		// op is one step of an operation on both sides, to the same outcome.
		type op func(x *znode.Tx, m *model) error
		agree := func(got, want error) error {
			require.Equal(r, want, got)
			return got
		}
		ops := map[string]func() op{
			"create": func() op {
				p, d, o, seq := path.Draw(r, "path"), data.Draw(r, "data"), owner.Draw(r, "owner"), rapid.IntRange(0, 5).Draw(r, "seq") == 0
				return func(x *znode.Tx, m *model) error {
					c := znode.Create{Path: p, Data: d, Sequential: seq, ACL: zkproto.WorldAnyone()}
					if o != 0 {
						c.Kind, c.Owner = znode.Ephemeral, o
					}
					got, st, err := x.Create(c)
					want, wantErr := m.create(p, d, o, seq)
					require.Equal(r, want, got)
					if err == nil {
						require.Equal(r, zkproto.Stat{Czxid: m.zxid, Mzxid: m.zxid, Pzxid: m.zxid, Ctime: x.Time(), Mtime: x.Time(), EphemeralOwner: o, DataLength: int32(len(d))}, st)
					}
					return agree(err, wantErr)
				}
			},
			"delete": func() op {
				p, v := path.Draw(r, "path"), version.Draw(r, "version")
				return func(x *znode.Tx, m *model) error { return agree(x.Delete(p, v), m.delete(p, v)) }
			},
			"setData": func() op {
				p, d, v := path.Draw(r, "path"), data.Draw(r, "data"), version.Draw(r, "version")
				return func(x *znode.Tx, m *model) error {
					_, err := x.SetData(p, d, v)
					return agree(err, m.set(p, d, v))
				}
			},
			"setACL": func() op {
				p := path.Draw(r, "path")
				return func(x *znode.Tx, m *model) error {
					_, err := x.SetACL(p, zkproto.WorldAnyone(), -1)
					n := m.nodes[p]
					if n == nil {
						return agree(err, zkproto.NoNode)
					}
					n.aversion++
					return agree(err, nil)
				}
			},
			"check": func() op {
				p, v := path.Draw(r, "path"), version.Draw(r, "version")
				return func(x *znode.Tx, m *model) error {
					var want error
					if n := m.nodes[p]; n == nil {
						want = zkproto.NoNode
					} else if v != -1 && v != n.version {
						want = zkproto.BadVersion
					}
					return agree(x.Check(p, v), want)
				}
			},
		}
		names := slices.Sorted(maps.Keys(ops))
		draw := func() op { return ops[rapid.SampledFrom(names).Draw(r, "op")]() }

		// run is one transaction on both sides.
		run := func(o znode.Origin, steps ...op) {
			m.zxid++
			staged := m.copied()
			var failed error
			result := update(t, tree, o, func(x *znode.Tx) error {
				for _, step := range steps {
					if failed = step(x, staged); failed != nil {
						return failed
					}
				}
				return nil
			})
			require.Equal(r, m.zxid, result.Zxid)
			require.Equal(r, failed, result.Err)
			require.Zero(r, result.Gate, "no store, no gate")
			if failed == nil {
				m = staged
				m.fire()
			}
		}

		r.Repeat(map[string]func(*rapid.T){
			"one":  func(*rapid.T) { run(client, draw()) },
			"more": func(*rapid.T) { run(client, draw()) },
			"multi": func(*rapid.T) {
				var steps []op
				for range rapid.IntRange(0, 5).Draw(r, "length") {
					steps = append(steps, draw())
				}
				run(client, steps...)
			},
			"close": func(*rapid.T) {
				id := session.Draw(r, "session")
				run(client, func(x *znode.Tx, m *model) error { x.CloseSession(id, nil); m.close(id); return nil })
			},
			"import": func(*rapid.T) {
				var steps []op
				for range rapid.IntRange(1, 4).Draw(r, "length") {
					p, d := path.Draw(r, "path"), data.Draw(r, "data")
					switch rapid.IntRange(0, 3).Draw(r, "what") {
					case 0:
						steps = append(steps, func(x *znode.Tx, m *model) error { x.Put(p, d); m.put(p, d); return nil })
					case 1:
						steps = append(steps, func(x *znode.Tx, m *model) error { x.Remove(p); m.remove(p); return nil })
					case 2:
						steps = append(steps, draw())
					case 3:
						other := path.Draw(r, "other")
						steps = append(steps, func(x *znode.Tx, m *model) error {
							x.Swap(p, other, d)
							if p != other {
								m.remove(p)
							}
							m.put(other, d)
							return nil
						})
					}
				}
				run(binding, steps...)
			},
			"watch": func(*rapid.T) {
				i, p, k := who.Draw(r, "who"), path.Draw(r, "path"), kind.Draw(r, "kind")
				watch(tree, conns[i], k, p)
				m.watch(expected[i], p, k)
			},
			"removeWatches": func(*rapid.T) {
				i, p, typ := who.Draw(r, "who"), path.Draw(r, "path"), zkproto.WatcherType(rapid.IntRange(1, 5).Draw(r, "type"))
				want := false
				for table, modes := range map[string][]string{
					"data":  {2: "standard", 3: "*", 4: "persistent", 5: "recursive"},
					"child": {1: "standard", 3: "*", 4: "persistent", 5: ""},
				} {
					at := map[string]modelTable{"data": m.data, "child": m.child}[table][p]
					for mode := range at[expected[i]] {
						if modes[typ] == "*" || modes[typ] == mode {
							want = true
							delete(at[expected[i]], mode)
						}
					}
					if len(at[expected[i]]) == 0 {
						delete(at, expected[i])
					}
				}
				tree.Arm(func(v *znode.View) {
					require.Equal(r, want, v.HasWatch(conns[i], p, typ))
					require.Equal(r, want, v.RemoveWatches(conns[i], p, typ))
					require.False(r, v.HasWatch(conns[i], p, typ))
				})
			},
			"forget": func(*rapid.T) {
				i := who.Draw(r, "who")
				tree.Forget(conns[i])
				for _, table := range []modelTable{m.data, m.child} {
					for _, at := range table {
						delete(at, expected[i])
					}
				}
			},
			"setWatches": func(*rapid.T) {
				i, relative := who.Draw(r, "who"), rapid.Int64Range(0, m.zxid).Draw(r, "relative")
				list := rapid.SliceOfN(path, 0, 3)
				l := znode.WatchLists{Data: list.Draw(r, "data"), Exist: list.Draw(r, "exist"), Child: list.Draw(r, "child"), Persistent: list.Draw(r, "persistent")}
				tree.Arm(func(v *znode.View) { v.SetWatches(conns[i], relative, l) })
				w := expected[i]
				tell := func(event, path string) { w.got = append(w.got, fmt.Sprintf("%s %s -1", event, path)) }
				for _, p := range l.Data {
					switch n := m.nodes[p]; {
					case n == nil:
						tell("deleted", p)
					case n.applied > relative:
						tell("data", p)
					default:
						m.watch(w, p, znode.WatchData)
					}
				}
				for _, p := range l.Exist {
					if m.nodes[p] != nil {
						tell("created", p)
					} else {
						m.watch(w, p, znode.WatchExist)
					}
				}
				for _, p := range l.Child {
					switch n := m.nodes[p]; {
					case n == nil:
						tell("deleted", p)
					case n.childrenApplied > relative:
						tell("children", p)
					default:
						m.watch(w, p, znode.WatchChild)
					}
				}
				for _, p := range l.Persistent {
					m.watch(w, p, znode.WatchPersistent)
				}
			},
			"": func(*rapid.T) {
				for i, c := range conns {
					got, want := c.take(), expected[i].take()
					slices.Sort(got) // the order among the ephemerals of a session is not specified; tables test the rest
					slices.Sort(want)
					require.Equal(r, want, got, "events of connection %d", i)
				}
				same(r, tree, m)
			},
		})
		require.Equal(r, dump(tree), dump(twin), "the transactions say all there is to say")
		for p := range m.nodes {
			require.Equal(r, tree.Spent(p), twin.Spent(p), "create counter of %s", p)
		}
	})
}

// same compares every node and every sum.
func same(r *rapid.T, tree *znode.Tree, m *model) {
	size, ephemerals, owners := int64(0), 0, make(map[int64][]string)
	tree.View(func(v *znode.View) {
		require.Equal(r, m.zxid, v.Zxid())
		require.ElementsMatch(r, slices.Collect(maps.Keys(m.nodes)), tree.Paths())
		for p, n := range m.nodes {
			names := m.childrenOf(p)
			want := zkproto.Stat{
				Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Version: n.version, Cversion: n.cversion, Aversion: n.aversion,
				EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: int32(len(names)),
			}
			if n.czxid > 0 {
				want.Ctime = at.UnixMilli()
			}
			if n.mzxid > 0 {
				want.Mtime = at.UnixMilli()
			}
			data, st, err := v.Data(p, nil)
			require.NoError(r, err)
			require.Equal(r, n.data, data, p)
			require.Equal(r, want, st, p)
			require.Equal(r, 2*n.creates-int32(len(names)), st.Cversion, "the wire's cversion of %s", p)
			listed, _, err := v.Children(p, nil)
			require.NoError(r, err)
			body, _, err := v.ChildrenBody(p, nil)
			require.NoError(r, err)
			require.Equal(r, zkproto.AppendStrings(nil, listed), body, p)
			slices.Sort(listed)
			require.Equal(r, names, append([]string(nil), listed...), p)
			below := 0
			for q := range m.nodes {
				if q != p && (p == "/" || strings.HasPrefix(q, p+"/")) {
					below++
				}
			}
			count, err := v.CountBelow(p, nil)
			require.NoError(r, err)
			require.EqualValues(r, below, count, p)
			size += int64(len(p) + len(n.data))
			if n.owner != 0 {
				ephemerals++
				owners[n.owner] = append(owners[n.owner], p)
			}
		}
		for _, id := range []int64{1, 2, bridge} {
			require.ElementsMatch(r, owners[id], v.Ephemerals(id, ""))
			require.Equal(r, len(owners[id]), v.Owned(id))
		}
	})
	s := tree.Stats()
	pairs, paths, conns := m.data.count()
	childPairs, _, _ := m.child.count()
	require.Equal(r, znode.Stats{
		Zxid: m.zxid, Durable: s.Durable, Nodes: len(m.nodes), Ephemerals: ephemerals, SessionsWithEphemeral: len(owners), DataSize: size,
		DataWatches: pairs, ChildWatches: childPairs, DataWatchPaths: paths, DataWatchers: conns,
	}, s)
}
