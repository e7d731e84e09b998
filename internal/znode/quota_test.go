package znode_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

const quotaDir = "/zookeeper/quota"

// limit makes the nodes of a quota on path.
func limit(t testing.TB, tree *znode.Tree, path, limits string) {
	t.Helper()
	for at := quotaDir; at != quotaDir+path; {
		rest := strings.TrimPrefix(quotaDir+path, at)
		name, _, _ := strings.Cut(rest[1:], "/")
		at += "/" + name
		if !has(tree, at) {
			create(t, tree, at, "", 0)
		}
	}
	create(t, tree, quotaDir+path+"/zookeeper_limits", limits, 0)
	create(t, tree, quotaDir+path+"/zookeeper_stats", "", 0)
}

func used(t testing.TB, tree *znode.Tree, path string) string {
	t.Helper()
	info, ok := lookup(tree, quotaDir+path+"/zookeeper_stats")
	require.True(t, ok)
	return string(info.Data)
}

func guarded(t testing.TB, told func(path string, hard bool)) *znode.Tree {
	t.Helper()
	tree, err := znode.New(znode.Config{Reserved: bridge, EnforceQuota: true, OverQuota: told})
	require.NoError(t, err)
	return tree
}

func TestQuotaLimits(t *testing.T) {
	var told []string
	tree := guarded(t, func(path string, hard bool) { told = append(told, fmt.Sprint(path, " ", hard)) })
	create(t, tree, "/a", "", 0)
	limit(t, tree, "/a", "count=1,bytes=-1=;byteHardLimit=4;countHardLimit=3")
	create(t, tree, "/a/x", "12", 0)
	try := func(fn func(x *znode.Tx) error) error { return update(t, tree, client, fn).Err }
	add := func(path, data string) func(x *znode.Tx) error {
		return func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{Path: path, Data: []byte(data), ACL: zkproto.WorldAnyone()})
			return err
		}
	}
	require.Empty(t, told, "a hard limit stands in the place of a soft one")
	require.Equal(t, zkproto.QuotaExceeded, try(add("/a/y", "123")))
	require.Equal(t, []string{"/a true"}, told)
	require.NoError(t, try(add("/a/y", "12")))
	require.Equal(t, zkproto.QuotaExceeded, try(add("/a/z", "")))
	require.Equal(t, zkproto.QuotaExceeded, try(func(x *znode.Tx) error { _, err := x.SetData("/a", []byte("1"), 99); return err }))
	require.Equal(t, zkproto.BadVersion, try(func(x *znode.Tx) error { _, err := x.SetData("/a/x", []byte("99"), 99); return err }))
	require.Equal(t, "count=3,bytes=4", used(t, tree, "/a"))
	must(t, tree, func(x *znode.Tx) {
		x.Put("/a/imported", []byte("what a binding does is not refused"))
	})
	require.Equal(t, "count=4,bytes=38", used(t, tree, "/a"))
}

func TestQuotaWithSoftLimitTellsAndGoesOn(t *testing.T) {
	var told []string
	tree := guarded(t, func(path string, hard bool) { told = append(told, fmt.Sprint(path, " ", hard)) })
	limit(t, tree, "/a", "count=1,bytes=1")
	create(t, tree, "/a", "1", 0)
	require.Empty(t, told)
	create(t, tree, "/a/b", "1", 0)
	require.Equal(t, []string{"/a false", "/a false"}, told, "count and bytes")
}

