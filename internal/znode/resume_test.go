package znode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// later is the disk as the next process finds it: all that was written, in the
// same boot of the machine or another.
func later(d *memDisk) *memDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := newDisk()
	for name, f := range d.files {
		next.files[name] = &memFile{disk: next, data: bytes.Clone(f.data), synced: len(f.data)}
	}
	return next
}

func boot(t testing.TB, d *memDisk, id string) *znode.Store {
	t.Helper()
	s, err := znode.StoreConfig{Dir: "data", Disk: d, Boot: id}.Open()
	require.NoError(t, err)
	return s
}

func openSession(t testing.TB, tree *znode.Tree, id int64, timeout time.Duration) {
	t.Helper()
	must(t, tree, func(x *znode.Tx) { x.OpenSession(znode.Session{ID: id, Timeout: timeout, Epoch: 1}) })
}

// TestSessionsOverARestart is design rule 2: a session is resumed only if nothing
// of it can be missing.
func TestSessionsOverARestart(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(t *testing.T, store *znode.Store, d *memDisk)
		boot  string
		whole bool
	}{
		"killed":                   {func(*testing.T, *znode.Store, *memDisk) {}, "one", true},
		"machine restarted":        {func(*testing.T, *znode.Store, *memDisk) {}, "two", false},
		"ended in order":           {func(t *testing.T, s *znode.Store, _ *memDisk) { require.NoError(t, s.Close()) }, "one", true},
		"ended, machine restarted": {func(t *testing.T, s *znode.Store, _ *memDisk) { require.NoError(t, s.Close()) }, "two", true},
		"the disk failed before": {func(_ *testing.T, s *znode.Store, d *memDisk) {
			d.writeErr = errors.New("full")
			s.Ask()
			_ = s.Flush()
		}, "one", false},
		"the mark was lost": {func(_ *testing.T, _ *znode.Store, d *memDisk) { delete(d.files, znode.WholeFile) }, "one", false},
		"killed in a write, torn": {func(_ *testing.T, _ *znode.Store, d *memDisk) {
			d.files[znode.StoreFile].data = append(d.content(), 0x7a)
		}, "one", true},
		"boot not known": {func(*testing.T, *znode.Store, *memDisk) {}, "", false},
		"ended in order, a new snapshot before": {func(t *testing.T, s *znode.Store, _ *memDisk) {
			s.BeginSnapshot()
			s.EndSnapshot()
			require.NoError(t, s.Close())
		}, "two", true},
		"killed after a new snapshot": {func(_ *testing.T, s *znode.Store, _ *memDisk) { s.BeginSnapshot(); s.EndSnapshot() }, "one", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk()
			store := boot(t, d, "one")
			tree := treeOn(t, store)
			openSession(t, tree, 5, 7*time.Second)
			openSession(t, tree, 6, 4*time.Second)
			openSession(t, tree, 7, 4*time.Second)
			tree.RenewSession(6, 9*time.Second)
			tree.RenewSession(99, time.Second)
			create(t, tree, "/e", "mine", 5)
			create(t, tree, "/gone", "", 7)
			require.Equal(t, 1, closeSession(t, tree, 7))
			failed := update(t, tree, client, func(x *znode.Tx) error { return x.Delete("/none", -1) })
			require.Error(t, failed.Err)
			tree.EnsureWritten()
			zxid := tree.Zxid()
			c.end(t, store, d)

			id := c.boot
			again := later(d)
			if id == "" {
				// On a machine that does not say: only an orderly end is proof.
				id = "unknown"
			}
			next := boot(t, again, id)
			require.Equal(t, c.whole, next.Whole())
			loaded := treeOn(t, next)
			require.Equal(t, []znode.Session{
				{ID: 5, Timeout: 7 * time.Second, Epoch: 1, Zxid: 1, Whole: c.whole},
				{ID: 6, Timeout: 9 * time.Second, Epoch: 1, Zxid: 2, Whole: c.whole},
			}, loaded.Sessions())
			require.Equal(t, []string{"e", "zookeeper"}, children(t, loaded, "/"))
			require.EqualValues(t, 5, stat(t, loaded, "/e").EphemeralOwner)
			if c.whole {
				require.Equal(t, zxid+1, loaded.Zxid(), "the log knows every zxid that was shown, so the clock need not jump")
			} else {
				require.Greater(t, loaded.Zxid(), zxid)
			}
			require.Contains(t, again.files, znode.WholeFile, "from here on it is whole again")
		})
	}
}

