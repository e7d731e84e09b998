package znode_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

var binding = znode.Origin{Kind: znode.Binding, Why: "test"}

func imports(t testing.TB, tree *znode.Tree, fn func(*znode.Tx)) znode.Result {
	t.Helper()
	r := update(t, tree, binding, func(x *znode.Tx) error { fn(x); return nil })
	require.NoError(t, r.Err)
	return r
}

// Pitfall P15: a child that a binding makes moves cversion and pzxid as any other.
func TestPut(t *testing.T) {
	tree := newTree(t, nil)
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/", "/dubbo", "/dubbo/I", "/dubbo/I/providers", "/dubbo/I/providers/a")
	imports(t, tree, func(x *znode.Tx) {
		x.Put("/dubbo/I/providers/a", []byte("10.0.0.1"))
		x.Put("/dubbo/I/providers/b", []byte("10.0.0.2"))
	})
	require.Equal(t, []string{
		"created /dubbo 1", "created /dubbo/I 1", "created /dubbo/I/providers 1", "created /dubbo/I/providers/a 1",
		"children / 1", "children /dubbo 1", "children /dubbo/I 1", "children /dubbo/I/providers 1",
	}, w.take(), "each directory once, at the end")
	a, ok := lookup(tree, "/dubbo/I/providers/a")
	require.True(t, ok)
	require.True(t, a.Imported)
	require.Equal(t, bridge, a.Stat.EphemeralOwner)
	require.Equal(t, "10.0.0.1", string(a.Data))
	dir, _ := lookup(tree, "/dubbo/I")
	require.Equal(t, znode.Persistent, dir.Kind)
	require.Equal(t, []byte{}, dir.Data)
	tree.View(func(v *znode.View) {
		list, _, err := v.ACL("/dubbo/I/providers/a", nil)
		require.NoError(t, err)
		require.Equal(t, zkproto.WorldAnyone(), list)
	})

	imports(t, tree, func(x *znode.Tx) { x.Put("/dubbo/I/providers/a", []byte("10.0.0.1")) })
	require.Empty(t, w.take(), "the same data is no change")
	require.Zero(t, stat(t, tree, "/dubbo/I/providers/a").Version)
	imports(t, tree, func(x *znode.Tx) { x.Put("/dubbo/I/providers/a", []byte("10.0.0.9")) })
	require.Equal(t, []string{"data /dubbo/I/providers/a 3"}, w.take())
	require.Equal(t, int32(1), stat(t, tree, "/dubbo/I/providers/a").Version)

	imports(t, tree, func(x *znode.Tx) {
		x.Remove("/dubbo/I/providers/a")
		x.Remove("/dubbo/I/providers/a")
		x.Remove("/dubbo/I")
	})
	require.Equal(t, []string{"deleted /dubbo/I/providers/a 4", "children /dubbo/I/providers 4"}, w.take())
	require.Equal(t, []string{"b"}, children(t, tree, "/dubbo/I/providers"))
}

func TestPutLeavesOthersAlone(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/mine", "session's", 1)
	create(t, tree, "/kept", "persistent", 0)
	before := fmt.Sprint(dump(tree))
	imports(t, tree, func(x *znode.Tx) {
		x.Put("/mine", []byte("x"))
		x.Put("/kept", []byte("x"))
		x.Put("/mine/below", []byte("x"))
		x.Put("/mine/far/below", []byte("x"))
		x.Put("/", []byte("x"))
		x.Put("/bad/", nil)
		x.Put("/bad/../x", nil)
		x.Put("", nil)
		x.Remove("/mine")
		x.Remove("/kept")
		x.Remove("/none")
		x.Remove("")
	})
	require.Equal(t, before, fmt.Sprint(dump(tree)))

	plain, err := znode.New(znode.Config{})
	require.NoError(t, err)
	require.Panics(t, func() { plain.Update(binding, func(x *znode.Tx) error { x.Put("/a", nil); return nil }, nil) })
}