// A transaction that fails leaves stats, and which quotas there are, as they
// were.
func TestQuotaOfAFailedTransaction(t *testing.T) {
	tree := guarded(t, nil)
	create(t, tree, "/a", "", 0)
	create(t, tree, "/b", "", 0)
	limit(t, tree, "/a", "")
	before := tree.Stats().DataSize
	none := errors.New("no")
	err := update(t, tree, client, func(x *znode.Tx) error {
		for _, path := range []string{"/a/x", quotaDir + "/b", quotaDir + "/b/zookeeper_limits", quotaDir + "/b/zookeeper_stats", "/b/x"} {
			_, _, err := x.Create(znode.Create{Path: path, Data: []byte("123"), ACL: zkproto.WorldAnyone()})
			require.NoError(t, err)
		}
		require.NoError(t, x.Delete(quotaDir+"/a/zookeeper_limits", -1))
		_, err := x.SetData("/a", []byte("12345"), -1)
		require.NoError(t, err)
		return none
	}).Err
	require.Equal(t, none, err)
	require.Equal(t, "count=1,bytes=0", used(t, tree, "/a"))
	require.Equal(t, before, tree.Stats().DataSize)
	create(t, tree, "/a/y", "1", 0)
	require.Equal(t, "count=2,bytes=1", used(t, tree, "/a"), "/a still has its limits")
}

// The stats are rewritten without a new version, an event, or a trace in Stat but
// for the length.
func TestQuotaStatsChangeSilently(t *testing.T) {
	tree := newTree(t, nil)
	limit(t, tree, "/a", "")
	stats := quotaDir + "/a/zookeeper_stats"
	before := stat(t, tree, stats)
	w := &conn{}
	watch(tree, w, znode.WatchData, stats)
	watch(tree, w, znode.WatchRecursive, quotaDir)
	create(t, tree, "/a", strings.Repeat("x", 1000), 0)
	require.Empty(t, w.take())
	after := stat(t, tree, stats)
	require.EqualValues(t, len("count=1,bytes=1000"), after.DataLength)
	after.DataLength = before.DataLength
	require.Equal(t, before, after)
}

// Of a text that cannot be read a real server stops.
func TestQuotaStatsThatCannotBeReadAreCountedAnew(t *testing.T) {
	tree := guarded(t, nil)
	create(t, tree, "/a", "12", 0)
	limit(t, tree, "/a", "countHardLimit=3")
	for _, text := range []string{"count=x", "nonsense", ",count=1", "count=", "=", "count=99999999999999999999"} {
		setData(t, tree, quotaDir+"/a/zookeeper_stats", text)
		create(t, tree, "/a/b", "3", 0)
		require.Equal(t, "count=2,bytes=3", used(t, tree, "/a"), text)
		remove(t, tree, "/a/b")
	}
	must(t, tree, func(x *znode.Tx) {
		_, err := x.SetData(quotaDir+"/a/zookeeper_stats", nil, -1)
		require.NoError(t, err)
	})
	create(t, tree, "/a/b", "3", 0)
	require.Equal(t, "count=2,bytes=3", used(t, tree, "/a"))

	setData(t, tree, quotaDir+"/a/zookeeper_limits", "count=x")
	require.Equal(t, zkproto.MarshallingError, update(t, tree, client, func(x *znode.Tx) error {
		_, err := x.SetData("/a", nil, -1)
		return err
	}).Err)
}

// The quota of the root stops a real server; here it is none.
func TestQuotaOfTheRoot(t *testing.T) {
	tree := guarded(t, nil)
	create(t, tree, quotaDir+"/zookeeper_limits", "countHardLimit=0", 0)
	create(t, tree, quotaDir+"/zookeeper_stats", "", 0)
	create(t, tree, "/a", "", 0)
	require.Empty(t, used(t, tree, ""))
	remove(t, tree, quotaDir+"/zookeeper_limits")
}

func TestQuotaAfterARestart(t *testing.T) {
	d := newDisk()
	store := open(t, d)
	tree := treeOn(t, store)
	create(t, tree, "/a", "12", 0)
	limit(t, tree, "/a", "")
	create(t, tree, "/a/e", "345", 7)
	create(t, tree, "/a/p", "6", 0)
	create(t, tree, "/b", "12", 0)
	limit(t, tree, "/b", "")
	remove(t, tree, quotaDir+"/b/zookeeper_limits")
	require.Equal(t, "count=3,bytes=6", used(t, tree, "/a"))
	require.NoError(t, store.Flush())
	require.NoError(t, store.Close())
	for range 2 {
		store = open(t, d)
		tree = treeOn(t, store)
		require.Equal(t, "count=3,bytes=6", used(t, tree, "/a"))
		require.Equal(t, "count=1,bytes=2", used(t, tree, "/b"))
		require.NoError(t, store.Close())
	}
	create(t, tree, "/a/q", "7", 0)
	require.Equal(t, "count=4,bytes=7", used(t, tree, "/a"))
}

