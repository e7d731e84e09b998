package znode_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

func TestEventsPerChange(t *testing.T) {
	ephemeral := func(x *znode.Tx) {
		x.CloseSession(9, nil)
	}
	for _, c := range []struct {
		name string
		kind znode.WatchKind
		at   []string
		do   func(*znode.Tx)
		want []string
	}{
		{"create, exists watch", znode.WatchExist, []string{"/p/new"}, makes("/p/new"), []string{"created /p/new"}},
		{"create, child watch", znode.WatchChild, []string{"/p", "/"}, makes("/p/new"), []string{"children /p"}},
		{"create, persistent: node before parent", znode.WatchPersistent, []string{"/p", "/p/new"}, makes("/p/new"), []string{"created /p/new", "children /p"}},
		{"create at the top: the parent is /", znode.WatchChild, []string{"/"}, makes("/new"), []string{"children /"}},
		{"create, recursive above: no children event", znode.WatchRecursive, []string{"/", "/p"}, makes("/p/new"), []string{"created /p/new"}},
		{"create, recursive on it", znode.WatchRecursive, []string{"/p/new"}, makes("/p/new"), []string{"created /p/new"}},
		{"create, data watch of the parent: nothing", znode.WatchData, []string{"/p"}, makes("/p/new"), nil},
		{"delete, data and child watch: once", znode.WatchPersistent, []string{"/p/n"}, deletes("/p/n"), []string{"deleted /p/n"}},
		{"delete, child watch only", znode.WatchChild, []string{"/p/n"}, deletes("/p/n"), []string{"deleted /p/n"}},
		{"delete, node before parent", znode.WatchPersistent, []string{"/p", "/p/n"}, deletes("/p/n"), []string{"deleted /p/n", "children /p"}},
		{"delete, recursive", znode.WatchRecursive, []string{"/p", "/p/n"}, deletes("/p/n"), []string{"deleted /p/n"}},
		{"setData", znode.WatchData, []string{"/p/n", "/p"}, sets("/p/n"), []string{"data /p/n"}},
		{"setData, exists watch", znode.WatchExist, []string{"/p/n"}, sets("/p/n"), []string{"data /p/n"}},
		{"setData, child watch: nothing", znode.WatchChild, []string{"/p/n", "/p"}, sets("/p/n"), nil},
		{"setData of the root, recursive", znode.WatchRecursive, []string{"/"}, sets("/"), []string{"data /"}},
		{"setACL: nothing", znode.WatchPersistent, []string{"/p/n", "/p"}, func(x *znode.Tx) { _, _ = x.SetACL("/p/n", zkproto.WorldAnyone(), -1) }, nil},
		{"session end", znode.WatchPersistent, []string{"/p", "/p/e1"}, ephemeral, []string{"deleted /p/e1", "children /p"}},
		{"created and deleted in one multi", znode.WatchRecursive, []string{"/"}, func(x *znode.Tx) { makes("/m")(x); deletes("/m")(x) }, []string{"created /m", "deleted /m"}},
		{"one-shot in a multi: the first", znode.WatchExist, []string{"/m"}, func(x *znode.Tx) { makes("/m")(x); sets("/m")(x); deletes("/m")(x) }, []string{"created /m"}},
		{"exactly that path", znode.WatchPersistent, []string{"/p/n"}, makes("/p/nn"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := newTree(t, nil)
			create(t, tree, "/p", "", 0)
			create(t, tree, "/p/n", "", 0)
			create(t, tree, "/p/e1", "", 9)
			w := &conn{}
			watch(tree, w, c.kind, c.at...)
			r := must(t, tree, c.do)
			var want []string
			for _, e := range c.want {
				want = append(want, fmt.Sprintf("%s %d", e, r.Zxid))
			}
			require.Equal(t, want, w.take())
		})
	}
}

func makes(path string) func(*znode.Tx) {
	return func(x *znode.Tx) {
		if _, _, err := x.Create(znode.Create{Path: path, ACL: zkproto.WorldAnyone()}); err != nil {
			panic(err)
		}
	}
}