func TestSwap(t *testing.T) {
	tree := newTree(t, nil)
	imports(t, tree, func(x *znode.Tx) { x.Put("/d/a", nil) })
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/d", "/d/a", "/d/b")
	imports(t, tree, func(x *znode.Tx) { x.Swap("/d/a", "/d/b", []byte("1")) })
	require.Equal(t, []string{"deleted /d/a 2", "created /d/b 2", "children /d 2"}, w.take())
	imports(t, tree, func(x *znode.Tx) { x.Swap("/d/b", "/d/b", []byte("2")) })
	require.Equal(t, []string{"data /d/b 3"}, w.take())
}

func TestAdopt(t *testing.T) {
	for _, c := range []struct {
		name string
		make znode.Create
		want []string
	}{
		{"other data", znode.Create{Data: []byte("new"), Kind: znode.Ephemeral, Owner: 5}, []string{"data /d/a 2"}},
		{"the same data", znode.Create{Data: []byte("old"), Kind: znode.Ephemeral, Owner: 5}, nil},
		{"persistent", znode.Create{Data: []byte("old")}, nil},
		{"null is other data", znode.Create{Kind: znode.Ephemeral, Owner: 5}, []string{"data /d/a 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := newTree(t, nil)
			imports(t, tree, func(x *znode.Tx) { x.Put("/d/a", []byte("old")) })
			dir := stat(t, tree, "/d")
			w := &named{ids: []znode.Identity{{Scheme: "ip", ID: "10.0.0.1"}}}
			watch(tree, w, znode.WatchPersistent, "/d", "/d/a")
			c.make.Path = "/d/a"
			c.make.ACL = acl(31, "ip", "10.0.0.1")
			boom := errors.New("boom")
			all := fmt.Sprint(dump(tree))
			adopt := func(err error) func(*znode.Tx) error {
				return func(x *znode.Tx) error {
					path, st, e := x.Create(c.make)
					require.NoError(t, e)
					require.Equal(t, "/d/a", path)
					require.Equal(t, zkproto.Stat{
						Czxid: x.Zxid(), Mzxid: x.Zxid(), Pzxid: x.Zxid(), Ctime: x.Time(), Mtime: x.Time(),
						EphemeralOwner: c.make.Owner, DataLength: int32(len(c.make.Data)),
					}, st)
					return err
				}
			}
			refused := newTree(t, nil)
			imports(t, refused, func(x *znode.Tx) { x.Put("/d/a", []byte("old")) })
			require.ErrorIs(t, update(t, refused, client, adopt(boom)).Err, boom)
			require.Equal(t, all, fmt.Sprint(dump(refused)))
			require.Equal(t, 1, refused.Stats().Ephemerals)

			require.NoError(t, update(t, tree, client, adopt(nil)).Err)
			require.Equal(t, c.want, w.take())
			require.Equal(t, dir, stat(t, tree, "/d"), "the directory is as it was")
			a, _ := lookup(tree, "/d/a")
			require.False(t, a.Imported)
			imports(t, tree, func(x *znode.Tx) { x.Remove("/d/a"); x.Put("/d/a", []byte("z")) })
			after, _ := lookup(tree, "/d/a")
			require.Equal(t, a, after, "the bridge has no say in it any more")
			tree.View(func(v *znode.View) {
				_, _, err := v.Data("/d/a", nil)
				require.Equal(t, zkproto.NoAuth, err)
				require.Zero(t, v.Owned(bridge))
			})
		})
	}
	t.Run("not by a sequential create", func(t *testing.T) {
		tree := newTree(t, nil)
		imports(t, tree, func(x *znode.Tx) { x.Put("/d/a0000000001", nil) })
		require.Equal(t, zkproto.NodeExists, update(t, tree, client, func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{Path: "/d/a", Sequential: true, ACL: zkproto.WorldAnyone()})
			return err
		}).Err)
	})
}

