package znode_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

func open(t testing.TB, d *memDisk) *znode.Store {
	t.Helper()
	s, err := tryOpen(d, 0)
	require.NoError(t, err)
	return s
}

func tryOpen(d *memDisk, reserve int64) (*znode.Store, error) {
	return znode.StoreConfig{Dir: "data", Disk: d, Reserve: reserve}.Open()
}

func treeOn(t testing.TB, s *znode.Store) *znode.Tree {
	t.Helper()
	tree, err := znode.New(znode.Config{Reserved: bridge, Now: func() time.Time { return at }, Store: s})
	require.NoError(t, err)
	return tree
}

func TestStoreIdentity(t *testing.T) {
	d := newDisk()
	first := open(t, d)
	require.Regexp(t, "^[0-9a-f]{8}$", first.ClusterID())
	require.EqualValues(t, 1, first.Incarnation())
	require.Len(t, first.Secret(), 32)
	require.NotEqual(t, make([]byte, 32), first.Secret())
	require.EqualValues(t, 1, first.KeyID())
	require.Len(t, d.content(), d.synced(), "all of it is synced before Open returns")
	require.Equal(t, 2, d.names(), "the log, and the mark that it lacks nothing")

	_, err := tryOpen(d, 0)
	require.ErrorContains(t, err, "lock data directory data: held")
	require.NoError(t, first.Close())

	second := open(t, d)
	require.Equal(t, first.ClusterID(), second.ClusterID())
	require.Equal(t, first.Secret(), second.Secret())
	require.EqualValues(t, 2, second.Incarnation())
	require.NotEqual(t, first.ClusterID(), open(t, newDisk()).ClusterID())

	for bytes, want := range map[int]string{0: "make a cluster id", 4: "make a password key", 36: "make a nonce"} {
		random := strings.NewReader(strings.Repeat("r", bytes))
		_, err := znode.StoreConfig{Disk: newDisk(), Rand: random}.Open()
		require.ErrorContains(t, err, want)
	}
	treeOn(t, second)
	_, err = znode.New(znode.Config{Store: second})
	require.ErrorContains(t, err, "has a tree already")
}

