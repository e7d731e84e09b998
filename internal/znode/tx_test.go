package znode_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

func digest(id string) znode.Identity { return znode.Identity{Scheme: "digest", ID: id} }

func acl(perms int32, scheme, id string) []zkproto.ACL {
	return []zkproto.ACL{{Perms: perms, Scheme: scheme, ID: id}}
}

// checkTree has one node for every refusal:
//
//	/open            version 1
//	/open/child
//	/closed          only digest a:1 may do anything, has /closed/child
//	/ephemeral       session 1
func checkTree(t *testing.T) *znode.Tree {
	tree := newTree(t, nil)
	create(t, tree, "/open", "x", 0)
	create(t, tree, "/open/child", "", 0)
	setData(t, tree, "/open", "y")
	create(t, tree, "/closed", "", 0)
	create(t, tree, "/closed/child", "", 0)
	create(t, tree, "/ephemeral", "", 1)
	must(t, tree, func(x *znode.Tx) {
		_, err := x.SetACL("/closed", acl(zkproto.PermAll, "digest", "a:1"), 0)
		require.NoError(t, err)
		_, err = x.SetACL("/closed/child", acl(zkproto.PermAll, "digest", "a:1"), 0)
		require.NoError(t, err)
	})
	return tree
}

// TestCheckOrder is spec 2.4: the first check that fails gives the code, so
// each row is wrong in every later respect too where that is possible.
func TestCheckOrder(t *testing.T) {
	bad := acl(31, "nonsense", "x")
	open := zkproto.WorldAnyone()
	creates := func(path string, list []zkproto.ACL, sequential bool) func(*znode.Tx) error {
		return func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{Path: path, ACL: list, Sequential: sequential})
			return err
		}
	}
	deletes := func(path string, version int32) func(*znode.Tx) error {
		return func(x *znode.Tx) error { return x.Delete(path, version) }
	}
	sets := func(path string, version int32) func(*znode.Tx) error {
		return func(x *znode.Tx) error { _, err := x.SetData(path, nil, version); return err }
	}
	setsACL := func(path string, list []zkproto.ACL, version int32) func(*znode.Tx) error {
		return func(x *znode.Tx) error { _, err := x.SetACL(path, list, version); return err }
	}
	checks := func(path string, version int32) func(*znode.Tx) error {
		return func(x *znode.Tx) error { return x.Check(path, version) }
	}
	for _, c := range []struct {
		name string
		op   func(*znode.Tx) error
		want zkproto.Code
	}{
		{"create: no slash, before ACL", creates("open", bad, false), zkproto.BadArguments},
		{"create: empty path", creates("", bad, false), zkproto.BadArguments},
		{"create: NUL, before ACL", creates("/open/\x00", bad, false), zkproto.BadArguments},
		{"create: ACL, before parent", creates("/none/x", bad, false), zkproto.InvalidACL},
		{"create: empty ACL, before parent", creates("/none/x", nil, false), zkproto.InvalidACL},
		{"create: parent missing, before the name", creates("/none/..", open, false), zkproto.NoNode},
		{"create: parent with a trailing slash", creates("/open//x", open, false), zkproto.NoNode},
		{"create: parent closed, before the name", creates("/closed/..", open, false), zkproto.NoAuth},
		{"create: name", creates("/open/..", open, false), zkproto.BadArguments},
		{"create: trailing slash", creates("/open/", open, false), zkproto.BadArguments},
		{"create: below an ephemeral, name first", creates("/ephemeral/.", open, false), zkproto.BadArguments},
		{"create: exists", creates("/open/child", open, false), zkproto.NodeExists},
		{"create: root", creates("/", open, false), zkproto.NodeExists},
		{"create: below an ephemeral", creates("/ephemeral/x", open, false), zkproto.NoChildrenForEphemerals},
		{"create: private use area", creates("/open/\ue000", open, false), zkproto.BadArguments},
		{"create: not UTF-8", creates("/open/\xff", open, false), zkproto.BadArguments},
		{"create: beyond 16 bits", creates("/open/\U0001F600", open, false), zkproto.BadArguments},

		{"delete: no slash", deletes("open", 9), zkproto.BadArguments},
		{"delete: NUL", deletes("/none/\x00", 9), zkproto.BadArguments},
		{"delete: root", deletes("/", 9), zkproto.BadArguments},
		{"delete: /zookeeper", deletes("/zookeeper", 9), zkproto.BadArguments},
		{"delete: quota", deletes("/zookeeper/quota", 9), zkproto.BadArguments},
		{"delete: config", deletes("/zookeeper/config", 9), zkproto.BadArguments},
		{"delete: parent missing", deletes("/none/x", 9), zkproto.NoNode},
		{"delete: parent closed, before the node", deletes("/closed/none", 9), zkproto.NoAuth},
		{"delete: missing", deletes("/open/none", 9), zkproto.NoNode},
		{"delete: trailing slash", deletes("/open/", 9), zkproto.NoNode},
		{"delete: version, before children", deletes("/open", 9), zkproto.BadVersion},
		{"delete: children", deletes("/open", 1), zkproto.NotEmpty},

		{"setData: path", sets("/none/", 9), zkproto.BadArguments},
		{"setData: the root's other name", sets("", -1), zkproto.BadArguments},
		{"setData: missing", sets("/none", 9), zkproto.NoNode},
		{"setData: closed, before version", sets("/closed", 9), zkproto.NoAuth},
		{"setData: version", sets("/open", 9), zkproto.BadVersion},

		{"setACL: path, before ACL", setsACL("/none/", bad, 9), zkproto.BadArguments},
		{"setACL: ACL, before existence", setsACL("/none", bad, 9), zkproto.InvalidACL},
		{"setACL: missing", setsACL("/none", open, 9), zkproto.NoNode},
		{"setACL: closed, before version", setsACL("/closed", open, 9), zkproto.NoAuth},
		{"setACL: version", setsACL("/open", open, 9), zkproto.BadVersion},
		{"setACL: it is the aversion that counts", setsACL("/open", open, 1), zkproto.BadVersion},

		{"check: path", checks("/none/", 9), zkproto.BadArguments},
		{"check: missing", checks("/none", 9), zkproto.NoNode},
		{"check: closed, before version", checks("/closed", 9), zkproto.NoAuth},
		{"check: version", checks("/open", 9), zkproto.BadVersion},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := checkTree(t)
			before, all := tree.Zxid(), fmt.Sprint(dump(tree))
			r := update(t, tree, client, c.op)
			require.Equal(t, c.want, r.Err)
			require.Equal(t, before+1, r.Zxid, "a failed write spends one zxid")
			require.Equal(t, r.Zxid, tree.Zxid())
			require.Equal(t, all, fmt.Sprint(dump(tree)), "a failed write changes nothing")
		})
	}
}

