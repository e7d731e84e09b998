package znode_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// instant is what there was after a transaction had been written and before it was
// synced.
type instant struct {
	what     string
	file     []byte
	synced   int // bytes of it that were on disk
	all      map[string]znode.Info
	sessions []znode.Session
	zxid     int64
}

// day is a history with everything that the log knows: sessions that open, change
// and close, ephemerals that come, go and are held, and persistent nodes; synced now
// and then, with a new file in the middle.
func day(t *testing.T) []instant {
	t.Helper()
	d := newDisk()
	store := boot(t, d, "one")
	tree := treeOn(t, store)
	var list []instant
	note := func(what string) {
		tree.EnsureWritten()
		list = append(list, instant{what, bytes.Clone(d.content()), d.synced(), outliving(tree), tree.Sessions(), tree.Zxid()})
	}
	step := func(what string, fn func()) {
		fn()
		note(what)
	}
	sync := func() { require.NoError(t, store.Flush()) }
	step("nothing yet", func() {})
	for round := range 3 {
		a, b := int64(100+round*2), int64(101+round*2)
		dir := fmt.Sprintf("/d%d", round)
		step("open a", func() { openSession(t, tree, a, 7e9) })
		step("persistent", func() { create(t, tree, dir, "d", 0) })
		sync()
		step("open b", func() { openSession(t, tree, b, 4e9) })
		step("ephemeral of a", func() { create(t, tree, dir+"/a", "x", a) })
		step("ephemeral of b", func() { create(t, tree, dir+"/b", "x", b) })
		step("data of an ephemeral", func() { setData(t, tree, dir+"/a", "other") })
		step("data", func() { setData(t, tree, dir, "more data") })
		step("a's timeout", func() { tree.RenewSession(a, 9e9) })
		sync()
		if round == 1 {
			store.BeginSnapshot()
			store.EndSnapshot()
			note("new file")
		}
		step("b ends", func() { require.Equal(t, 1, closeSession(t, tree, b)) })
		step("c is held", func() {
			openSession(t, tree, b+1000, 4e9)
			create(t, tree, dir+"/c", "x", b+1000)
			must(t, tree, func(x *znode.Tx) {
				x.CloseSession(b+1000, func(string) string { return "most of its service is silent" })
			})
		})
		step("sequential", func() {
			must(t, tree, func(x *znode.Tx) {
				_, _, err := x.Create(znode.Create{Path: dir + "/s-", Sequential: true, Kind: znode.Ephemeral, Owner: a, ACL: zkproto.WorldAnyone()})
				require.NoError(t, err)
			})
		})
		step("persistent, and gone", func() { create(t, tree, dir+"/p", "", 0); remove(t, tree, dir+"/p") })
		step("ephemeral gone", func() { remove(t, tree, dir+"/a") })
	}
	return list
}

// on is the disk as the next process finds it.
func on(file []byte) *memDisk {
	d := withFile(file)
	d.files[znode.WholeFile] = &memFile{disk: d}
	return d
}

// afterPowerLoss starts from file in another boot of the machine: what was
// acknowledged of persistent data is there as it was at the instant, no session
// goes on, and no zxid comes back that was shown by now.
func afterPowerLoss(t *testing.T, what string, file []byte, was instant, shown int64) {
	t.Helper()
	store, err := znode.StoreConfig{Dir: "data", Disk: on(file), Boot: "two"}.Open()
	require.NoError(t, err, what)
	require.False(t, store.Whole(), what)
	tree := treeOn(t, store)
	require.True(t, survives(persistentOf(was.all), kept(tree), tree.Zxid()), "%s: other persistent nodes than %s", what, was.what)
	require.Greater(t, tree.Zxid(), shown, what)
	open := make(map[int64]bool)
	for _, s := range tree.Sessions() {
		require.False(t, s.Whole, "%s: session %d would go on", what, s.ID)
		open[s.ID] = true
	}
	for path, n := range outliving(tree) {
		if n.Kind == znode.Ephemeral && n.Held == "" {
			require.True(t, open[n.Owner], "%s: nobody ends the session of %s", what, path)
		}
	}
}