// TestStoreKeepsWhatIsNotImported: nodes with their Stat come back, but imported
// ones do not, and everything counts as changed.
//
// Pitfall P17: versions of documents go on over a restart.
func TestStoreKeepsWhatIsNotImported(t *testing.T) {
	d := newDisk()
	store := open(t, d)
	tree := treeOn(t, store)
	require.Zero(t, tree.Zxid())
	create(t, tree, "/a", "1", 0)
	create(t, tree, "/a/b", "2", 0)
	create(t, tree, "/a/e", "gone", 5)
	create(t, tree, "/gone", "", 0)
	setData(t, tree, "/a", "3")
	setData(t, tree, "/", "root")
	remove(t, tree, "/gone")
	must(t, tree, func(x *znode.Tx) {
		_, err := x.SetACL("/a/b", acl(31, "ip", "10.0.0.1"), -1)
		require.NoError(t, err)
		_, _, err = x.Create(znode.Create{Path: "/null", Kind: znode.Container, ACL: acl(31, "digest", "a:b")})
		require.NoError(t, err)
	})
	imports(t, tree, func(x *znode.Tx) { x.Put("/dubbo/I/a", []byte("x")) })
	imports(t, tree, func(x *znode.Tx) { x.Put("/kept", []byte("x")) })
	must(t, tree, func(x *znode.Tx) {
		_, _, err := x.Create(znode.Create{Path: "/kept", Data: []byte("adopted"), ACL: zkproto.WorldAnyone()})
		require.NoError(t, err)
	})
	require.NoError(t, store.Flush())
	before := dump(tree)
	last := tree.Zxid()

	h := &hook{}
	again := open(t, d.crashed(d.synced()))
	loaded, err := znode.New(znode.Config{Reserved: bridge, Now: func() time.Time { return at }, Store: again, Hook: h})
	require.NoError(t, err)
	after := dump(loaded)
	start := loaded.Zxid()
	require.Greater(t, start, last, "the clock never goes back")
	require.NotContains(t, after, "/dubbo/I/a")
	delete(before, "/dubbo/I/a")
	for path, was := range before {
		now := after[path]
		if path == "/dubbo/I" { // the imported child is not there yet: the count of creates is
			require.Equal(t, creates(was), creates(now))
			now.Stat.NumChildren, now.Stat.Cversion = was.Stat.NumChildren, was.Stat.Cversion
		}
		require.Equal(t, was, now, path)
	}
	require.Len(t, after, len(before))
	loaded.View(func(v *znode.View) {
		data, _, err := v.Data("/null", []znode.Identity{digest("a:b")})
		require.NoError(t, err)
		require.Nil(t, data, "null stays null")
		_, _, err = v.Data("/a/b", nil)
		require.Equal(t, zkproto.NoAuth, err)
		require.Zero(t, v.Gate(), "what was loaded is durable")
	})

	require.Equal(t, []string{
		fmt.Sprintf(`created /a "3" owner 0 czxid 1 at %d`, start),
		fmt.Sprintf(`created /a/b "2" owner 0 czxid 2 at %d`, start),
		fmt.Sprintf(`created /a/e "gone" owner 5 czxid 3 at %d`, start),
		fmt.Sprintf(`created /dubbo "" owner 0 czxid 9 at %d`, start),
		fmt.Sprintf(`created /dubbo/I "" owner 0 czxid 9 at %d`, start),
		fmt.Sprintf(`created /kept "adopted" owner 0 czxid 11 at %d`, start),
		fmt.Sprintf(`created /null "" owner 0 czxid 8 at %d`, start),
	}, h.take(), "the hook learns what is there, parents first")
	require.Equal(t, []int64{start}, h.committed)

	w := &conn{}
	loaded.Arm(func(v *znode.View) {
		v.SetWatches(w, last, znode.WatchLists{Data: []string{"/a", "/zookeeper/config"}, Child: []string{"/null"}})
	})
	require.Equal(t, []string{"data /a -1", "data /zookeeper/config -1", "children /null -1"}, w.take(), "after a restart everything fires")
	loaded.Arm(func(v *znode.View) { v.SetWatches(w, start, znode.WatchLists{Data: []string{"/a"}}) })
	require.Empty(t, w.take())
}

// TestCleanCloseKeepsTheClock: only a crash makes it jump.
func TestCleanCloseKeepsTheClock(t *testing.T) {
	d := newDisk()
	for n := range int64(5) {
		store := open(t, d)
		tree := treeOn(t, store)
		want := 2 * n
		require.Equal(t, want, tree.Zxid())
		create(t, tree, fmt.Sprintf("/n%d", n), "", 0)
		require.NoError(t, store.Flush())
		if n == 0 {
			create(t, tree, "/e", "", 5) // an ephemeral's zxid counts, though nothing of it is kept but the counter
		}
		require.NoError(t, store.Close())
		if n == 0 {
			d = withFile(d.content())
			store = open(t, d)
			require.EqualValues(t, 3, treeOn(t, store).Zxid(), "2, and one for the start")
			require.NoError(t, store.Close())
			break
		}
	}
}

