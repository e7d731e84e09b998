package znode_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// kept is what must outlive the process: persistent nodes.
func kept(tree *znode.Tree) map[string]znode.Info {
	all := dump(tree)
	for path, n := range all {
		if n.Kind == znode.Ephemeral {
			delete(all, path)
		}
	}
	return all
}

// outliving is what must outlive the process while the machine goes on: all that
// was not imported.
func outliving(tree *znode.Tree) map[string]znode.Info {
	all := dump(tree)
	for path, n := range all {
		if n.Imported {
			delete(all, path)
		}
	}
	return all
}

// creates is the create counter as the wire shows it.
func creates(n znode.Info) int32 { return (n.Stat.Cversion + n.Stat.NumChildren) / 2 }

// survives reports whether a tree that was started with zxid start can be what
// was kept. A directory that had ephemerals lost them with the start, and its
// counter stands where it was reserved.
func survives(was, now map[string]znode.Info, start int64) bool {
	if len(was) != len(now) {
		return false
	}
	for path, w := range was {
		n, ok := now[path]
		if !ok {
			return false
		}
		switch jump := creates(n) - creates(w); {
		case jump < 0 || jump > znode.CounterBlock:
			return false
		case n.Stat.Pzxid == start:
		case n.Stat.Pzxid != w.Stat.Pzxid || jump > 0:
			return false
		}
		n.Stat.Pzxid, n.Stat.Cversion, n.Stat.NumChildren = w.Stat.Pzxid, w.Stat.Cversion, w.Stat.NumChildren
		if !reflect.DeepEqual(n, w) {
			return false
		}
	}
	return true
}

// moment is the tree after a transaction.
type moment struct {
	zxid int64
	kept map[string]znode.Info
}

// promise is something that was queued for a client, to leave once gate is
// durable.
type promise struct {
	gate int64
	name string // of a sequential node
	zxid int64
}