// hook writes down what it is shown and does what it is told to.
type hook struct {
	stage     func(*znode.Tx, []znode.Change)
	changes   []znode.Change
	committed []int64
}

func (h *hook) Stage(x *znode.Tx, changes []znode.Change) {
	h.changes = append(h.changes, changes...)
	if h.stage != nil {
		h.stage(x, changes)
	}
}

func (h *hook) Committed(zxid int64) { h.committed = append(h.committed, zxid) }

func (h *hook) take() []string {
	kinds := []string{"", "created", "deleted", "data", "acl", "adopted", "opened", "closed"}
	var got []string
	for _, c := range h.changes {
		s := fmt.Sprintf("%s %s %q owner %x czxid %d at %d", kinds[c.Kind], c.Path, c.Data, c.Owner, c.Czxid, c.Zxid)
		if c.Imported {
			s += " imported"
		}
		got = append(got, s)
	}
	h.changes = nil
	return got
}

func TestHookSeesChanges(t *testing.T) {
	h := &hook{}
	tree := newTree(t, h)
	must(t, tree, func(x *znode.Tx) { x.OpenSession(znode.Session{ID: 5}) })
	create(t, tree, "/a", "1", 5)
	setData(t, tree, "/a", "2")
	imports(t, tree, func(x *znode.Tx) { x.Put("/d/i", []byte("3")) })
	must(t, tree, func(x *znode.Tx) {
		_, err := x.SetACL("/a", zkproto.WorldAnyone(), -1)
		require.NoError(t, err)
		_, _, err = x.Create(znode.Create{Path: "/d/i", Data: []byte("4"), Kind: znode.Ephemeral, Owner: 5, ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
	})
	imports(t, tree, func(x *znode.Tx) { x.Put("/d/j", nil) })
	remove(t, tree, "/d/j")
	must(t, tree, func(x *znode.Tx) { x.CloseSession(5, nil) })
	require.Equal(t, []string{
		`opened  "" owner 5 czxid 0 at 1`,
		`created /a "1" owner 5 czxid 2 at 2`,
		`data /a "2" owner 5 czxid 2 at 3`,
		`created /d "" owner 0 czxid 4 at 4`,
		`created /d/i "3" owner 700000000000000 czxid 4 at 4 imported`,
		`acl /a "2" owner 5 czxid 2 at 5`,
		`adopted /d/i "4" owner 5 czxid 5 at 5`,
		`created /d/j "" owner 700000000000000 czxid 6 at 6 imported`,
		`deleted /d/j "" owner 700000000000000 czxid 6 at 7 imported`,
		`deleted /d/i "4" owner 5 czxid 5 at 8`,
		`deleted /a "2" owner 5 czxid 2 at 8`,
		`closed  "" owner 5 czxid 0 at 8`,
	}, h.take())
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8}, h.committed)

	require.Error(t, update(t, tree, client, func(x *znode.Tx) error { return x.Delete("/none", -1) }).Err)
	must(t, tree, func(x *znode.Tx) { require.NoError(t, x.Check("/d", -1)) })
	require.Empty(t, h.take(), "a failure and a mere check are no changes")
	require.Len(t, h.committed, 8)
}

// TestHookKeepsAnAddress: a provider goes, and the registry's claim of the same
// address takes its place in the same transaction.
func TestHookKeepsAnAddress(t *testing.T) {
	h := &hook{}
	h.stage = func(x *znode.Tx, changes []znode.Change) {
		for _, c := range changes {
			if c.Kind == znode.Deleted && !c.Imported {
				_, there := x.View().Lookup(c.Path)
				require.False(t, there, "the hook sees what is staged")
				x.Put("/d/native", c.Data)
				x.Put("/e/f", nil)
			}
		}
	}
	tree := newTree(t, h)
	create(t, tree, "/d", "", 0)
	create(t, tree, "/d/a", "1", 5)
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/", "/d", "/d/a", "/d/native", "/e")
	h.take()
	r := remove(t, tree, "/d/a")
	require.Equal(t, []string{
		"deleted /d/a 3", "children /d 3", "created /d/native 3", "created /e 3", "children / 3", "children /e 3",
	}, w.take(), "the operation told of /d already; the hook's own come last, once each")
	require.Equal(t, []string{"native"}, children(t, tree, "/d"))
	require.Len(t, h.take(), 1, "what the hook does is not shown to it")
	require.Equal(t, r.Zxid, stat(t, tree, "/d/native").Czxid, "one transaction")
}