// dump is every node with its Stat.
func dump(tree *znode.Tree) map[string]znode.Info {
	all := make(map[string]znode.Info)
	tree.View(func(v *znode.View) {
		for _, p := range tree.Paths() {
			all[p], _ = v.Lookup(p)
		}
	})
	return all
}

func TestLegalNames(t *testing.T) {
	tree := newTree(t, nil)
	for _, name := range []string{"...", ".a", "a b", "a:b*c\\d", "\u00a0", "\ufeef", "%2F", "ÿ", "\uf900", strings.Repeat("n", 5000)} {
		create(t, tree, "/"+name, "", 0)
		require.Contains(t, children(t, tree, "/"), name)
	}
	create(t, tree, "/zookeeper/x", "", 0)
	require.Equal(t, []string{"config", "quota", "x"}, children(t, tree, "/zookeeper"))
}

// Pitfall P12: /zookeeper/config is there and empty, so nobody is sent to another server.
func TestFreshServer(t *testing.T) {
	tree := newTree(t, nil)
	require.Zero(t, tree.Zxid())
	for path, want := range map[string]zkproto.Stat{
		"/":                 {Cversion: -1, NumChildren: 1},
		"/zookeeper":        {Cversion: -2, NumChildren: 2},
		"/zookeeper/quota":  {},
		"/zookeeper/config": {Aversion: -1},
	} {
		info, ok := lookup(tree, path)
		require.True(t, ok)
		require.Equal(t, want, info.Stat, path)
		require.NotNil(t, info.Data, "empty, not null")
	}
	s := tree.Stats()
	require.Equal(t, 4, s.Nodes)
	require.EqualValues(t, 44, s.DataSize, "approximate_data_size of a fresh server")
	tree.View(func(v *znode.View) {
		n, err := v.CountBelow("/", nil)
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		list, _, err := v.ACL("/zookeeper/config", nil)
		require.NoError(t, err)
		require.Equal(t, acl(zkproto.PermRead, "world", "anyone"), list)
	})
	r := setData(t, tree, "/", "root data")
	require.EqualValues(t, 1, r.Zxid, "the first write has zxid 1")
	require.Equal(t, zkproto.Stat{Cversion: -1, NumChildren: 1, Version: 1, Mzxid: 1, Mtime: at.UnixMilli(), DataLength: 9}, stat(t, tree, "/"))
	require.Equal(t, zkproto.NoAuth, update(t, tree, client, func(x *znode.Tx) error {
		_, err := x.SetData("/zookeeper/config", nil, -1)
		return err
	}).Err)
}