// TestCrashLosesNothingAcknowledged runs random histories, cuts the file at
// random places behind what was synced, and starts again from it: the tree must
// be as it was after one of the transactions, none that was acknowledged may be
// missing, and no zxid and no sequence number that was shown may come back.
func TestCrashLosesNothingAcknowledged(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newDisk()
		reserve := rapid.SampledFrom([]int64{3, 1000}).Draw(r, "reserve")
		store, err := tryOpen(d, reserve)
		require.NoError(r, err)
		tree := treeOn(t, store)
		cluster, incarnation := store.ClusterID(), store.Incarnation()
		history := []moment{{0, kept(tree)}}
		var promises []promise
		seen := make(map[string]bool) // sequence names that were shown
		var highest int64             // zxid that was shown

		path := rapid.SampledFrom([]string{"/", "/a", "/b", "/a/a", "/a/b", "/a/a/a", "/b/c"})
		owner := rapid.SampledFrom([]int64{0, 0, 0, 1})
		data := rapid.SampledFrom([][]byte{nil, {}, []byte("x"), bytes.Repeat([]byte("long"), 50)})
		lists := rapid.SampledFrom([][]zkproto.ACL{zkproto.WorldAnyone(), acl(31, "ip", "10.0.0.1"), acl(1, "world", "anyone")})
		super := znode.Origin{Kind: znode.Operation, Identities: []znode.Identity{{Scheme: "super"}}}

		settle := func() { // what could have left by now counts as shown
			for _, p := range promises {
				if p.gate > tree.Durable() {
					continue
				}
				highest = max(highest, p.zxid)
				if p.name != "" {
					require.False(r, seen[p.name], "%s came back", p.name)
					seen[p.name] = true
				}
			}
			promises = nil
		}
		step := func(x *znode.Tx) (name string, err error) {
			p, d := path.Draw(r, "path"), data.Draw(r, "data")
			switch rapid.IntRange(0, 9).Draw(r, "op") {
			case 0, 1, 2:
				c := znode.Create{Path: p, Data: d, ACL: lists.Draw(r, "acl"), Owner: owner.Draw(r, "owner")}
				if c.Owner != 0 {
					c.Kind = znode.Ephemeral
				}
				_, _, err = x.Create(c)
			case 3:
				c := znode.Create{Path: p + "/s-", ACL: zkproto.WorldAnyone(), Owner: owner.Draw(r, "owner"), Sequential: true}
				if p == "/" {
					c.Path = "/s-"
				}
				if c.Owner != 0 {
					c.Kind = znode.Ephemeral
				}
				name, _, err = x.Create(c)
				if st, e := x.View().Exists(p, super.Identities); e == nil && name != "" {
					name = fmt.Sprintf("%s below czxid %d", name, st.Czxid) // a directory made anew counts anew
				}
			case 4:
				err = x.Delete(p, -1)
			case 5, 6:
				_, err = x.SetData(p, d, -1)
			case 7:
				_, err = x.SetACL(p, lists.Draw(r, "acl"), -1)
			case 8:
				x.CloseSession(1, nil)
			case 9:
				if rapid.Bool().Draw(r, "put") {
					x.Put(p, d)
				} else {
					x.Remove(p)
				}
			}
			return name, err
		}
		r.Repeat(map[string]func(*rapid.T){
			"one": func(*rapid.T) {
				var name string
				result := update(t, tree, super, func(x *znode.Tx) (err error) { name, err = step(x); return err })
				if result.Err != nil {
					name = ""
				}
				promises = append(promises, promise{result.Gate, name, result.Zxid})
				history = append(history, moment{result.Zxid, kept(tree)})
			},
			"multi": func(*rapid.T) {
				result := update(t, tree, super, func(x *znode.Tx) error {
					for range rapid.IntRange(0, 4).Draw(r, "length") {
						if _, err := step(x); err != nil {
							return err
						}
					}
					return nil
				})
				promises = append(promises, promise{result.Gate, "", result.Zxid})
				history = append(history, moment{result.Zxid, kept(tree)})
			},
			"sequence": func(*rapid.T) {
				var name string
				result := update(t, tree, super, func(x *znode.Tx) (err error) {
					name, _, err = x.Create(znode.Create{Path: "/s-", ACL: zkproto.WorldAnyone(), Kind: znode.Ephemeral, Owner: 1, Sequential: true})
					return err
				})
				require.NoError(r, result.Err)
				promises = append(promises, promise{result.Gate, name + " below czxid 0", result.Zxid})
				history = append(history, moment{result.Zxid, kept(tree)})
			},
			"flush": func(*rapid.T) {
				require.NoError(r, store.Flush())
				settle()
			},
			"snapshot": func(*rapid.T) { // what happens between its beginning and its end is in both files
				store.BeginSnapshot()
				for range rapid.IntRange(0, 3).Draw(r, "meanwhile") {
					result := update(t, tree, super, func(x *znode.Tx) error { _, err := step(x); return err })
					promises = append(promises, promise{result.Gate, "", result.Zxid})
					history = append(history, moment{result.Zxid, kept(tree)})
				}
				store.EndSnapshot()
				require.NoError(r, tree.Trouble())
				settle()
			},
			"kill": func(*rapid.T) { // the process dies, the machine goes on
				settle()
				tree.EnsureWritten()
				want, zxid := outliving(tree), tree.Zxid()
				d = later(d)
				store, err = tryOpen(d, reserve)
				require.NoError(r, err)
				incarnation++
				tree = treeOn(t, store)
				if store.Whole() && zxid > 0 { // this machine says which boot it is
					require.Equal(r, zxid+1, tree.Zxid())
				}
				now := outliving(tree)
				require.True(r, survives(want, now, tree.Zxid()), "%v became %v", want, now)
				history = []moment{{tree.Zxid(), kept(tree)}}
			},
			"crash": func(*rapid.T) {
				settle()
				acknowledged, from := tree.Durable(), d.synced()
				if rapid.Bool().Draw(r, "writing") { // it dies in the middle of a write
					require.NoError(r, store.Flush())
				}
				cut := rapid.IntRange(from, len(d.content())).Draw(r, "cut")
				content := bytes.Clone(d.content()[:cut])
				if rapid.Bool().Draw(r, "zeros") { // the file had grown already, its bytes had not arrived
					content = append(content, make([]byte, len(d.content())-cut)...)
				}
				if rapid.IntRange(0, 3).Draw(r, "clean") == 0 && cut == len(d.content()) {
					require.NoError(r, store.Close())
					content = bytes.Clone(d.content())
				}
				d = withFile(content)
				store, err = tryOpen(d, reserve)
				require.NoError(r, err)
				incarnation++
				require.Equal(r, incarnation, store.Incarnation())
				require.Equal(r, cluster, store.ClusterID())
				tree = treeOn(t, store)
				require.True(r, tree.Zxid() > highest || highest == 0, "clock 0x%x, shown 0x%x", tree.Zxid(), highest)
				now, found := kept(tree), false
				for i := len(history) - 1; i >= 0 && !found; i-- {
					found = survives(history[i].kept, now, tree.Zxid())
					if history[i].zxid <= acknowledged {
						break
					}
				}
				require.True(r, found, "the tree is not as it was at any moment since 0x%x", acknowledged)
				history = []moment{{tree.Zxid(), now}}
			},
		})
	})
}