func deletes(path string) func(*znode.Tx) {
	return func(x *znode.Tx) {
		if err := x.Delete(path, -1); err != nil {
			panic(err)
		}
	}
}

func sets(path string) func(*znode.Tx) {
	return func(x *znode.Tx) {
		if _, err := x.SetData(path, []byte("new"), -1); err != nil {
			panic(err)
		}
	}
}

func TestOneShotIsSpent(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/n", "", 0)
	w := &conn{}
	watch(tree, w, znode.WatchData, "/n")
	watch(tree, w, znode.WatchExist, "/n") // the same table: still one
	watch(tree, w, znode.WatchChild, "/n")
	require.Equal(t, 1, tree.Stats().DataWatches)
	require.Equal(t, 1, tree.Stats().ChildWatches)
	setData(t, tree, "/n", "1")
	setData(t, tree, "/n", "2")
	require.Equal(t, []string{"data /n 2"}, w.take())
	create(t, tree, "/n/c", "", 0)
	create(t, tree, "/n/d", "", 0)
	require.Equal(t, []string{"children /n 4"}, w.take())
	require.Zero(t, tree.Stats().Watches())
}

func TestPersistentStaysOverDelete(t *testing.T) {
	tree := newTree(t, nil)
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/n")
	for range 2 {
		create(t, tree, "/n", "", 0)
		create(t, tree, "/n/c", "", 0)
		remove(t, tree, "/n/c")
		remove(t, tree, "/n")
	}
	require.Equal(t, []string{"created /n 1", "children /n 2", "children /n 3", "deleted /n 4", "created /n 5", "children /n 6", "children /n 7", "deleted /n 8"}, w.take())
}

// TestModesAreIndependent: since 3.9 a plain watch beside a persistent one
// neither replaces nor survives it.
func TestModesAreIndependent(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/n", "", 0)
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/n")
	watch(tree, w, znode.WatchData, "/n")
	watch(tree, w, znode.WatchRecursive, "/n", "/")
	has := func(typ zkproto.WatcherType) (ok bool) {
		tree.View(func(v *znode.View) { ok = v.HasWatch(w, "/n", typ) })
		return ok
	}
	all := func() (got []zkproto.WatcherType) {
		for typ := zkproto.WatcherType(0); typ < 7; typ++ {
			if has(typ) {
				got = append(got, typ)
			}
		}
		return got
	}
	require.Equal(t, []zkproto.WatcherType{2, 3, 4, 5}, all())
	setData(t, tree, "/n", "1")
	require.Equal(t, []string{"data /n 2"}, w.take(), "one notification, however many match")
	require.Equal(t, []zkproto.WatcherType{3, 4, 5}, all())

	removes := func(path string, typ zkproto.WatcherType) (ok bool) {
		tree.Arm(func(v *znode.View) { ok = v.RemoveWatches(w, path, typ) })
		return ok
	}
	require.False(t, removes("/n", zkproto.WatcherData))
	require.False(t, removes("/n", zkproto.WatcherChildren), "the persistent one is not a standard child watch")
	require.True(t, removes("/n", zkproto.WatcherPersistent))
	require.False(t, removes("/n", zkproto.WatcherPersistent))
	create(t, tree, "/n/c", "", 0)
	require.Equal(t, []string{"created /n/c 3"}, w.take(), "the recursive ones are left")
	require.False(t, removes("/n/c", zkproto.WatcherAny), "an ancestor's does not count")
	require.True(t, removes("/n", zkproto.WatcherAny))
	require.Empty(t, all())
	require.True(t, removes("/", zkproto.WatcherPersistentRecursive))
	require.Zero(t, tree.Stats().Watches())
	spots, _ := tree.Watching()
	require.Zero(t, spots)
}

func TestWriterHearsBeforeItsReply(t *testing.T) {
	tree := newTree(t, nil)
	w := &conn{}
	watch(tree, w, znode.WatchExist, "/n")
	tree.Update(client, func(x *znode.Tx) error { makes("/n")(x); require.Empty(t, w.got); return nil }, func(r znode.Result) {
		require.Equal(t, []string{"created /n 1"}, w.take())
	})
}