func closeSession(t testing.TB, tree *znode.Tree, id int64) (n int) {
	t.Helper()
	must(t, tree, func(x *znode.Tx) { n = x.CloseSession(id, nil) })
	return n
}

// TestHeld: a held node stays with everything it has, over restarts too, until it
// is adopted, deleted or removed; and nobody hears of the change.
func TestHeld(t *testing.T) {
	d := newDisk()
	store := boot(t, d, "one")
	h := &hook{}
	tree, err := znode.New(znode.Config{Reserved: bridge, Now: func() time.Time { return at }, Store: store, Hook: h})
	require.NoError(t, err)
	openSession(t, tree, 5, time.Second)
	for _, path := range []string{"/a", "/b", "/c", "/d"} {
		create(t, tree, path, "x", 5)
	}
	before := stat(t, tree, "/a")
	w := &conn{}
	watch(tree, w, znode.WatchPersistent, "/", "/a", "/b")
	h.take()
	must(t, tree, func(x *znode.Tx) {
		require.False(t, x.Hold("/zookeeper", "no ephemeral"))
		require.False(t, x.Hold("/none", "not there"))
		require.Equal(t, 4, x.CloseSession(5, func(path string) string {
			if path == "/d" {
				return ""
			}
			return "most of its service is silent"
		}))
	})
	require.Equal(t, []string{"children / 6"}, w.take(), "only of the one that went")
	after := stat(t, tree, "/a")
	require.Equal(t, bridge, after.EphemeralOwner)
	after.EphemeralOwner = before.EphemeralOwner
	require.Equal(t, before, after)
	tree.EnsureWritten()

	for range 2 { // from the log, then from a snapshot
		d = later(d)
		store = boot(t, d, "one")
		tree = treeOn(t, store)
		require.Empty(t, tree.Sessions())
		tree.View(func(v *znode.View) {
			n, ok := v.Lookup("/b")
			require.True(t, ok)
			require.Equal(t, "most of its service is silent", n.Held)
			require.False(t, n.Imported)
			require.Equal(t, bridge, n.Owner)
		})
		require.Equal(t, []string{"a", "b", "c", "zookeeper"}, children(t, tree, "/"))
	}
	watch(tree, w, znode.WatchPersistent, "/", "/a", "/b")
	create(t, tree, "/a", "x", 8)
	require.Empty(t, w.take(), "adopted: the list does not change")
	require.EqualValues(t, 8, stat(t, tree, "/a").EphemeralOwner)
	remove(t, tree, "/b")
	gone := tree.Zxid()
	require.Equal(t, []string{fmt.Sprintf("deleted /b %d", gone), fmt.Sprintf("children / %d", gone)}, w.take())
	imports(t, tree, func(x *znode.Tx) { x.Put("/c", []byte("other")) })
	tree.View(func(v *znode.View) {
		n, _ := v.Lookup("/c")
		require.Equal(t, "x", string(n.Data), "an import does not touch what is held")
	})
	imports(t, tree, func(x *znode.Tx) { x.Remove("/c") })
	require.Equal(t, []string{fmt.Sprintf("children / %d", tree.Zxid())}, w.take())
	failed := update(t, tree, client, func(x *znode.Tx) error {
		require.True(t, x.Hold("/a", "undone"))
		return zkproto.NoNode
	})
	require.Error(t, failed.Err)
	require.EqualValues(t, 8, stat(t, tree, "/a").EphemeralOwner)
}