// TestCounterNeverComesBack: sequence numbers of ephemerals, which are not
// stored, are not given out twice.
func TestCounterNeverComesBack(t *testing.T) {
	d := newDisk()
	seen := make(map[string]bool)
	for range 4 {
		store := open(t, d)
		tree := treeOn(t, store)
		if tree.Zxid() == 0 {
			create(t, tree, "/locks", "", 0)
		}
		for i := range 2*znode.CounterBlock + 3 {
			var path string
			r := must(t, tree, func(x *znode.Tx) {
				var err error
				path, _, err = x.Create(znode.Create{Path: "/locks/n-", Kind: znode.Ephemeral, Owner: 5, Sequential: true, ACL: zkproto.WorldAnyone()})
				require.NoError(t, err)
			})
			require.False(t, seen[path], path)
			seen[path] = true
			if r.Gate > tree.Durable() {
				require.Zero(t, i%znode.CounterBlock, "one sync a block")
				require.Zero(t, must(t, tree, func(x *znode.Tx) {
					_, _, err := x.Create(znode.Create{Path: "/locks/plain", Kind: znode.Ephemeral, Owner: 5, ACL: zkproto.WorldAnyone()})
					require.NoError(t, err)
					require.NoError(t, x.Delete("/locks/plain", -1))
				}).Gate, "a plain ephemeral never waits")
				tree.SetSpent("/locks", tree.Spent("/locks")-1)
				require.NoError(t, store.Flush())
			}
		}
		d = d.crashed(d.synced())
	}
}

func TestGates(t *testing.T) {
	d := newDisk()
	store := open(t, d)
	tree := treeOn(t, store)
	fails := func(fn func(*znode.Tx) error, want zkproto.Code) int64 {
		t.Helper()
		r := update(t, tree, client, fn)
		require.Equal(t, want, r.Err)
		return r.Gate
	}
	gate := func(fn func(v *znode.View)) (g int64) {
		tree.View(func(v *znode.View) { fn(v); g = v.Gate() })
		return g
	}
	reads := func(path string) int64 {
		return gate(func(v *znode.View) { _, _, _ = v.Data(path, nil) })
	}
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/p", "/p/e", "/p/q")

	require.EqualValues(t, 1, create(t, tree, "/p", "", 0).Gate)
	require.EqualValues(t, 1, w.last.Gate)
	require.EqualValues(t, 1, reads("/p"))
	require.EqualValues(t, 1, reads("/"), "its children show it")
	require.Zero(t, reads("/zookeeper"))
	require.Zero(t, reads("/none"), "nothing was deleted yet")
	require.EqualValues(t, 1, fails(func(x *znode.Tx) error {
		_, _, err := x.Create(znode.Create{Path: "/p", ACL: zkproto.WorldAnyone()})
		return err
	}, zkproto.NodeExists), "Dubbo remembers for ever that it exists")
	require.EqualValues(t, 1, fails(func(x *znode.Tx) error { return x.Delete("/p", 7) }, zkproto.BadVersion))

	require.Zero(t, create(t, tree, "/p/e", "", 5).Gate, "ephemerals never wait")
	require.Zero(t, w.last.Gate)
	require.Zero(t, setData(t, tree, "/p/e", "x").Gate)
	require.Zero(t, reads("/p/e"))
	require.EqualValues(t, 1, gate(func(v *znode.View) { _, _, _ = v.ChildrenBody("/p", nil) }))
	require.Zero(t, remove(t, tree, "/p/e").Gate)
	require.Zero(t, reads("/none"))

	create(t, tree, "/p/q", "", 0)
	r := must(t, tree, func(x *znode.Tx) { require.NoError(t, x.Check("/p/q", 0)) })
	require.Equal(t, r.Zxid-1, r.Gate, "a check that passes shows the version")
	set := setData(t, tree, "/p/q", "")
	require.Equal(t, set.Zxid, set.Gate)
	require.Equal(t, set.Zxid, fails(func(x *znode.Tx) error {
		if _, err := x.SetData("/p/q", nil, -1); err != nil {
			return err
		}
		return x.Check("/p/q", 1)
	}, zkproto.BadVersion), "a failure shows the state before")

	require.Equal(t, set.Zxid, fails(func(x *znode.Tx) error {
		if err := x.Delete("/p/q", 1); err != nil {
			return err
		}
		return x.Check("/zookeeper", 1)
	}, zkproto.BadVersion), "that the delete would have passed shows it too")
	require.Zero(t, reads("/none"), "nothing was deleted in the end")

	imports(t, tree, func(x *znode.Tx) { x.Put("/zookeeper/i", nil) })
	require.Zero(t, reads("/zookeeper"))
	adopted := create(t, tree, "/zookeeper/i", "", 0)
	require.Equal(t, adopted.Zxid, adopted.Gate, "what was imported is there to stay now")
	require.Equal(t, adopted.Zxid, reads("/zookeeper"))

	del := remove(t, tree, "/p/q")
	require.Equal(t, del.Zxid, del.Gate)
	require.Equal(t, del.Zxid, reads("/none"), "that a node is missing shows the newest delete")
	require.Equal(t, del.Zxid, fails(func(x *znode.Tx) error { return x.Delete("/none", -1) }, zkproto.NoNode))
	require.Equal(t, del.Zxid, gate(func(v *znode.View) { _, _ = v.Exists("/p", nil) }))
	require.Equal(t, del.Zxid, gate(func(v *znode.View) { _, _ = v.CountBelow("/zookeeper", nil) }))
	tree.Arm(func(v *znode.View) { v.SetWatches(w, 0, znode.WatchLists{Data: []string{"/none"}}) })
	require.Equal(t, del.Zxid, w.last.Gate)

	freed := make(map[int64]bool)
	for _, g := range []int64{del.Zxid, 1, set.Zxid, del.Zxid + 1} {
		tree.WhenDurable(g, func() { freed[g] = true })
	}
	require.Zero(t, tree.Durable())
	require.Empty(t, freed)
	syncs := d.syncs
	require.NoError(t, store.Flush())
	require.Equal(t, syncs+1, d.syncs, "one sync for all that waited")
	require.Equal(t, del.Zxid, tree.Durable())
	require.Equal(t, map[int64]bool{del.Zxid: true, 1: true, set.Zxid: true}, freed)
	called := false
	tree.WhenDurable(1, func() { called = true })
	require.True(t, called, "at once")
	require.NoError(t, store.Flush())
	require.Equal(t, syncs+1, d.syncs, "nothing to write, nothing synced")
}

