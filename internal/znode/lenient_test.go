package znode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// Where ACLs are ignored they refuse nobody, neither an operation nor an event;
// they are checked, kept and shown all the same.
func TestIgnoreACL(t *testing.T) {
	tree, err := znode.New(znode.Config{IgnoreACL: func(path string) bool { return path == "/open" || strings.HasPrefix(path, "/open/") }})
	require.NoError(t, err)
	mine := acl(31, "digest", "amy:hash")
	for _, path := range []string{"/open", "/closed"} {
		must(t, tree, func(x *znode.Tx) {
			_, _, err := x.Create(znode.Create{Path: path, ACL: mine})
			require.NoError(t, err)
		})
	}
	for path, want := range map[string]error{"/open": nil, "/closed": zkproto.NoAuth} {
		w := &conn{}
		watch(tree, w, znode.WatchPersistent, path)
		for name, op := range map[string]func(*znode.Tx) error{
			"create":  func(x *znode.Tx) error { _, _, err := x.Create(znode.Create{Path: path + "/x", ACL: mine}); return err },
			"setData": func(x *znode.Tx) error { _, err := x.SetData(path, nil, -1); return err },
			"setACL":  func(x *znode.Tx) error { _, err := x.SetACL(path, mine, -1); return err },
			"check":   func(x *znode.Tx) error { return x.Check(path, -1) },
		} {
			require.Equal(t, want, update(t, tree, client, op).Err, "%s %s", name, path)
		}
		tree.View(func(v *znode.View) {
			_, err := v.Exists(path, nil)
			require.Equal(t, want, err)
			_, _, err = v.Data(path, nil)
			require.Equal(t, want, err)
			_, _, err = v.ChildrenBody(path, nil)
			require.Equal(t, want, err)
			_, err = v.CountBelow(path, nil)
			require.Equal(t, want, err)
			list, _, err := v.ACL(path, nil)
			require.Equal(t, want, err)
			if want == nil {
				require.Equal(t, mine, list, "kept, and not masked: who may everything has ADMIN")
			}
		})
		if want == nil {
			require.Len(t, w.take(), 2, "of the child and of the data")
			require.NoError(t, update(t, tree, client, func(x *znode.Tx) error { return x.Delete(path+"/x", -1) }).Err)
		} else {
			require.Empty(t, w.take())
		}
	}
	require.Equal(t, zkproto.InvalidACL, update(t, tree, client, func(x *znode.Tx) error { _, err := x.SetACL("/open", nil, -1); return err }).Err)
}
