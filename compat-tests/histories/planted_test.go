//go:build compat

package histories_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/histories"
	"zkbridge/zkproto"
)

const (
	header = zkproto.ReplyHeaderSize
	root   = "/wire"
)

// sample is a history in which every lie below is told.
func sample() histories.History {
	create := func(path string, flags zkproto.CreateFlags) histories.Request {
		return histories.Request{Op: zkproto.OpCreate2, Body: &zkproto.CreateRequest{Path: path, Data: []byte{}, ACL: zkproto.WorldAnyone(), Flags: flags}}
	}
	exists := func(path string) histories.Request {
		return histories.Request{Op: zkproto.OpExists, Body: &zkproto.ExistsRequest{Path: path, Watch: true}}
	}
	send := func(client int, requests ...histories.Request) histories.Step {
		return histories.Step{Client: client, Kind: histories.Send, Requests: requests}
	}
	a := root + "/a"
	return histories.History{
		send(0, exists(a)),
		send(1, create(a, zkproto.FlagEphemeral)),
		send(0, exists(a),
			histories.Request{Op: zkproto.OpGetData, Body: &zkproto.GetDataRequest{Path: a, Watch: true}},
			histories.Request{Op: zkproto.OpGetChildren2, Body: &zkproto.GetChildren2Request{Path: root, Watch: true}},
			histories.Request{Op: zkproto.OpGetACL, Body: &zkproto.GetACLRequest{Path: a}},
			histories.Request{Op: zkproto.OpMulti, Body: &zkproto.MultiRequest{Ops: []zkproto.MultiOp{
				{Op: zkproto.OpCheck, Path: a, Version: 0}, {Op: zkproto.OpCheck, Path: a, Version: 7},
			}}},
			histories.Request{Op: zkproto.OpPing, Xid: zkproto.XidPing}),
		send(1, histories.Request{Op: zkproto.OpSetData, Body: &zkproto.SetDataRequest{Path: a, Data: []byte("x"), Version: 0}}),
		send(0, exists(a), exists(root+"/none")),
		{Client: 1, Kind: histories.Close},
		send(0, histories.Request{Op: zkproto.OpDelete, Body: &zkproto.DeleteRequest{Path: a, Version: -1}}),
	}
}

// planted are bugs that a server could have.
func planted() map[string]lie {
	one := func(frame []byte) [][]byte { return [][]byte{frame} }
	// change alters the frames of an operation that are answered with OK.
	change := func(op zkproto.OpCode, change func(frame []byte) [][]byte) lie {
		return func(got zkproto.OpCode, frame []byte) [][]byte {
			ok := got == zkproto.OpCreateSession || len(frame) >= header && binary.BigEndian.Uint32(frame[12:]) == 0
			if got != op || !ok {
				return one(frame)
			}
			return change(frame)
		}
	}
	// add adds to the last byte of a field.
	add := func(op zkproto.OpCode, lastByte int, n byte) lie {
		return change(op, func(frame []byte) [][]byte {
			if lastByte < 0 {
				lastByte += len(frame)
			}
			frame[lastByte] += n
			return one(frame)
		})
	}
	stat := func(lastByte int) lie { return add(zkproto.OpExists, header+lastByte, 1) }
	list := map[string]lie{
		"czxid": stat(7), "mzxid": stat(15), "ctime": add(zkproto.OpExists, header+20, 1), "mtime": add(zkproto.OpExists, header+28, 1),
		"version": stat(35), "cversion": stat(39), "aversion": stat(43), "owner": stat(51), "data length": stat(55), "children": stat(59), "pzxid": stat(67),
		"zxid of a reply":            add(zkproto.OpExists, 11, 1),
		"zxid of a ping":             add(zkproto.OpPing, 11, 1),
		"xid":                        add(zkproto.OpExists, 3, 1),
		"zxid of an event":           add(zkproto.OpNotification, 11, 1),
		"type of an event":           add(zkproto.OpNotification, header+3, 1),
		"state of an event":          add(zkproto.OpNotification, header+7, 1),
		"path of an event":           add(zkproto.OpNotification, -1, 1),
		"data":                       add(zkproto.OpGetData, header+3, 255),
		"name of a child":            add(zkproto.OpGetChildren2, header+8, 1),
		"permissions":                add(zkproto.OpGetACL, header+7, 255),
		"path of a create":           add(zkproto.OpCreate2, header+4+len(root)+1, 1),
		"code in a multi":            add(zkproto.OpMulti, -10, 1),
		"timeout":                    add(zkproto.OpCreateSession, 7, 1),
		"version of the protocol":    add(zkproto.OpCreateSession, 3, 1),
		"an event is lost":           change(zkproto.OpNotification, func([]byte) [][]byte { return nil }),
		"an event comes twice":       change(zkproto.OpNotification, func(frame []byte) [][]byte { return [][]byte{frame, frame} }),
		"bytes behind a reply":       change(zkproto.OpExists, func(frame []byte) [][]byte { return one(append(frame, 0)) }),
		"the read-only byte is lost": change(zkproto.OpCreateSession, func(frame []byte) [][]byte { return one(frame[:len(frame)-1]) }),
		"a password of 17 bytes": change(zkproto.OpCreateSession, func(frame []byte) [][]byte {
			frame[19]++
			return one(append(frame, 0))
		}),
	}
	list["another code"] = func(op zkproto.OpCode, frame []byte) [][]byte {
		if op == zkproto.OpDelete && frame[15] != 0 {
			frame[15]--
		}
		return one(frame)
	}
	return list
}