// TestClockAheadOfReservation: when the disk is too slow for the clock, nothing
// leaves that shows a zxid which a restart could give out again.
func TestClockAheadOfReservation(t *testing.T) {
	d := newDisk()
	store, err := tryOpen(d, 4)
	require.NoError(t, err)
	tree := treeOn(t, store)
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/e")
	gates := func() (write, event, read int64) {
		r := must(t, tree, func(x *znode.Tx) {
			x.CloseSession(5, nil)
			_, _, err := x.Create(znode.Create{Path: "/e", Kind: znode.Ephemeral, Owner: 5, ACL: zkproto.WorldAnyone()})
			require.NoError(t, err)
		})
		tree.View(func(v *znode.View) { read = v.Gate() })
		return r.Gate, w.last.Gate, read
	}
	for range 4 {
		write, event, read := gates()
		require.Zero(t, write+event+read)
	}
	for want := int64(5); want < 9; want++ {
		write, event, read := gates()
		require.Equal(t, []int64{want, want, want}, []int64{write, event, read})
	}
	torn := must(t, tree, func(x *znode.Tx) {
		makes("/kept")(x)
		require.NoError(t, store.Flush()) // the disk is quick while the transaction is still open
	})
	require.Greater(t, torn.Gate, tree.Durable(), "its zxid is not durable before its record is")
	for range 5 {
		gates()
	}
	failed := update(t, tree, client, func(x *znode.Tx) error { return x.Delete("/none", -1) })
	require.Equal(t, failed.Zxid, failed.Gate)
	free := false
	tree.WhenDurable(failed.Gate, func() { free = true })
	require.NoError(t, store.Flush())
	require.True(t, free)
	write, event, read := gates()
	require.Zero(t, write+event+read)
	require.Greater(t, store.Reserved(), tree.Zxid())
}

func TestRunWritesUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		store := open(t, d)
		tree := treeOn(t, store)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- store.Run(ctx) }()
		r := create(t, tree, "/a", "", 0)
		free := make(chan struct{})
		tree.WhenDurable(r.Gate, func() { close(free) })
		<-free
		require.Equal(t, r.Zxid, tree.Durable())
		synctest.Wait()
		r = create(t, tree, "/b", "", 0)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, r.Zxid, tree.Durable(), "what was queued when it ended is written")
		create(t, tree, "/c", "", 0)
		require.NoError(t, store.Close())
		require.False(t, d.held)
		loaded := treeOn(t, open(t, withFile(d.content())))
		require.Equal(t, []string{"a", "b", "c", "zookeeper"}, children(t, loaded, "/"), "what came later is in the log, but nobody was told so")
		require.Greater(t, loaded.Zxid(), tree.Zxid())
	})
}

func TestDiskFailuresAtOpen(t *testing.T) {
	before := newDisk()
	require.NoError(t, open(t, before).Close())
	for _, c := range []struct {
		name string
		fail func(*memDisk)
		want string
	}{
		{"read", func(d *memDisk) { d.readErr = errors.New("input/output error") }, "read data/tree.log: input/output error"},
		{"write", func(d *memDisk) { d.writeErr = errors.New("no space") }, "write data/tree.log: no space; the old file is untouched"},
		{"short", func(d *memDisk) { d.short = 3 }, "short write"},
		{"sync", func(d *memDisk) { d.syncErr = errors.New("io") }, "write data/tree.log: io"},
		{"rename", func(d *memDisk) { d.renameErr = errors.New("io") }, "write data/tree.log: io"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := withFile(before.content())
			c.fail(d)
			_, err := tryOpen(d, 0)
			require.ErrorContains(t, err, c.want)
			require.False(t, d.held, "the lock is released")
			require.Equal(t, before.content(), d.content())
		})
	}
}

func TestStoreRefuses(t *testing.T) {
	d := newDisk()
	store := open(t, d)
	sealed := len(d.content())
	tree := treeOn(t, store)
	for i := range 3 {
		create(t, tree, fmt.Sprintf("/n%d", i), "", 0)
		require.NoError(t, store.Flush())
	}
	whole := d.content()

	newer := bytes.Clone(whole)
	binary.BigEndian.PutUint32(newer[8:], 4)
	binary.BigEndian.PutUint32(newer[20:], checksum(newer[:20]))
	_, err := tryOpen(withFile(newer), 0)
	require.ErrorContains(t, err, "read data/tree.log: it has format 4 and this version knows 3; start the newer version that wrote it")

	older := bytes.Clone(whole) // what there was before TTL nodes
	binary.BigEndian.PutUint32(older[8:], 1)
	binary.BigEndian.PutUint32(older[20:], checksum(older[:20]))
	s, err := tryOpen(withFile(older), 0)
	require.NoError(t, err)
	require.Equal(t, []string{"n0", "n1", "n2", "zookeeper"}, children(t, treeOn(t, s), "/"))

	for cut := range sealed {
		_, err := tryOpen(withFile(whole[:cut]), 0)
		require.Error(t, err, "cut at %d: an identity must not be made up anew", cut)
	}
	for i := range whole {
		broken := bytes.Clone(whole)
		broken[i] ^= 0x55
		s, err := tryOpen(withFile(broken), 0)
		if err != nil {
			require.Regexp(t, "damaged|cut off|format", err.Error())
			continue
		}
		// Only the last frame can pass for a torn tail.
		require.Equal(t, []string{"n0", "n1", "zookeeper"}, children(t, treeOn(t, s), "/"), "byte %d", i)
	}
	for name, c := range map[string]struct {
		records []byte
		want    string
	}{
		"unknown kind":   {[]byte{77}, "at byte 24: a record of unknown kind 77"},
		"no field":       {[]byte{3}, "at byte 24: a record that cannot be read"},
		"too long":       {[]byte{1, 200, 1}, "cannot be read"},
		"unknown effect": {[]byte{4, 2, 2, 1, 99, 0, 2, '/', 'a'}, "cannot be read"},
		"misfit":         {append([]byte{4, 2, 2, 1, 7, 0, 4, '/', 'a', '/', 'b'}, make([]byte, 12)...), "apply transaction 0x1, effect 0 on /a/b: does not fit the tree"},
	} {
		file := znode.FileHeader([8]byte{})
		_, err := tryOpen(withFile(append(file, znode.SealedFrame(c.records, [8]byte{}, int64(len(file)))...)), 0)
		require.ErrorContains(t, err, c.want, name)
	}
	_, err = tryOpen(withFile([]byte("something else entirely, but long enough")), 0)
	require.ErrorContains(t, err, "not a zkbridge file")
	_, err = tryOpen(withFile(nil), 0)
	require.Error(t, err)
}

