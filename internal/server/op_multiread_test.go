package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

func TestMultiRead(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	c.create("/m", 0)
	c.setData("/m", 1, 2)
	c.create("/m/a", 0)
	last := c.ok(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/m/null", ACL: zkproto.WorldAnyone()})
	var m zkproto.MultiResponse
	f := c.ok(zkproto.OpMultiRead, &zkproto.MultiReadRequest{Ops: []zkproto.MultiOp{
		{Op: zkproto.OpGetChildren, Path: "/m", Watch: true},
		{Op: zkproto.OpGetData, Path: "/m/none", Watch: true},
		{Op: zkproto.OpGetData, Path: "/m", Watch: true},
		{Op: zkproto.OpGetData, Path: "/m/null"},
	}})
	require.Equal(t, last.Zxid, f.Zxid, "no zxid is spent")
	require.NoError(t, m.Decode(f.body))
	require.Len(t, m.Results, 4)
	require.ElementsMatch(t, []string{"a", "null"}, m.Results[0].Children)
	require.Equal(t, zkproto.NoNode, m.Results[1].Err)
	require.Equal(t, []byte{1, 2}, m.Results[2].Data)
	require.Equal(t, c.stat("/m"), m.Results[2].Stat)
	require.Nil(t, m.Results[3].Data)

	c.setData("/m", 3)
	c.create("/m/none", 0)
	require.Empty(t, c.take(), "watch flags are ignored")
}

// A request of a few bytes for each time asks for a large node many times over.
func TestMultiReadIsBounded(t *testing.T) {
	b := serve(t, options{server: server.Config{MaxPendingBytes: 1 << 20}})
	c, other := b.connect(), b.connect()
	c.create("/m", 0)
	c.setData("/m", make([]byte, 1<<19)...)
	ops := make([]zkproto.MultiOp, 1000)
	for i := range ops {
		ops[i] = zkproto.MultiOp{Op: zkproto.OpGetData, Path: "/m"}
	}
	c.ok(zkproto.OpMultiRead, &zkproto.MultiReadRequest{Ops: ops[:1]})
	c.send(zkproto.OpMultiRead, &zkproto.MultiReadRequest{Ops: ops})
	c.closed()
	other.ok(zkproto.OpPing, nil)
}
