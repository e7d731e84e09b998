package server_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/zkproto"
)

// bad is a request body that cannot be decoded.
type bad []byte

func (b bad) AppendTo(dst []byte) []byte { return append(dst, b...) }

// Every attempted write spends one zxid, also one that fails, and its reply
// carries it; reads spend none (spec 2.2).
func TestZxids(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	require.EqualValues(t, 1, c.ok(zkproto.OpPing, nil).Zxid, "the session's own transaction")
	next := int64(1)
	write := func(f frame) {
		t.Helper()
		next++
		require.Equal(t, next, f.Zxid)
	}
	read := func(f frame) {
		t.Helper()
		require.Equal(t, next, f.Zxid)
	}
	write(c.ok(zkproto.OpCreate, create("/a", zkproto.FlagPersistent)))
	write(c.fails(zkproto.NodeExists, zkproto.OpCreate, create("/a", zkproto.FlagPersistent)))
	write(c.ok(zkproto.OpCreate2, create("/a/b", zkproto.FlagEphemeral)))
	write(c.ok(zkproto.OpCreateContainer, create("/c", zkproto.FlagContainer)))
	read(c.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/none"}))
	read(c.ok(zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/a"}))
	write(c.ok(zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/a", Version: 0}))
	write(c.fails(zkproto.BadVersion, zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/a", Version: 0}))
	write(c.ok(zkproto.OpSetACL, &zkproto.SetACLRequest{Path: "/a", ACL: zkproto.WorldAnyone(), Version: -1}))
	write(c.fails(zkproto.NotEmpty, zkproto.OpDelete, &zkproto.DeleteRequest{Path: "/a", Version: -1}))
	write(c.fails(zkproto.Unimplemented, zkproto.OpCreate, create("/ttl", zkproto.FlagTTL)))
	write(c.fails(zkproto.Unimplemented, zkproto.OpCreateTTL, &zkproto.CreateTTLRequest{
		Path: "/ttl", ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagTTL, TTL: 5,
	}))
	write(c.fails(zkproto.BadArguments, zkproto.OpCreate, create("/flags", 7)))
	write(c.fails(zkproto.ReconfigDisabled, zkproto.OpReconfig, &zkproto.ReconfigRequest{CurrentConfig: -1}))
	read(c.fails(zkproto.MarshallingError, zkproto.OpCreate, bad{0, 0, 0, 9}))
	write(c.fails(zkproto.MarshallingError, zkproto.OpMulti, bad{0, 0, 0, 9}))
	write(c.ok(zkproto.OpMulti, &zkproto.MultiRequest{}))
	read(c.ok(zkproto.OpMultiRead, &zkproto.MultiReadRequest{}))
	read(c.fails(zkproto.MarshallingError, zkproto.OpMultiRead, bad{0, 0, 0, 9}))
	read(c.fails(zkproto.Unimplemented, zkproto.OpDeleteContainer, &zkproto.DeleteContainerRequest{Path: []byte("/c")}))
	read(c.ok(zkproto.OpSync, &zkproto.SyncRequest{Path: "/"}))
	other := b.connect()
	next++ // its session
	read(c.ok(zkproto.OpPing, nil))
	last := other.ok(zkproto.OpCloseSession, nil)
	write(last)
	other.closed()
	require.Zero(t, c.ok(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("u:p")}).Zxid)
	require.Zero(t, c.ok(zkproto.OpSASL, &zkproto.SASLRequest{Token: []byte{}}).Zxid)
	read(c.ok(zkproto.OpPing, nil))
}

func TestCreateForms(t *testing.T) {
	c := serve(t, options{}).connect()
	require.Equal(t, "/p", c.create("/p", zkproto.FlagPersistent))
	require.Equal(t, "/p/s0000000000", c.create("/p/s", zkproto.FlagPersistentSequential))
	require.Equal(t, "/p/0000000001", c.create("/p/", zkproto.FlagEphemeralSequential))
	require.Equal(t, c.id, c.stat("/p/0000000001").EphemeralOwner)

	var m zkproto.Create2Response
	f := c.ok(zkproto.OpCreate2, create("/p/two", zkproto.FlagEphemeral, 1, 2, 3))
	require.NoError(t, m.Decode(f.body))
	require.Equal(t, "/p/two", m.Path)
	require.Equal(t, c.stat("/p/two"), m.Stat)
	require.Equal(t, c.id, m.Stat.EphemeralOwner)

	f = c.ok(zkproto.OpCreateContainer, create("/box", zkproto.FlagContainer))
	require.NoError(t, m.Decode(f.body))
	require.Zero(t, m.Stat.EphemeralOwner)
	// A container by its opcode, whatever its flags; and a plain node by its.
	c.ok(zkproto.OpCreateContainer, create("/box2", zkproto.FlagEphemeral))
	c.create("/box2/child", zkproto.FlagPersistent)
	require.Equal(t, "/plain", c.create("/plain", zkproto.FlagContainer))

	c.fails(zkproto.BadArguments, zkproto.OpCreateTTL, &zkproto.CreateTTLRequest{Path: "/x", ACL: zkproto.WorldAnyone(), TTL: -1})
	c.fails(zkproto.InvalidACL, zkproto.OpCreate, &zkproto.CreateRequest{Path: "/x"})
	c.fails(zkproto.NoChildrenForEphemerals, zkproto.OpCreate, create("/p/two/x", zkproto.FlagPersistent))
}

func TestReads(t *testing.T) {
	c := serve(t, options{}).connect()
	null := create("/null", zkproto.FlagPersistent)
	null.Data = nil
	c.ok(zkproto.OpCreate, null)
	c.create("/empty", zkproto.FlagPersistent)
	large := bytes.Repeat([]byte("0123456789abcdef"), 8000)
	big := create("/big", zkproto.FlagPersistent)
	big.Data = large
	c.ok(zkproto.OpCreate, big)

	var data zkproto.GetDataResponse
	for path, want := range map[string][]byte{"/null": nil, "/empty": {}, "/big": large} {
		require.NoError(t, data.Decode(c.ok(zkproto.OpGetData, &zkproto.GetDataRequest{Path: path}).body))
		require.Equal(t, want, data.Data, path)
		require.EqualValues(t, len(want), data.Stat.DataLength)
	}
	names := []string{"null", "empty", "big", "zookeeper"}
	var list zkproto.GetChildrenResponse
	for _, root := range []string{"/", ""} {
		require.NoError(t, list.Decode(c.ok(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: root}).body))
		require.ElementsMatch(t, names, list.Children)
	}
	var list2 zkproto.GetChildren2Response
	require.NoError(t, list2.Decode(c.ok(zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: "/"}).body))
	require.ElementsMatch(t, names, list2.Children)
	require.EqualValues(t, 4, list2.Stat.NumChildren)
	require.NoError(t, list.Decode(c.ok(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: "/empty"}).body))
	require.Equal(t, []string{}, list.Children)

	var sync zkproto.SyncResponse
	require.NoError(t, sync.Decode(c.ok(zkproto.OpSync, &zkproto.SyncRequest{Path: "no path \U0001f600"}).body))

	var count zkproto.GetAllChildrenNumberResponse
	require.NoError(t, count.Decode(c.ok(zkproto.OpGetAllChildrenNumber, &zkproto.GetAllChildrenNumberRequest{Path: "/"}).body))
	require.EqualValues(t, 6, count.Count)

	var acl zkproto.GetACLResponse
	require.NoError(t, acl.Decode(c.ok(zkproto.OpGetACL, &zkproto.GetACLRequest{Path: "/null"}).body))
	require.Equal(t, zkproto.WorldAnyone(), acl.ACL)

	c.create("/null/e", zkproto.FlagEphemeral)
	c.create("/e", zkproto.FlagEphemeral)
	var eph zkproto.GetEphemeralsResponse
	for prefix, want := range map[string][]string{"": {"/e", "/null/e"}, "/": {"/e", "/null/e"}, "/nu": {"/null/e"}, "/x": {}} {
		require.NoError(t, eph.Decode(c.ok(zkproto.OpGetEphemerals, &zkproto.GetEphemeralsRequest{Prefix: prefix}).body))
		slices.Sort(eph.Paths)
		require.Equal(t, want, eph.Paths, "prefix %q", prefix)
	}
	for _, op := range []zkproto.OpCode{zkproto.OpGetData, zkproto.OpGetChildren, zkproto.OpGetChildren2, zkproto.OpExists} {
		c.fails(zkproto.NoNode, op, &zkproto.GetDataRequest{Path: "/null/"})
		c.fails(zkproto.MarshallingError, op, bad{255, 255, 255, 255, 0}) // null path
	}
}

// A list too large for one chunk leaves as one shared body, whole and unmixed.
func TestLargeList(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	c.create("/dir", zkproto.FlagPersistent)
	want := make([]string, 1000)
	for i := range want {
		want[i] = c.create("/dir/a-name-that-is-about-as-long-as-the-names-of-providers-are-in-practice-", zkproto.FlagPersistentSequential)[len("/dir/"):]
	}
	for range 20 { // pipelined, with small replies between
		c.send(zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: "/dir"})
		c.send(zkproto.OpPing, nil)
	}
	for range 20 {
		var m zkproto.GetChildren2Response
		require.NoError(t, m.Decode(c.reply().body))
		require.ElementsMatch(t, want, m.Children)
		require.EqualValues(t, 1000, m.Stat.NumChildren)
		require.Equal(t, zkproto.XidPing, c.reply().Xid)
	}
	require.Zero(t, b.server.Stats().PendingBytes)
}

func TestMulti(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	w := b.connect()
	c.create("/m", zkproto.FlagPersistent)
	w.watchChildren("/m")
	w.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/m/a", Watch: true})
	acl := zkproto.WorldAnyone()

	var m zkproto.MultiResponse
	f := c.ok(zkproto.OpMulti, &zkproto.MultiRequest{Ops: []zkproto.MultiOp{
		{Op: zkproto.OpCreate, Path: "/m/a", ACL: acl},
		{Op: zkproto.OpCreate, Path: "/m/a/b", ACL: acl, Flags: zkproto.FlagEphemeral},
		{Op: zkproto.OpCreate, Path: "/m/box", ACL: acl, Flags: zkproto.FlagContainer},
		{Op: zkproto.OpCreate2, Path: "/m/s", ACL: acl, Flags: zkproto.FlagPersistentSequential},
		{Op: zkproto.OpCreateContainer, Path: "/m/c", ACL: acl, Flags: zkproto.FlagContainer},
		{Op: zkproto.OpSetData, Path: "/m/a", Data: []byte{1}, Version: 0},
		{Op: zkproto.OpCheck, Path: "/m/a", Version: 1},
		{Op: zkproto.OpDelete, Path: "/m/c", Version: -1},
	}})
	require.NoError(t, m.Decode(f.body))
	ops := make([]zkproto.OpCode, 0, len(m.Results))
	for _, r := range m.Results {
		ops = append(ops, r.Op)
	}
	require.Equal(t, []zkproto.OpCode{1, 1, 15, 15, 15, 5, 13, 2}, ops)
	require.Equal(t, "/m/s0000000002", m.Results[3].Path)
	require.EqualValues(t, 1, m.Results[5].Stat.Version)
	require.Equal(t, f.Zxid, c.stat("/m/a").Mzxid)
	require.Equal(t, f.Zxid, c.stat("/m/a/b").Czxid)
	require.Equal(t, []event{
		{zkproto.EventCreated, "/m/a", f.Zxid}, {zkproto.EventChildrenChanged, "/m", f.Zxid},
	}, w.take())

	f = c.ok(zkproto.OpMulti, &zkproto.MultiRequest{Ops: []zkproto.MultiOp{
		{Op: zkproto.OpCreate, Path: "/m/new", ACL: acl},
		{Op: zkproto.OpCheck, Path: "/m/a", Version: 9},
		{Op: zkproto.OpDelete, Path: "/m/a", Version: -1},
	}})
	require.NoError(t, m.Decode(f.body))
	require.Equal(t, []zkproto.MultiResult{
		{Op: zkproto.OpError}, {Op: zkproto.OpError, Err: zkproto.BadVersion}, {Op: zkproto.OpError, Err: zkproto.RuntimeInconsistency},
	}, m.Results)
	c.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/m/new"})
	require.Empty(t, w.take())

	f = c.ok(zkproto.OpMulti, &zkproto.MultiRequest{Ops: []zkproto.MultiOp{
		{Op: zkproto.OpCreateTTL, Path: "/m/ttl", ACL: acl, Flags: zkproto.FlagTTL, TTL: 1},
	}})
	require.NoError(t, m.Decode(f.body))
	require.Equal(t, zkproto.Unimplemented, m.Results[0].Err)
	require.Len(t, c.ok(zkproto.OpMulti, &zkproto.MultiRequest{}).body, 9)
	for _, ops := range [][]zkproto.MultiOp{
		{{Op: zkproto.OpGetData, Path: "/m"}},
		{{Op: zkproto.OpCreate, Path: "/m/x", ACL: acl, Flags: 9}},
		{{Op: zkproto.OpCreate, Path: "/m/x", ACL: acl, Flags: zkproto.FlagTTL}},
		{{Op: zkproto.OpCreate, Path: "/m/new", ACL: acl}, {Op: zkproto.OpCreate, Path: "/m/x", ACL: []zkproto.ACL{{Perms: zkproto.PermAll, Scheme: "world", ID: zkproto.Null}}}},
	} {
		before := c.zxid
		require.Equal(t, before+1, c.fails(zkproto.MarshallingError, zkproto.OpMulti, &zkproto.MultiRequest{Ops: ops}).Zxid)
	}
	c.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/m/new"})
	f = c.ok(zkproto.OpMulti, &zkproto.MultiRequest{Ops: []zkproto.MultiOp{ // the null is not reached
		{Op: zkproto.OpCreate, Path: "/m/x", ACL: []zkproto.ACL{{Scheme: "nobody"}, {Scheme: "world", ID: zkproto.Null}}},
	}})
	require.NoError(t, m.Decode(f.body))
	require.Equal(t, zkproto.InvalidACL, m.Results[0].Err)

	before := c.zxid
	null := []zkproto.MultiOp{{Op: zkproto.OpCreate, Path: "/m/x"}}
	require.Equal(t, before, c.fails(zkproto.MarshallingError, zkproto.OpMulti, &zkproto.MultiRequest{Ops: null}).Zxid)
}

// Field report 15: addWatch has a body of four bytes, checkWatches and
// removeWatches have none.
func TestFieldReport15FrameLengths(t *testing.T) {
	c := serve(t, options{}).connect()
	for mode := range zkproto.AddWatchMode(2) {
		f := c.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/a", Mode: mode})
		require.Equal(t, 20, f.size)
		require.Equal(t, []byte{0, 0, 0, 0}, f.body)
	}
	require.Equal(t, 16, c.ok(zkproto.OpCheckWatches, &zkproto.CheckWatchesRequest{Path: "/a", Type: zkproto.WatcherAny}).size)
	require.Equal(t, 16, c.ok(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: "/a", Type: zkproto.WatcherPersistent}).size)
	require.Equal(t, 16, c.ok(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: "/a", Type: zkproto.WatcherAny}).size)
	for _, op := range []zkproto.OpCode{zkproto.OpCheckWatches, zkproto.OpRemoveWatches} {
		require.Equal(t, 16, c.fails(zkproto.NoWatcher, op, &zkproto.CheckWatchesRequest{Path: "/a", Type: zkproto.WatcherAny}).size)
		c.fails(zkproto.MarshallingError, op, &zkproto.CheckWatchesRequest{Path: "/a", Type: 6})
	}
	require.Equal(t, 16, c.fails(zkproto.MarshallingError, zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/a", Mode: 2}).size)
}

func TestAuth(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	who := func() []zkproto.ClientInfo {
		t.Helper()
		var m zkproto.WhoAmIResponse
		require.NoError(t, m.Decode(c.ok(zkproto.OpWhoAmI, nil).body))
		return m.Identities
	}
	require.Equal(t, []zkproto.ClientInfo{{Scheme: "ip", User: "127.0.0.1"}}, who())
	for range 2 { // a set
		c.ok(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("joe:secret")})
	}
	c.ok(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("nocolon")})
	c.ok(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "ip", Auth: []byte("whatever")})
	require.Equal(t, []zkproto.ClientInfo{{Scheme: "ip", User: "127.0.0.1"}, {Scheme: "digest", User: "joe"}, {Scheme: "digest", User: "nocolon"}}, who())

	c.ok(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/mine", ACL: []zkproto.ACL{{Perms: zkproto.PermAll, Scheme: "auth"}}})
	c.ok(zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/mine"})
	var acl zkproto.GetACLResponse
	require.NoError(t, acl.Decode(c.ok(zkproto.OpGetACL, &zkproto.GetACLRequest{Path: "/mine"}).body))
	require.Equal(t, "joe:oesAybBun9icKJjQSTRN8OBueSc=", acl.ACL[0].ID)
	stranger := b.connect()
	stranger.fails(zkproto.NoAuth, zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/mine"})

	for _, m := range []zkproto.AuthRequest{
		{Scheme: "kerberos", Auth: []byte("x")}, {Scheme: "world", Auth: []byte("anyone")}, {Scheme: "digest"}, {Scheme: zkproto.Null},
	} {
		c := b.connect()
		f := c.fails(zkproto.AuthFailed, zkproto.OpAuth, &m)
		require.Zero(t, f.Zxid)
		c.closed()
	}
	c = b.connect()
	c.send(zkproto.OpAuth, bad{0, 0, 0, 0, 0, 0, 1})
	c.closed()
}

func TestSASL(t *testing.T) {
	c := serve(t, options{}).connect()
	f := c.ok(zkproto.OpSASL, &zkproto.SASLRequest{Token: []byte("hello")})
	require.Equal(t, []byte{255, 255, 255, 255}, f.body)
	c.ok(zkproto.OpPing, nil)
	c.send(zkproto.OpSASL, &zkproto.SASLRequest{})
	c.closed()
}

// An opcode that no client may send: -6, zxid -1, and the connection is closed
// behind the reply; requests behind it are not carried out.
func TestUnknownOperations(t *testing.T) {
	b := serve(t, options{})
	for _, op := range []zkproto.OpCode{zkproto.OpCheck, zkproto.OpNotification, 10, 23, 99, 108, 888, -1, zkproto.OpCreateSession, math.MinInt32, 256 + 4} {
		c := b.connect()
		c.create("/before", zkproto.FlagEphemeral)
		batch := request(7, op, &zkproto.CheckRequest{Path: "/", Version: -1})
		batch = append(batch, request(8, zkproto.OpCreate, create("/behind", zkproto.FlagPersistent))...)
		_, err := c.nc.Write(batch)
		require.NoError(t, err)
		f := c.reply()
		require.Equal(t, zkproto.ReplyHeader{Xid: 7, Zxid: -1, Err: zkproto.Unimplemented}, f.ReplyHeader, "operation %d", op)
		require.Empty(t, f.body)
		require.Empty(t, c.closed())
		again := b.resume(c)
		require.Equal(t, c.id, again.id, "the session stays")
		again.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/behind"})
		again.delete("/before")
	}
}

func TestFrameLimits(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	m := create("/x", zkproto.FlagEphemeral)
	overhead := len(request(1, zkproto.OpCreate, m)) - 4
	m.Data = make([]byte, 0xfffff-overhead)
	c.ok(zkproto.OpCreate, m) // exactly the limit
	m.Path, m.Data = "/y", append(m.Data, 0)
	_, _ = c.nc.Write(request(2, zkproto.OpCreate, m)) // may be reset before all of it is out
	c.closed()
	for _, frame := range [][]byte{{0, 0, 0, 0}, {0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7}, {0x80, 0, 0, 0}} {
		c := b.connect()
		_, err := c.nc.Write(frame)
		require.NoError(t, err)
		c.closed()
	}
}

// Replies leave in the order of the requests, failed ones, pings and all.
func TestPipelining(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	c.create("/k", zkproto.FlagPersistent)
	var batch []byte
	const n = 20000
	for i := range int32(n) {
		switch i % 5 {
		case 0:
			batch = append(batch, request(i, zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/k", Watch: i%2 == 0})...)
		case 1:
			batch = append(batch, request(i, zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/k", Data: []byte{byte(i)}, Version: -1})...)
		case 2:
			batch = append(batch, request(i, zkproto.OpPing, nil)...)
		case 3:
			batch = append(batch, request(i, zkproto.OpDelete, &zkproto.DeleteRequest{Path: "/none"})...)
		case 4:
			batch = append(batch, request(i, zkproto.OpCreate, &zkproto.CreateRequest{Path: "/k", Data: make([]byte, i%900)})...)
		}
	}
	go func() { _, _ = c.nc.Write(batch) }()
	zxid := int64(0)
	for i := range int32(n) {
		f := c.reply()
		want := i
		if i%5 == 2 {
			want = zkproto.XidPing
		}
		require.Equal(t, want, f.Xid)
		require.GreaterOrEqual(t, f.Zxid, zxid)
		zxid = f.Zxid
	}
}