// TestDiskFailsAndHeals: what need not be on disk goes on while the disk takes
// nothing, what has to be there is refused, and when there is room again all of it
// is written.
func TestDiskFailsAndHeals(t *testing.T) {
	for name, fail := range map[string]func(*memDisk){
		"no space":    func(d *memDisk) { d.writeErr = errors.New("no space left on device") },
		"short write": func(d *memDisk) { d.short = 20 },
		"sync":        func(d *memDisk) { d.syncErr = errors.New("input/output error") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk()
				var troubles []error
				store, err := znode.StoreConfig{Dir: "data", Disk: d, Boot: "one", Trouble: func(err error) { troubles = append(troubles, err) }}.Open()
				require.NoError(t, err)
				tree := treeOn(t, store)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- store.Run(ctx) }()
				openSession(t, tree, 5, time.Second)
				create(t, tree, "/kept", "", 0)
				synctest.Wait()

				d.set(fail)
				lost := create(t, tree, "/waits", "", 0)
				free := false
				tree.WhenDurable(lost.Gate, func() { free = true })
				synctest.Wait()
				require.Error(t, tree.Trouble())
				require.Len(t, troubles, 1)
				require.ErrorContains(t, troubles[0], "write data/tree.log: ", "which file")
				require.ErrorContains(t, troubles[0], "make room or repair the disk", "what to do")
				require.False(t, d.has(znode.WholeFile), "a restart must not resume sessions")
				for _, fn := range []func(x *znode.Tx) error{
					func(x *znode.Tx) error {
						_, _, err := x.Create(znode.Create{Path: "/no", ACL: zkproto.WorldAnyone()})
						return err
					},
					func(x *znode.Tx) error { return x.Delete("/kept", -1) },
					func(x *znode.Tx) error { _, err := x.SetData("/kept", nil, -1); return err },
					func(x *znode.Tx) error { _, err := x.SetACL("/kept", zkproto.WorldAnyone(), -1); return err },
				} {
					require.Equal(t, zkproto.OperationTimeout, update(t, tree, client, fn).Err)
				}
				require.Zero(t, create(t, tree, "/e", "", 5).Gate)
				openSession(t, tree, 6, time.Second)
				tree.EnsureWritten()
				imports(t, tree, func(x *znode.Tx) { x.Put("/new/dir/i", nil) })
				tree.View(func(v *znode.View) {
					_, _, err := v.Children("/new/dir", nil)
					require.NoError(t, err)
					require.Zero(t, v.Gate(), "imports go on")
				})
				time.Sleep(5 * time.Second)
				require.False(t, free)
				require.Len(t, troubles, 1, "it is told once")

				d.set(func(d *memDisk) { d.writeErr, d.syncErr, d.short = nil, nil, -1 })
				time.Sleep(2 * time.Second)
				synctest.Wait()
				require.NoError(t, tree.Trouble())
				require.Len(t, troubles, 2)
				require.NoError(t, troubles[1])
				require.True(t, free)
				require.True(t, d.has(znode.WholeFile))
				create(t, tree, "/after", "", 0)
				synctest.Wait()
				loaded := boot(t, later(d), "one")
				require.True(t, loaded.Whole())
				again := treeOn(t, loaded)
				require.Equal(t, []string{"after", "e", "kept", "new", "waits", "zookeeper"}, children(t, again, "/"))
				require.Len(t, again.Sessions(), 2)
				cancel()
				require.NoError(t, <-done)
				require.NoError(t, store.Close())
			})
		})
	}
}

// TestMarkThatCannotBeTaken: the disk fails, and not even that can be noted. The
// operator is told what to do by hand.
func TestMarkThatCannotBeTaken(t *testing.T) {
	d := newDisk()
	var told error
	store, err := znode.StoreConfig{Dir: "data", Disk: d, Trouble: func(err error) { told = err }}.Open()
	require.NoError(t, err)
	create(t, treeOn(t, store), "/a", "", 0)
	d.writeErr, d.removeErr = errors.New("read-only file system"), fs.ErrPermission
	require.Error(t, store.Flush())
	require.ErrorContains(t, told, "before a restart delete data/tree.whole by hand")
}