func TestStat(t *testing.T) {
	tree := newTree(t, nil)
	now := at.UnixMilli()
	var fresh zkproto.Stat
	must(t, tree, func(x *znode.Tx) {
		_, st, err := x.Create(znode.Create{Path: "/p", Data: []byte("abc"), ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
		fresh = st
	})
	require.Equal(t, zkproto.Stat{Czxid: 1, Mzxid: 1, Pzxid: 1, Ctime: now, Mtime: now, DataLength: 3}, fresh)
	require.Equal(t, int32(1), stat(t, tree, "/").Cversion-stat(t, newTree(t, nil), "/").Cversion)

	create(t, tree, "/p/e", "", 42)
	require.Equal(t, int64(42), stat(t, tree, "/p/e").EphemeralOwner)
	create(t, tree, "/p/f", "", 0)
	remove(t, tree, "/p/e")
	p := stat(t, tree, "/p")
	require.Equal(t, int32(3), p.Cversion, "two creates and a delete")
	require.Equal(t, int32(1), p.NumChildren)
	require.Equal(t, int64(4), p.Pzxid, "a delete counts")
	require.Equal(t, int64(1), p.Mzxid)
	require.Zero(t, p.Version)

	setData(t, tree, "/p", "")
	p = stat(t, tree, "/p")
	require.Equal(t, int64(5), p.Mzxid)
	require.Equal(t, int32(1), p.Version)
	require.Zero(t, p.DataLength)

	must(t, tree, func(x *znode.Tx) {
		st, err := x.SetACL("/p", acl(31, "world", "anyone"), 0)
		require.NoError(t, err)
		require.Equal(t, int32(1), st.Aversion)
		require.Equal(t, int64(5), st.Mzxid, "setACL does not touch mzxid")
	})
	must(t, tree, func(x *znode.Tx) {
		_, st, err := x.Create(znode.Create{Path: "/c", Kind: znode.Container, Owner: 42, ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
		require.Zero(t, st.EphemeralOwner, "a container shows no owner")
	})
}

func TestVersionsWrap(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/n", "", 0)
	tree.SetVersions("/n", math.MaxInt32)
	setData(t, tree, "/n", "")
	must(t, tree, func(x *znode.Tx) {
		st, err := x.SetACL("/n", zkproto.WorldAnyone(), math.MaxInt32)
		require.NoError(t, err)
		require.Equal(t, int32(math.MinInt32), st.Aversion)
		require.Equal(t, int32(math.MinInt32), st.Version)
	})
}

func TestNullAndEmptyData(t *testing.T) {
	tree := newTree(t, nil)
	must(t, tree, func(x *znode.Tx) {
		for path, data := range map[string][]byte{"/null": nil, "/empty": {}} {
			_, _, err := x.Create(znode.Create{Path: path, Data: data, ACL: zkproto.WorldAnyone()})
			require.NoError(t, err)
		}
	})
	tree.View(func(v *znode.View) {
		data, _, err := v.Data("/null", nil)
		require.NoError(t, err)
		require.Nil(t, data)
		data, _, err = v.Data("/empty", nil)
		require.NoError(t, err)
		require.NotNil(t, data)
		require.Empty(t, data)
	})
}

func TestReadsDoNotValidate(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/a", "x", 0)
	tree.View(func(v *znode.View) {
		for _, path := range []string{"/a/", "//a", "a", "/a//b", "/\x01"} {
			_, _, err := v.Data(path, nil)
			require.Equal(t, zkproto.NoNode, err, path)
			_, _, err = v.ChildrenBody(path, nil)
			require.Equal(t, zkproto.NoNode, err, path)
			_, err = v.Exists(path, nil)
			require.Equal(t, zkproto.NoNode, err, path)
		}
		_, err := v.Exists("/a\x00", nil)
		require.Equal(t, zkproto.BadArguments, err)
		st, err := v.Exists("", nil)
		require.NoError(t, err, "the empty path is the root")
		require.Equal(t, int32(2), st.NumChildren)
		names, _, err := v.Children("", nil)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a", "zookeeper"}, names)
		n, err := v.CountBelow("", nil)
		require.NoError(t, err)
		require.EqualValues(t, 5, n)
	})
}

func TestSequence(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/p", "", 0)
	seq := func(path string, kind znode.Kind) (got string) {
		t.Helper()
		r := update(t, tree, client, func(x *znode.Tx) (err error) {
			got, _, err = x.Create(znode.Create{Path: path, Kind: kind, Owner: 1, Sequential: true, ACL: zkproto.WorldAnyone()})
			return err
		})
		require.NoError(t, r.Err)
		return got
	}
	create(t, tree, "/p/x", "", 0)
	require.Equal(t, "/p/0000000001", seq("/p/", znode.Persistent), "plain creates count, the prefix may be empty")
	require.Equal(t, "/p/.0000000002", seq("/p/.", znode.Ephemeral))
	remove(t, tree, "/p/.0000000002")
	require.Equal(t, "/p/..0000000003", seq("/p/..", znode.Persistent), "deletes do not count")
	require.Equal(t, "/p/q-0000000004", seq("/p/q-", znode.Persistent), "one counter for all prefixes")
	require.Equal(t, zkproto.NodeExists, update(t, tree, client, func(x *znode.Tx) error {
		_, _, err := x.Create(znode.Create{Path: "/p/x", ACL: zkproto.WorldAnyone()})
		return err
	}).Err)
	require.Equal(t, "/p/q-0000000005", seq("/p/q-", znode.Persistent), "failures do not count")

	create(t, tree, "/p/q-0000000007", "", 0)
	require.Equal(t, zkproto.NodeExists, update(t, tree, client, func(x *znode.Tx) error {
		_, _, err := x.Create(znode.Create{Path: "/p/q-", Sequential: true, ACL: zkproto.WorldAnyone()})
		return err
	}).Err, "a collision is not tried again")
	require.Equal(t, "/0000000001", seq("/", znode.Persistent), "the root may be the parent")

	boom := errors.New("boom")
	require.ErrorIs(t, update(t, tree, client, func(x *znode.Tx) error {
		_, _, err := x.Create(znode.Create{Path: "/p/r-", Sequential: true, ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
		path, _, err := x.Create(znode.Create{Path: "/p/r-", Sequential: true, ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
		require.Equal(t, "/p/r-0000000008", path)
		return boom
	}).Err, boom)
	require.Equal(t, "/p/r-0000000007", seq("/p/r-", znode.Persistent), "a failed multi gives its numbers back")

	tree.SetSpent("/p", math.MaxInt32)
	require.Equal(t, "/p/s-2147483647", seq("/p/s-", znode.Persistent))
	require.Equal(t, "/p/t-2147483647", seq("/p/t-", znode.Persistent), "the counter sticks at its end")
	tree.SetSpent("/p", -5)
	require.Equal(t, "/p/u-000000005", seq("/p/u", znode.Persistent), "the sign takes a place")
	tree.SetSpent("/p", math.MinInt32)
	require.Equal(t, "/p/v-2147483648", seq("/p/v", znode.Persistent))
}

func TestMultiSeesItself(t *testing.T) {
	tree := newTree(t, nil)
	r := must(t, tree, func(x *znode.Tx) {
		for _, path := range []string{"/a", "/a/b", "/a/b/c"} {
			_, _, err := x.Create(znode.Create{Path: path, ACL: zkproto.WorldAnyone()})
			require.NoError(t, err)
		}
		_, err := x.SetData("/a", []byte("1"), 0)
		require.NoError(t, err)
		require.NoError(t, x.Check("/a", 1))
		require.Equal(t, zkproto.NotEmpty, x.Delete("/a/b", 0))
		require.NoError(t, x.Delete("/a/b/c", 0))
	})
	require.EqualValues(t, 1, r.Zxid)
	require.Equal(t, []string{"b"}, children(t, tree, "/a"))
	require.Equal(t, int64(1), stat(t, tree, "/a/b").Pzxid)
	require.Equal(t, int32(2), stat(t, tree, "/a/b").Cversion)
}

func TestFailedMultiLeavesNothing(t *testing.T) {
	tree := checkTree(t)
	c := &conn{}
	watch(tree, c, znode.WatchRecursive, "/")
	watch(tree, c, znode.WatchPersistent, "/", "/open", "/ephemeral", "/new")
	before, sums := dump(tree), tree.Stats()
	order := fmt.Sprint(before)
	r := update(t, tree, client, func(x *znode.Tx) error {
		_, _, err := x.Create(znode.Create{Path: "/new", Kind: znode.Ephemeral, Owner: 5, Data: []byte("data"), ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
		_, err = x.SetData("/open", []byte("longer than it was"), -1)
		require.NoError(t, err)
		require.NoError(t, x.Delete("/ephemeral", -1))
		_, _, err = x.Create(znode.Create{Path: "/ephemeral", ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
		require.NoError(t, x.Delete("/open/child", -1))
		_, err = x.SetACL("/open", acl(31, "ip", "10.0.0.1"), -1)
		require.NoError(t, err)
		x.Put("/services/a/b", []byte("1"))
		x.CloseSession(1, nil)
		return x.Check("/zookeeper", 77)
	})
	require.Equal(t, zkproto.BadVersion, r.Err)
	require.Empty(t, c.take(), "no watch fires")
	require.Equal(t, order, fmt.Sprint(dump(tree)))
	after := tree.Stats()
	require.Equal(t, sums.Zxid+1, after.Zxid)
	after.Zxid = sums.Zxid
	require.Equal(t, sums, after)
	tree.View(func(v *znode.View) {
		require.Equal(t, []string{"/ephemeral"}, v.Ephemerals(1, ""))
		require.Empty(t, v.Ephemerals(5, ""))
	})
}

func TestPanicUndoesAndUnlocks(t *testing.T) {
	tree := newTree(t, nil)
	require.PanicsWithValue(t, "mine", func() {
		tree.Update(client, func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{Path: "/a", ACL: zkproto.WorldAnyone()})
			require.NoError(t, err)
			panic("mine")
		}, nil)
	})
	_, ok := lookup(tree, "/a")
	require.False(t, ok)
	require.EqualValues(t, 2, create(t, tree, "/a", "", 0).Zxid)
}

func TestConsecutiveZxids(t *testing.T) {
	tree := newTree(t, nil)
	for want := int64(1); want < 20; want += 4 {
		require.Equal(t, want, create(t, tree, fmt.Sprintf("/n%d", want), "", 3).Zxid)
		require.Equal(t, want+1, update(t, tree, client, func(x *znode.Tx) error { return x.Delete("/none", -1) }).Zxid)
		require.Equal(t, want+2, must(t, tree, func(x *znode.Tx) { x.OpenSession(znode.Session{ID: 9}) }).Zxid)
		tree.View(func(v *znode.View) { require.Equal(t, want+2, v.Zxid(), "reads take none") })
		require.Equal(t, want+3, must(t, tree, func(x *znode.Tx) { x.CloseSession(3, nil) }).Zxid)
	}
}

func TestCloseSessionTakesWhatItStillOwns(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/a", "", 1)
	create(t, tree, "/b", "", 1)
	create(t, tree, "/c", "", 1)
	create(t, tree, "/other", "", 2)
	// Field reports 2 and 3: the name changed hands before the old owner ended.
	remove(t, tree, "/b")
	create(t, tree, "/b", "new", 2)
	owner2 := stat(t, tree, "/b")

	r := must(t, tree, func(x *znode.Tx) { require.Equal(t, 2, x.CloseSession(1, nil)) })
	require.Equal(t, []string{"b", "other", "zookeeper"}, children(t, tree, "/"))
	require.Equal(t, owner2, stat(t, tree, "/b"))
	require.Equal(t, r.Zxid, stat(t, tree, "/").Pzxid)
	require.Equal(t, int32(2*5-3), stat(t, tree, "/").Cversion, "five creates, three children")
	must(t, tree, func(x *znode.Tx) { require.Zero(t, x.CloseSession(1, nil), "twice does no harm") })
	require.Equal(t, 1, tree.Stats().SessionsWithEphemeral)
}

// TestReduceSession is design rule 4: large sessions end in several
// transactions, and a name can be taken over in between.
func TestReduceSession(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/d", "", 0)
	for i := range 10 {
		create(t, tree, fmt.Sprintf("/d/n%d", i), "", 1)
	}
	c := &conn{}
	must(t, tree, func(x *znode.Tx) { require.Equal(t, 6, x.ReduceSession(1, 4, nil)) })
	require.Len(t, children(t, tree, "/d"), 6)
	watch(tree, c, znode.WatchData, "/d/n0")
	watch(tree, c, znode.WatchChild, "/d")
	r := create(t, tree, "/d/n0", "", 2)
	require.Equal(t, []string{fmt.Sprintf("deleted /d/n0 %d", r.Zxid), fmt.Sprintf("children /d %d", r.Zxid)}, c.take())
	require.Equal(t, int64(2), stat(t, tree, "/d/n0").EphemeralOwner)
	require.Equal(t, r.Zxid, stat(t, tree, "/d/n0").Czxid)
	must(t, tree, func(x *znode.Tx) { require.Equal(t, 5, x.CloseSession(1, nil)) })
	require.Equal(t, []string{"n0"}, children(t, tree, "/d"))
	require.Equal(t, zkproto.NodeExists, update(t, tree, client, func(x *znode.Tx) error {
		_, _, err := x.Create(znode.Create{Path: "/d/n0", Kind: znode.Ephemeral, Owner: 1, ACL: zkproto.WorldAnyone()})
		return err
	}).Err)
}

func TestEphemeralsByPrefix(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/foo", "", 1)
	create(t, tree, "/foobar", "", 1)
	create(t, tree, "/bar", "", 1)
	create(t, tree, "/food", "", 2)
	tree.View(func(v *znode.View) {
		require.ElementsMatch(t, []string{"/foo", "/foobar"}, v.Ephemerals(1, "/foo"), "a plain prefix, no slash needed")
		for _, all := range []string{"", "/", "  "} {
			require.Len(t, v.Ephemerals(1, all), 3)
		}
		require.Empty(t, v.Ephemerals(3, ""))
		require.NotNil(t, v.Ephemerals(3, ""))
	})
}

func TestSmallThings(t *testing.T) {
	tree := newTree(t, nil)
	o := znode.Origin{Kind: znode.SessionEnd, Session: 7, Why: "expired"}
	require.NoError(t, update(t, tree, o, func(x *znode.Tx) error {
		require.Equal(t, o, x.Origin())
		require.Equal(t, at.UnixMilli(), x.Time())
		return nil
	}).Err)
	create(t, tree, "/e", "", 7)
	tree.View(func(v *znode.View) {
		require.EqualValues(t, 7, v.Owner("/e"))
		require.Zero(t, v.Owner("/"))
		require.Zero(t, v.Owner("/none"))
		require.Zero(t, v.Gate())
	})
	called := false
	tree.WhenDurable(99, func() { called = true })
	require.True(t, called, "in memory nothing waits")
	require.EqualValues(t, math.MaxInt64, tree.Durable())
	require.Equal(t, "persistent ephemeral container", fmt.Sprint(znode.Persistent, " ", znode.Ephemeral, " ", znode.Container))
}

// TestLargeDirectoryShrinks: a directory that was large gives its room back and
// loses nobody on the way.
func TestLargeDirectoryShrinks(t *testing.T) {
	tree := newTree(t, nil)
	create(t, tree, "/d", "", 0)
	for i := range 1000 {
		create(t, tree, fmt.Sprintf("/d/%d", i), "", int64(i%3+1))
	}
	for id := range int64(2) {
		must(t, tree, func(x *znode.Tx) { x.CloseSession(id+1, nil) })
	}
	names := children(t, tree, "/d")
	require.Len(t, names, 333)
	for i := range 332 {
		remove(t, tree, fmt.Sprintf("/d/%d", 3*i+2))
	}
	require.Equal(t, []string{"998"}, children(t, tree, "/d"))
	require.Less(t, tree.Room("/d"), 65)
}
