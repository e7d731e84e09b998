package znode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// TestTakeOver: an ephemeral of a session that has lost it changes hands in one
// transaction, with no event but that of other data; everybody else is told
// NodeExists, as ever.
func TestTakeOver(t *testing.T) {
	type handover struct {
		path     string
		from, to int64
	}
	var told []handover
	var asked []string
	lost := map[int64]bool{5: true}
	h := &hook{}
	d := newDisk()
	store := boot(t, d, "one")
	tree, err := znode.New(znode.Config{
		Reserved: bridge, Now: func() time.Time { return at }, Hook: h, Store: store,
		Abandoned: func(path string, owner int64) bool { asked = append(asked, path); return lost[owner] },
		TakenOver: func(path string, from, to int64) { told = append(told, handover{path, from, to}) },
	})
	require.NoError(t, err)
	openSession(t, tree, 5, 7*time.Second)
	openSession(t, tree, 6, 8*time.Second)
	create(t, tree, "/d", "", 0)
	for _, name := range []string{"/d/a", "/d/b", "/d/c"} {
		create(t, tree, name, "data", 5)
	}
	create(t, tree, "/d/six", "data", 6)
	imports(t, tree, func(x *znode.Tx) { x.Put("/d/imported", nil) })
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/d", "/d/a", "/d/b")
	before := stat(t, tree, "/d")

	as := func(session int64, c znode.Create) (znode.Result, zkproto.Stat) {
		var st zkproto.Stat
		c.ACL, c.Owner = zkproto.WorldAnyone(), session
		r := update(t, tree, znode.Origin{Kind: znode.Operation, Session: session}, func(x *znode.Tx) (err error) {
			_, st, err = x.Create(c)
			return err
		})
		return r, st
	}
	ephemeral := func(path, data string) znode.Create {
		return znode.Create{Path: path, Data: []byte(data), Kind: znode.Ephemeral}
	}

	r, st := as(6, ephemeral("/d/a", "data"))
	require.NoError(t, r.Err)
	require.EqualValues(t, 6, st.EphemeralOwner)
	require.Equal(t, r.Zxid, st.Czxid)
	require.Empty(t, w.take(), "the list has not changed, and the data has not")
	require.Equal(t, before, stat(t, tree, "/d"))
	last := h.changes[len(h.changes)-1]
	require.Equal(t, znode.Adopted, last.Kind)
	require.EqualValues(t, 6, last.Owner)

	r, _ = as(6, ephemeral("/d/b", "other"))
	require.NoError(t, r.Err)
	require.Len(t, w.take(), 1, "the data has changed")
	require.Equal(t, []handover{{"/d/a", 5, 6}, {"/d/b", 5, 6}}, told)
	require.EqualValues(t, 2, tree.Stats().TakenOver)

	asked = nil
	for name, c := range map[string]znode.Create{
		"persistent": {Path: "/d/c", Kind: znode.Persistent},
		"alive":      ephemeral("/d/six", ""),
	} {
		session := int64(6)
		if name == "alive" {
			session = 5
		}
		r, _ = as(session, c)
		require.ErrorIs(t, r.Err, zkproto.NodeExists, name)
	}
	r, _ = as(5, ephemeral("/d/c", ""))
	require.ErrorIs(t, r.Err, zkproto.NodeExists, "its own")
	require.Equal(t, []string{"/d/six"}, asked)
	r, _ = as(6, ephemeral("/d/imported", ""))
	require.NoError(t, r.Err)
	require.Equal(t, []string{"/d/six"}, asked, "of imported nodes nobody is asked")

	// A multi that fails takes nothing.
	r = update(t, tree, znode.Origin{Kind: znode.Operation, Session: 6}, func(x *znode.Tx) error {
		c := ephemeral("/d/c", "")
		c.ACL, c.Owner = zkproto.WorldAnyone(), 6
		if _, _, err := x.Create(c); err != nil {
			return err
		}
		return x.Delete("/none", -1)
	})
	require.ErrorIs(t, r.Err, zkproto.NoNode)
	require.EqualValues(t, 5, stat(t, tree, "/d/c").EphemeralOwner)
	require.Len(t, told, 2)

	// What is left of the one that lost goes with it, and nothing else.
	sessions := []znode.Session{
		{ID: 5, Timeout: 7 * time.Second, Epoch: 1, Zxid: 1, Robbed: true},
		{ID: 6, Timeout: 8 * time.Second, Epoch: 1, Zxid: 2},
	}
	require.Equal(t, sessions, tree.Sessions())
	tree.RenewSession(5, time.Second)
	require.Equal(t, sessions, tree.Sessions(), "what was robbed is resumed by nobody")
	tree.EnsureWritten()
	loaded := treeOn(t, boot(t, later(d), "one"))
	for i := range sessions {
		sessions[i].Whole = true
	}
	require.Equal(t, sessions, loaded.Sessions(), "after a restart too")
	require.EqualValues(t, 6, stat(t, loaded, "/d/a").EphemeralOwner)
	require.Equal(t, 1, closeSession(t, loaded, 5))
	require.ElementsMatch(t, []string{"a", "b", "imported", "six"}, children(t, loaded, "/d"))
}