func persistentOf(all map[string]znode.Info) map[string]znode.Info {
	list := make(map[string]znode.Info)
	for path, n := range all {
		if n.Kind != znode.Ephemeral {
			list[path] = n
		}
	}
	return list
}

// afterKill starts from file in the same boot: everything that was acknowledged is
// there as it was at the instant, and all of its sessions, and no other, go on.
func afterKill(t *testing.T, what string, file []byte, was instant) {
	t.Helper()
	store, err := znode.StoreConfig{Dir: "data", Disk: on(file), Boot: "one"}.Open()
	require.NoError(t, err, what)
	require.True(t, store.Whole(), what)
	tree := treeOn(t, store)
	require.True(t, survives(was.all, outliving(tree), tree.Zxid()), "%s: other nodes than %s", what, was.what)
	now := tree.Sessions()
	require.Len(t, now, len(was.sessions), what)
	for i, s := range was.sessions {
		s.Whole = true
		require.Equal(t, s, now[i], what)
	}
}

// TestPowerLoss cuts the log at every record boundary and at every byte inside
// records, and drops writes that were not synced, earlier ones before later ones
// too. Acknowledged persistent data is there, no session goes on that may lack
// something, and none that was closed.
func TestPowerLoss(t *testing.T) {
	list := day(t)
	cuts, holes := 0, 0
	for n, now := range list {
		if n == 0 {
			continue
		}
		before := list[n-1]
		same := bytes.HasPrefix(now.file, before.file)
		if !same { // a new file took the place of the old one: it is synced before
			require.Equal(t, len(now.file), now.synced)
			afterPowerLoss(t, now.what, now.file, now, now.zxid)
			continue
		}
		require.LessOrEqual(t, now.synced, len(before.file))
		for cut := len(before.file); cut <= len(now.file); cut++ {
			was := before
			if cut == len(now.file) {
				was = now
			}
			what := fmt.Sprintf("cut at byte %d of %d (%s)", cut, len(now.file), now.what)
			afterPowerLoss(t, what, now.file[:cut], was, now.zxid)
			afterKill(t, what, now.file[:cut], was)
			cuts++
		}
		// Of what was not synced any frame may be missing while later ones are there.
		for first := n; first > 0 && len(list[first-1].file) >= now.synced && bytes.HasPrefix(now.file, list[first-1].file); first-- {
			from, to := len(list[first-1].file), len(list[first].file)
			if from == to {
				continue
			}
			for _, fill := range []byte{0, 0xff} {
				file := bytes.Clone(now.file)
				copy(file[from:to], bytes.Repeat([]byte{fill}, to-from))
				afterPowerLoss(t, fmt.Sprintf("without bytes %d to %d of %d (%s, at %s)", from, to, len(file), list[first].what, now.what), file, list[first-1], now.zxid)
				holes++
			}
		}
	}
	t.Logf("%d cuts, %d holes", cuts, holes)
	require.Greater(t, cuts, 1000)
	require.Greater(t, holes, 100)
}

// TestDamage: what was on disk and is not any more is no power loss. It is refused
// with a sentence, and nothing is started from half of the truth.
func TestDamage(t *testing.T) {
	list := day(t)
	last := list[len(list)-1]
	refused := 0
	for n := 1; n < len(list); n++ {
		from := len(list[n-1].file)
		if !bytes.HasPrefix(last.file, list[n-1].file) || len(list[n].file) > last.synced || from == len(list[n].file) {
			continue
		}
		file := bytes.Clone(last.file)
		file[from+znode.FrameHeader] ^= 0x55
		_, err := znode.StoreConfig{Dir: "data", Disk: on(file), Boot: "two"}.Open()
		require.ErrorContains(t, err, fmt.Sprintf("it is damaged at byte %d, before its end; put back a copy", from), list[n].what)
		refused++
	}
	require.Greater(t, refused, 10)
}