// once tells a lie the first time that it makes a difference, and the truth
// before and after.
func once(l lie, told *atomic.Int32) lie {
	return func(op zkproto.OpCode, frame []byte) [][]byte {
		truth := string(frame)
		if told.Load() == 0 {
			lied := l(op, frame)
			if len(lied) != 1 || string(lied[0]) != truth {
				told.Add(1)
				return lied
			}
		}
		return [][]byte{[]byte(truth)}
	}
}

// TestPlantedBugs compares the bridge with a bridge that lies once.
func TestPlantedBugs(t *testing.T) {
	honest := control.Start(t, control.Bridge, options()).Addr()
	other := options()
	other.Dir = control.ScratchDir(t, "liar")
	liar := newLiar(t, control.Start(t, control.Bridge, other).Addr())
	pair := newPair(t, honest, liar.addr())
	truth := *liar.lie.Load()
	require.Empty(t, pair.play(sample(), false), "without a lie")
	for name, l := range planted() {
		t.Run(name, func(t *testing.T) {
			var told atomic.Int32
			liar.tell(once(l, &told))
			difference := pair.play(sample(), false)
			liar.tell(truth)
			require.EqualValues(t, 1, told.Load(), "the lie was not told")
			require.NotEmpty(t, difference)
			require.Empty(t, pair.play(sample(), false), "afterwards")
		})
	}
	t.Run("shortened", func(t *testing.T) { shortened(t, pair, liar) })
}

// shortened plants a bug that random histories have to find: a deleted node that
// was watched with exists is not told of.
func shortened(t *testing.T, pair *pair, liar *liar) {
	for name, value := range map[string]string{"rapid.checks": "200", "rapid.shrinktime": "3m", "rapid.seed": "1", "rapid.nofailfile": "true"} {
		old := flag.Lookup(name).Value.String()
		require.NoError(t, flag.Set(name, value))
		t.Cleanup(func() { _ = flag.Set(name, old) })
	}
	liar.tell(func(op zkproto.OpCode, frame []byte) [][]byte {
		if op == zkproto.OpNotification && zkproto.EventType(frame[header+3]) == zkproto.EventDeleted {
			return nil
		}
		return [][]byte{frame}
	})
	var last histories.History
	report := &report{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(report) {
				panic(r)
			}
		}()
		rapid.Check(report, func(t *rapid.T) {
			h := histories.Draw(false).Draw(t, "history")
			want, got, _ := pair.once(h, false) // the lie is no race
			if difference := histories.Compare(want, got); difference != "" {
				last = h
				t.Fatalf("%s%v", difference, h)
			}
		})
	}()
	require.True(t, report.failed, "not found")
	require.Contains(t, report.text.String(), "want ! NodeDeleted")
	requests := 0
	for _, s := range last {
		requests += max(1, len(s.Requests))
	}
	require.LessOrEqual(t, requests, 4, "not shortened:\n%v", last)
	t.Logf("found and shortened to\n%v", last)
}

// report is what rapid reports a failure to.
type report struct {
	testing.TB
	failed bool
	text   strings.Builder
}

func (r *report) Logf(format string, args ...any)   { fmt.Fprintf(&r.text, format+"\n", args...) }
func (r *report) Log(args ...any)                   { fmt.Fprintln(&r.text, args...) }
func (r *report) Errorf(format string, args ...any) { r.Logf(format, args...); r.failed = true }
func (r *report) Error(args ...any)                 { r.Log(args...); r.failed = true }
func (r *report) Fatalf(format string, args ...any) { r.Errorf(format, args...); panic(r) }
func (r *report) Fatal(args ...any)                 { r.Error(args...); panic(r) }
func (r *report) FailNow()                          { r.failed = true; panic(r) }
func (r *report) Fail()                             { r.failed = true }
func (r *report) Failed() bool                      { return r.failed }