// TestSnapshotThatDoesNotFit: the log goes on in its old file.
func TestSnapshotThatDoesNotFit(t *testing.T) {
	d := newDisk()
	store := boot(t, d, "one")
	tree := treeOn(t, store)
	create(t, tree, "/a", "", 0)
	require.NoError(t, store.Flush())
	store.BeginSnapshot()
	d.renameErr = errors.New("no space left on device")
	store.EndSnapshot()
	require.NoError(t, tree.Trouble())
	create(t, tree, "/b", "", 0)
	require.NoError(t, store.Flush())
	require.Equal(t, []string{"a", "b", "zookeeper"}, children(t, treeOn(t, boot(t, later(d), "one")), "/"))
}

// TestGrowingLogIsReplaced: the file does not grow without bound.
func TestGrowingLogIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		store, err := znode.StoreConfig{Dir: "data", Disk: d, Compact: 4096}.Open()
		require.NoError(t, err)
		tree := treeOn(t, store)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- store.Run(ctx) }()
		openSession(t, tree, 5, time.Second)
		for range 2000 {
			create(t, tree, "/e", "some data", 5)
			remove(t, tree, "/e")
			tree.EnsureWritten()
			synctest.Wait()
		}
		require.Less(t, len(d.content()), 4*4096)
		require.Positive(t, store.Stats().Snapshots)
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, store.Close())
	})
}

// TestSnapshotWhileWriting: a new file is made while everything goes on, time and
// again, and at the end it holds what the tree holds.
func TestSnapshotWhileWriting(t *testing.T) {
	dir := t.TempDir()
	open := func() (*znode.Store, *znode.Tree) {
		store, err := znode.StoreConfig{Dir: dir, Boot: "one", Compact: 100 << 10}.Open()
		require.NoError(t, err)
		return store, treeOn(t, store)
	}
	store, tree := open()
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- store.Run(ctx) }()
	for i := range 2000 {
		create(t, tree, fmt.Sprintf("/d%d", i), "", 0)
	}
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for i := 0; i < 30000 || store.Stats().Snapshots < 2 && i < 3_000_000; i++ { // until there were some, however slow the machine
				dir := fmt.Sprintf("/d%d", random.IntN(2000))
				tree.Update(client, func(x *znode.Tx) error {
					var err error
					switch session := int64(random.IntN(50) + 1); random.IntN(8) {
					case 0, 1, 2:
						_, _, err = x.Create(znode.Create{Path: fmt.Sprintf("%s/e%d", dir, random.IntN(3)), Kind: znode.Ephemeral, Owner: session, ACL: zkproto.WorldAnyone()})
					case 3:
						_, err = x.SetData(dir, []byte(fmt.Sprint(i)), -1)
					case 4:
						err = x.Delete(fmt.Sprintf("%s/e%d", dir, random.IntN(3)), -1)
					case 5:
						x.OpenSession(znode.Session{ID: session, Timeout: time.Second})
					case 6:
						x.CloseSession(session, func(string) string {
							if random.IntN(2) == 0 {
								return ""
							}
							return "held"
						})
					case 7:
						if err = x.Delete(dir, -1); err == nil {
							_, _, err = x.Create(znode.Create{Path: dir, ACL: zkproto.WorldAnyone()})
						}
					}
					return err
				}, nil)
				tree.EnsureWritten()
			}
		})
	}
	writers.Wait()
	require.Greater(t, store.Stats().Snapshots, uint64(1))
	want, sessions := dump(tree), tree.Sessions()
	cancel()
	require.NoError(t, <-ran)
	killed := t.TempDir() // what a kill would leave
	require.NoError(t, os.CopyFS(killed, os.DirFS(dir)))
	require.NoError(t, store.Close())
	dir = killed
	again, loaded := open()
	require.True(t, again.Whole())
	now := dump(loaded)
	kept := loaded.Sessions()
	for i := range kept {
		kept[i].Whole = false // what was not loaded is nothing that could be whole
	}
	require.Equal(t, sessions, kept)
	require.True(t, survives(want, now, loaded.Zxid()))
	require.NoError(t, again.Close())
}