func TestClosingSessionHearsItsOwnEnd(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/a", "", 9)
	create(t, tree, "/b", "", 9)
	w := &conn{}
	watch(tree, w, znode.WatchExist, "/a", "/b")
	r := must(t, tree, func(x *znode.Tx) { x.CloseSession(9, nil) })
	require.ElementsMatch(t, []string{fmt.Sprintf("deleted /a %d", r.Zxid), fmt.Sprintf("deleted /b %d", r.Zxid)}, w.take())
}

func TestForget(t *testing.T) {
	tree := newTree(t, nil)
	w, other := &conn{}, &conn{}
	tree.Forget(w)
	paths := make([]string, 3500)
	for i := range paths {
		paths[i] = fmt.Sprintf("/p%d", i)
	}
	watch(tree, w, znode.WatchExist, paths...)
	watch(tree, w, znode.WatchPersistent, "/p1", "/x")
	watch(tree, w, znode.WatchRecursive, "/")
	watch(tree, other, znode.WatchExist, "/p1")
	tree.Forget(w)
	spots, holders := tree.Watching()
	require.Equal(t, []int{1, 1}, []int{spots, holders})
	s := tree.Stats()
	require.Equal(t, []int{1, 0, 1, 1}, []int{s.DataWatches, s.ChildWatches, s.DataWatchPaths, s.DataWatchers})
	create(t, tree, "/p1", "", 0)
	require.Empty(t, w.take())
	require.Equal(t, []string{"created /p1 1"}, other.take())
	tree.Forget(other)
	_, holders = tree.Watching()
	require.Zero(t, holders)
}

func TestEventsAreEncodedOnce(t *testing.T) {
	tree := newTree(t, nil)
	a, b := &conn{}, &conn{}
	watch(tree, a, znode.WatchExist, "/ä")
	watch(tree, b, znode.WatchPersistent, "/ä")
	create(t, tree, "/ä", "", 0)
	require.Same(t, a.last, b.last)
	frame, err := zkproto.ReadFrame(bytes.NewReader(a.last.Frame()), nil, 1000)
	require.NoError(t, err)
	header, body, err := zkproto.DecodeReply(frame)
	require.NoError(t, err)
	require.Equal(t, zkproto.ReplyHeader{Xid: -1, Zxid: 1}, header)
	var e zkproto.WatcherEvent
	require.NoError(t, e.Decode(body))
	require.Equal(t, zkproto.WatcherEvent{Type: zkproto.EventCreated, State: zkproto.StateSyncConnected, Path: "/ä"}, e)
}

// TestSetWatches is spec 4.4.
func TestSetWatches(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/old", "", 0)        // 1
	create(t, tree, "/data", "", 0)       // 2
	create(t, tree, "/children", "", 0)   // 3
	create(t, tree, "/children/x", "", 0) // 4
	setData(t, tree, "/data", "")         // 5
	remove(t, tree, "/children/x")        // 6
	all := []string{"/old", "/data", "/children", "/none", "/"}
	w := &conn{}
	tree.Arm(func(v *znode.View) {
		v.SetWatches(w, 4, znode.WatchLists{Data: all, Exist: all, Child: all, Persistent: all, Recursive: all})
	})
	require.Equal(t, []string{
		"data /data -1", "deleted /none -1",
		"created /old -1", "created /data -1", "created /children -1", "created / -1",
		"children /children -1", "deleted /none -1",
	}, w.take(), "list by list; / changed its children at 3, not after 4")
	has := func(path string, typ zkproto.WatcherType) (ok bool) {
		tree.View(func(v *znode.View) { ok = v.HasWatch(w, path, typ) })
		return ok
	}
	for path, want := range map[string][2]bool{ // data, child
		"/old": {true, true}, "/data": {false, true}, "/children": {true, false}, "/none": {true, false}, "/": {true, true},
	} {
		require.Equal(t, want, [2]bool{has(path, zkproto.WatcherData), has(path, zkproto.WatcherChildren)}, path)
		require.True(t, has(path, zkproto.WatcherPersistent))
		require.True(t, has(path, zkproto.WatcherPersistentRecursive))
	}
	tree.Arm(func(v *znode.View) { v.SetWatches(w, 5, znode.WatchLists{Data: []string{"/data"}}) })
	require.Empty(t, w.take(), "the comparison is strict")
}

