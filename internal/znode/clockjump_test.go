package znode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
)

// The wall clock decides what ctime and mtime say and nothing else: when it jumps,
// forward or back, order, versions and watches are those of zxids.
func TestClockJump(t *testing.T) {
	now := at
	tree, err := znode.New(znode.Config{Reserved: bridge, Now: func() time.Time { return now }})
	require.NoError(t, err)
	first := create(t, tree, "/a", "1", 0)
	for _, jump := range []time.Duration{24 * time.Hour, -72 * time.Hour, 365 * 24 * time.Hour} {
		now = now.Add(jump)
		before := tree.Zxid()
		r := setData(t, tree, "/a", "2")
		require.Equal(t, before+1, r.Zxid)
		tree.View(func(v *znode.View) {
			stat, err := v.Exists("/a", nil)
			require.NoError(t, err)
			require.Equal(t, r.Zxid, stat.Mzxid)
			require.Equal(t, now.UnixMilli(), stat.Mtime)
			require.Equal(t, first.Zxid, stat.Czxid)
			require.Equal(t, at.UnixMilli(), stat.Ctime)
		})
	}
	now = at.Add(-time.Hour)
	w := &conn{}
	seen := tree.Zxid()
	tree.Arm(func(v *znode.View) { v.SetWatches(w, seen, znode.WatchLists{Data: []string{"/a"}}) })
	require.Empty(t, w.got)
	setData(t, tree, "/a", "3")
	require.Len(t, w.got, 1)
}