// A reader of the stats sees what is not durable yet no earlier than a reader of
// the node does.
func TestQuotaStatsWaitForTheDisk(t *testing.T) {
	store := open(t, newDisk())
	tree := treeOn(t, store)
	create(t, tree, "/a", "", 0)
	limit(t, tree, "/a", "")
	require.NoError(t, store.Flush())
	r := create(t, tree, "/a/p", "6", 0)
	tree.View(func(v *znode.View) {
		_, _, err := v.Data(quotaDir+"/a/zookeeper_stats", nil)
		require.NoError(t, err)
		require.Equal(t, r.Zxid, v.Gate())
	})
}

// Whatever is done in whatever transaction, what stands below the deepest quota
// is what its stats say.
func TestQuotaCountsWhatIsThere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tree := newTree(t, nil)
		limit(t, tree, "/a", "")
		limit(t, tree, "/a/b", "")
		paths := rapid.SampledFrom([]string{"/a", "/a/b", "/a/b/c", "/a/d", "/a/b/c/d", "/ab", "/b"})
		for range rapid.IntRange(1, 30).Draw(rt, "transactions") {
			fail := rapid.Float64Range(0, 1).Draw(rt, "fail") < 0.3
			update(t, tree, client, func(x *znode.Tx) error {
				for range rapid.IntRange(1, 4).Draw(rt, "operations") {
					path, data := paths.Draw(rt, "path"), rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(rt, "data")
					switch rapid.SampledFrom([]string{"create", "ephemeral", "delete", "set", "put", "remove", "end"}).Draw(rt, "op") {
					case "create":
						_, _, _ = x.Create(znode.Create{Path: path, Data: data, ACL: zkproto.WorldAnyone()})
					case "ephemeral":
						_, _, _ = x.Create(znode.Create{Path: path, Data: data, ACL: zkproto.WorldAnyone(), Kind: znode.Ephemeral, Owner: 7})
					case "delete":
						_ = x.Delete(path, -1)
					case "set":
						_, _ = x.SetData(path, data, -1)
					case "put":
						x.Put(path, data)
					case "remove":
						x.Remove(path)
					case "end":
						x.CloseSession(7, nil)
					}
				}
				if fail {
					return zkproto.BadVersion
				}
				return nil
			})
			count := map[string][2]int{"/a": {}, "/a/b": {}}
			var size int64
			tree.View(func(v *znode.View) {
				for _, path := range tree.Paths() {
					info, _ := v.Lookup(path)
					size += int64(len(path) + len(info.Data))
					for _, of := range []string{"/a/b", "/a"} {
						if path == of || strings.HasPrefix(path, of+"/") {
							count[of] = [2]int{count[of][0] + 1, count[of][1] + len(info.Data)}
							break
						}
					}
				}
			})
			for of, c := range count {
				require.Equal(rt, fmt.Sprintf("count=%d,bytes=%d", c[0], c[1]), used(t, tree, of))
			}
			require.Equal(rt, size, tree.Stats().DataSize)
		}
	})
}

func FuzzQuotaText(f *testing.F) {
	for _, text := range []string{"count=1,bytes=2", "count=1,bytes=2=;byteHardLimit=3;countHardLimit=4", "", ",", "=", "a=b", "x=1,x=2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		again, ok := znode.QuotaText([]byte(text))
		if !ok {
			return
		}
		if twice, ok := znode.QuotaText(again); !ok || string(twice) != string(again) {
			t.Errorf("%q is written %q, which is written %q (%v)", text, again, twice, ok)
		}
	})
}
