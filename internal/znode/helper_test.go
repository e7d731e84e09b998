package znode_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// bridge is the reserved owner in tests.
const bridge = int64(7) << 56

// at is the time of all tests.
var at = time.UnixMilli(1_700_000_000_123)

func newTree(t testing.TB, hook znode.Hook) *znode.Tree {
	t.Helper()
	tree, err := znode.New(znode.Config{Reserved: bridge, Now: func() time.Time { return at }, Hook: hook})
	require.NoError(t, err)
	return tree
}

// conn is a connection that writes down what it is told.
type conn struct {
	name string
	got  []string
	last *znode.Event
}

func (c *conn) Notify(e *znode.Event) {
	c.got = append(c.got, fmt.Sprintf("%s %s %d", short[e.Type], e.Path, e.Zxid))
	c.last = e
}

// take empties what was written down.
func (c *conn) take() []string {
	got := c.got
	c.got = nil
	return got
}

// named is a connection that says who it is.
type named struct {
	conn
	ids []znode.Identity
}

func (c *named) Identities() []znode.Identity { return c.ids }

var short = map[zkproto.EventType]string{
	zkproto.EventCreated: "created", zkproto.EventDeleted: "deleted", zkproto.EventDataChanged: "data", zkproto.EventChildrenChanged: "children",
}

// client is an operation of session 1 without identities.
var client = znode.Origin{Kind: znode.Operation, Session: 1}

// update runs fn and returns the result that was told to done.
func update(t testing.TB, tree *znode.Tree, o znode.Origin, fn func(*znode.Tx) error) znode.Result {
	t.Helper()
	var got *znode.Result
	tree.Update(o, fn, func(r znode.Result) { got = &r })
	require.NotNil(t, got, "done was not called")
	return *got
}

// must is update that may not fail.
func must(t testing.TB, tree *znode.Tree, fn func(*znode.Tx)) znode.Result {
	t.Helper()
	r := update(t, tree, client, func(x *znode.Tx) error { fn(x); return nil })
	require.NoError(t, r.Err)
	return r
}

// create makes a world-open node of the given kind; owner 0 is a persistent
// node.
func create(t testing.TB, tree *znode.Tree, path, data string, owner int64) znode.Result {
	t.Helper()
	c := znode.Create{Path: path, Data: []byte(data), ACL: zkproto.WorldAnyone()}
	if owner != 0 {
		c.Kind, c.Owner = znode.Ephemeral, owner
	}
	r := update(t, tree, client, func(x *znode.Tx) error { _, _, err := x.Create(c); return err })
	require.NoError(t, r.Err)
	return r
}

func remove(t testing.TB, tree *znode.Tree, path string) znode.Result {
	t.Helper()
	r := update(t, tree, client, func(x *znode.Tx) error { return x.Delete(path, -1) })
	require.NoError(t, r.Err)
	return r
}

func setData(t testing.TB, tree *znode.Tree, path, data string) znode.Result {
	t.Helper()
	r := update(t, tree, client, func(x *znode.Tx) error { _, err := x.SetData(path, []byte(data), -1); return err })
	require.NoError(t, r.Err)
	return r
}

func lookup(tree *znode.Tree, path string) (info znode.Info, ok bool) {
	tree.View(func(v *znode.View) { info, ok = v.Lookup(path) })
	return info, ok
}

func stat(t testing.TB, tree *znode.Tree, path string) zkproto.Stat {
	t.Helper()
	info, ok := lookup(tree, path)
	require.True(t, ok, "no node %s", path)
	return info.Stat
}

func children(t testing.TB, tree *znode.Tree, path string) []string {
	t.Helper()
	var names []string
	var err error
	tree.View(func(v *znode.View) { names, _, err = v.Children(path, nil) })
	require.NoError(t, err)
	slices.Sort(names)
	return names
}

func watch(tree *znode.Tree, w znode.Watcher, k znode.WatchKind, paths ...string) {
	tree.Arm(func(v *znode.View) {
		for _, path := range paths {
			v.Watch(w, path, k)
		}
	})
}