func TestHookPanicUndoes(t *testing.T) {
	h := &hook{stage: func(x *znode.Tx, _ []znode.Change) { x.Put("/i", nil); panic("hook") }}
	tree := newTree(t, h)
	require.PanicsWithValue(t, "hook", func() { create(t, tree, "/a", "", 0) })
	require.Equal(t, []string{"zookeeper"}, children(t, tree, "/"))
	require.Empty(t, h.committed)
}

// TestCommittedComesLast: the reply is queued when claims hear that it stands.
func TestCommittedComesLast(t *testing.T) {
	h := &hook{}
	tree := newTree(t, h)
	tree.Update(client, func(x *znode.Tx) error { makes("/a")(x); return nil }, func(znode.Result) { require.Empty(t, h.committed) })
	require.Equal(t, []int64{1}, h.committed)
}

func TestApply(t *testing.T) {
	h := &hook{}
	tree := newTree(t, h)
	w := &conn{}
	watch(tree, w, znode.WatchRecursive, "/")
	foreign := znode.Origin{Kind: znode.Binding}
	require.NoError(t, tree.Apply(znode.Txn{Zxid: 50, Time: 7, Origin: foreign, Effects: []znode.Effect{
		{Kind: znode.EffectCreate, Path: "/a", ACL: zkproto.WorldAnyone(), Czxid: 40, Mzxid: 40, Ctime: 6, Mtime: 6, Pzxid: 40, Creates: 9},
		{Kind: znode.EffectACL, Path: "/a", ACL: acl(1, "world", "anyone"), Aversion: 3},
	}}))
	require.Equal(t, []string{"created /a 50"}, w.take())
	require.Equal(t, zkproto.Stat{Czxid: 40, Mzxid: 40, Pzxid: 40, Ctime: 6, Mtime: 6, Aversion: 3}, stat(t, tree, "/a"))
	require.Len(t, h.take(), 2)
	require.EqualValues(t, 51, remove(t, tree, "/a").Zxid, "the clock moved")
	w.take()
	h.take()

	before := fmt.Sprint(dump(tree))
	require.ErrorContains(t, tree.Apply(znode.Txn{Zxid: 51, Origin: foreign}), "clock")
	for _, e := range []znode.Effect{
		{Kind: znode.EffectCreate, Path: "/none/x"},
		{Kind: znode.EffectCreate, Path: "/zookeeper"},
		{Kind: znode.EffectCreate, Path: "/x/"},
		{Kind: znode.EffectDelete, Path: "/none"},
		{Kind: znode.EffectDelete, Path: "/zookeeper"},
		{Kind: znode.EffectDelete, Path: "/zookeeper/quota"},
		{Kind: znode.EffectData, Path: "/none"},
		{Kind: znode.EffectACL, Path: "/none"},
		{Kind: znode.EffectAdopt, Path: "/zookeeper"},
		{Kind: znode.EffectNode, Path: "/none/x"},
		{Kind: znode.EffectNode, Path: "x"},
		{Kind: 99, Path: "/"},
	} {
		good := znode.Effect{Kind: znode.EffectCreate, Path: "/good"}
		require.ErrorContains(t, tree.Apply(znode.Txn{Zxid: tree.Zxid() + 1, Origin: foreign, Effects: []znode.Effect{good, e}}), "does not fit", e)
	}
	require.Equal(t, before, fmt.Sprint(dump(tree)), "all or nothing")
	require.Empty(t, w.take())
	require.Empty(t, h.take())
}
