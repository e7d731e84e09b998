package znode_test

import (
	"testing"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// FuzzRecords opens files whose sums are right and whose records are anything:
// they load or are refused, and what loads can be written and loaded again.
func FuzzRecords(f *testing.F) {
	d := newDisk()
	store := open(f, d)
	tree := treeOn(f, store)
	f.Add(d.content()[znode.HeaderSize+znode.FrameHeader:])
	first := len(d.content())
	for _, do := range []func(){
		func() { create(f, tree, "/a", "1", 0) },
		func() { setData(f, tree, "/a", "2") },
		func() { create(f, tree, "/a/e", "", 5) },
		func() {
			must(f, tree, func(x *znode.Tx) { _, _ = x.SetACL("/a", acl(1, "ip", "10.0.0.1"), -1) })
		},
		func() { create(f, tree, "/b", "", 0) },
		func() { remove(f, tree, "/b") },
		func() { imports(f, tree, func(x *znode.Tx) { x.Put("/i", nil) }) },
		func() {
			must(f, tree, func(x *znode.Tx) { _, _, _ = x.Create(znode.Create{Path: "/i", ACL: zkproto.WorldAnyone()}) })
		},
	} {
		do()
		if err := store.Flush(); err != nil {
			f.Fatal(err)
		}
		f.Add(d.content()[first+znode.FrameHeader:])
		first = len(d.content())
	}
	sealed := []byte{5}
	f.Fuzz(func(t *testing.T, records []byte) {
		file := znode.FileHeader([8]byte{1})
		file = append(file, znode.SealedFrame(append(records, sealed...), [8]byte{1}, int64(len(file)))...)
		d := withFile(file)
		store, err := tryOpen(d, 0)
		if err != nil {
			return
		}
		again, err := tryOpen(withFile(d.content()), 0)
		if err != nil {
			t.Fatalf("what was loaded and written is refused: %v", err)
		}
		if store.ClusterID() != again.ClusterID() {
			t.Fatalf("got cluster id %q, want %q", again.ClusterID(), store.ClusterID())
		}
		_ = treeOn(t, store)
	})
}