// TestSetWatchesComparesLocalStamps is design rule 6: a node that arrives with
// an old Stat is still news.
//
// Pitfall P18: in doubt, setWatches fires.
func TestSetWatchesComparesLocalStamps(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/d", "", 0)
	for range 20 {
		setData(t, tree, "/d", "")
	}
	require.NoError(t, tree.Apply(znode.Txn{Zxid: 100, Origin: znode.Origin{Kind: znode.Binding}, Effects: []znode.Effect{
		{Kind: znode.EffectCreate, Path: "/d/old", ACL: zkproto.WorldAnyone(), Czxid: 7, Mzxid: 7, Pzxid: 7, Creates: 1},
		{Kind: znode.EffectData, Path: "/d", Mzxid: 8, Version: 50},
	}}))
	d := stat(t, tree, "/d")
	require.Equal(t, []int64{8, 7}, []int64{d.Mzxid, d.Pzxid})
	w := &conn{}
	tree.Arm(func(v *znode.View) {
		v.SetWatches(w, 50, znode.WatchLists{Data: []string{"/d", "/d/old"}, Child: []string{"/d"}})
	})
	require.Equal(t, []string{"data /d -1", "data /d/old -1", "children /d -1"}, w.take())
}

func TestWatchNeedsArm(t *testing.T) {
	tree := newTree(t, nil)
	tree.View(func(v *znode.View) {
		require.Panics(t, func() { v.Watch(&conn{}, "/", znode.WatchData) })
		require.Panics(t, func() { v.RemoveWatches(&conn{}, "/", zkproto.WatcherAny) })
		require.Panics(t, func() { v.SetWatches(&conn{}, 0, znode.WatchLists{}) })
	})
}

// TestEventsOfClosedNodes is spec 4.6: who may not read gets nothing, and a
// one-shot watch is spent all the same.
func TestEventsOfClosedNodes(t *testing.T) {
	tree := newTree(t, nil)
	a := &named{ids: []znode.Identity{digest("a:1")}}
	b := &named{ids: []znode.Identity{digest("b:2"), {Scheme: "ip", ID: "10.0.0.1"}}}
	super := &named{ids: []znode.Identity{{Scheme: "super", ID: ""}}}
	plain := &conn{}
	closed := append(acl(31, "digest", "a:1"), acl(zkproto.PermAll&^zkproto.PermRead, "world", "anyone")...)
	everyone := func(k znode.WatchKind, paths ...string) {
		for _, w := range []znode.Watcher{a, b, super, plain} {
			watch(tree, w, k, paths...)
		}
	}
	expect := func(want ...string) {
		t.Helper()
		require.Equal(t, want, a.take())
		require.Equal(t, want, super.take())
		require.Empty(t, b.take())
		require.Empty(t, plain.take())
	}
	everyone(znode.WatchExist, "/n")
	must(t, tree, func(x *znode.Tx) {
		_, _, err := x.Create(znode.Create{Path: "/n", ACL: closed})
		require.NoError(t, err)
	})
	expect("created /n 1")
	require.Zero(t, tree.Stats().DataWatches, "spent")

	everyone(znode.WatchExist, "/n")
	setData(t, tree, "/n", "")
	expect("data /n 2")

	everyone(znode.WatchChild, "/n")
	create(t, tree, "/n/open", "", 0)
	expect("children /n 3") // the parent's ACL decides
	everyone(znode.WatchExist, "/n/open")
	remove(t, tree, "/n/open")
	for _, w := range []*conn{&a.conn, &b.conn, &super.conn, plain} {
		require.Equal(t, []string{"deleted /n/open 4"}, w.take())
	}
	everyone(znode.WatchPersistent, "/n")
	remove(t, tree, "/n")
	expect("deleted /n 5")
}