// TestForgedFrame: bytes that a client stored never pass for a frame, so a torn
// tail in front of them is not taken for damage.
func TestForgedFrame(t *testing.T) {
	d := newDisk()
	store := open(t, d)
	tree := treeOn(t, store)
	create(t, tree, "/a", "", 0)
	require.NoError(t, store.Flush())
	// The attacker knows how the file grows, and so covers every place at which
	// the forgery could stand; only the nonce is not known.
	clock := []byte{3, 2}
	var forged []byte
	for range 20 {
		for shift := range 40 {
			place := int64(d.synced()) + int64(shift) + int64(len(forged))
			forged = append(forged, znode.SealedFrame(clock, [8]byte{}, place)...)
		}
	}
	create(t, tree, "/forged", string(forged), 0)
	require.NoError(t, store.Flush())
	torn := d.content()[:len(d.content())-1]
	loaded := treeOn(t, open(t, withFile(torn)))
	require.Equal(t, []string{"a", "zookeeper"}, children(t, loaded, "/"))
}

func TestStoreOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	store, err := znode.OpenStore(dir)
	require.NoError(t, err)
	tree := treeOn(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- store.Run(ctx) }()
	free := make(chan struct{})
	tree.WhenDurable(create(t, tree, "/a", "1", 0).Gate, func() { close(free) })
	<-free

	_, err = znode.OpenStore(dir)
	require.ErrorContains(t, err, "another process is using it")
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, store.Close())

	again, err := znode.OpenStore(dir)
	require.NoError(t, err)
	require.Equal(t, store.ClusterID(), again.ClusterID())
	require.Contains(t, children(t, treeOn(t, again), "/"), "a")
	require.NoError(t, again.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), "it holds the password key")
	}

	_, err = znode.OpenStore(filepath.Join(dir, znode.StoreFile))
	require.Error(t, err, "a file is no directory")
}

// TestManyNodesSurvive fills more than one frame of the rewritten file.
func TestManyNodesSurvive(t *testing.T) {
	d := newDisk()
	store := open(t, d)
	tree := treeOn(t, store)
	must(t, tree, func(x *znode.Tx) {
		for i := range 200 {
			dir := fmt.Sprintf("/d%d", i)
			_, _, err := x.Create(znode.Create{Path: dir, ACL: zkproto.WorldAnyone()})
			require.NoError(t, err)
			for j := range 20 {
				_, _, err := x.Create(znode.Create{Path: fmt.Sprintf("%s/n%d", dir, j), Data: make([]byte, 500), ACL: zkproto.WorldAnyone()})
				require.NoError(t, err)
			}
		}
	})
	require.NoError(t, store.Flush())
	for range 2 {
		d = d.crashed(d.synced())
		loaded := treeOn(t, open(t, d))
		s := loaded.Stats()
		require.Equal(t, 4+200*21, s.Nodes)
		require.Equal(t, tree.Stats().DataSize, s.DataSize)
		require.Equal(t, stat(t, tree, "/d7"), stat(t, loaded, "/d7"))
	}
}
