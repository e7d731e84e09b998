package server_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/zkproto"
)

// A null where ZooKeeper needs a string has the answer that its code comes to,
// and spends a zxid where that is behind the place where a zxid is spent.
func TestNulls(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	next := c.ok(zkproto.OpCreate, create("/a", 0)).Zxid
	ints := func(list ...int32) (body bad) {
		for _, v := range list {
			body = binary.BigEndian.AppendUint32(body, uint32(v))
		}
		return body
	}
	world := append(ints(1, 31, 5), "world"...)
	open := append(append(world, ints(6)...), "anyone"...)
	join := func(parts ...bad) (all bad) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	pathA := append(ints(2), "/a"...)
	for _, tc := range []struct {
		name   string
		op     zkproto.OpCode
		body   bad
		code   zkproto.Code
		writes bool
	}{
		{"create", zkproto.OpCreate, join(ints(-1, -1), open, ints(0)), zkproto.MarshallingError, true},
		{"create, bad flags", zkproto.OpCreate, join(ints(-1, -1), open, ints(9)), zkproto.BadArguments, true},
		{"create, null id", zkproto.OpCreate, join(pathA, ints(-1), world, ints(-1, 0)), zkproto.MarshallingError, true},
		{"delete", zkproto.OpDelete, ints(-1, -1), zkproto.MarshallingError, true},
		{"setData", zkproto.OpSetData, ints(-1, -1, -1), zkproto.BadArguments, true},
		{"setACL", zkproto.OpSetACL, join(ints(-1), open, ints(-1)), zkproto.BadArguments, true},
		{"setACL, null scheme", zkproto.OpSetACL, join(pathA, ints(1, 31, -1, -1, -1)), zkproto.InvalidACL, true},
		{"exists", zkproto.OpExists, append(ints(-1), 0), zkproto.MarshallingError, false},
		{"getData", zkproto.OpGetData, append(ints(-1), 0), zkproto.MarshallingError, false},
		{"getACL", zkproto.OpGetACL, ints(-1), zkproto.MarshallingError, false},
		{"getChildren", zkproto.OpGetChildren, append(ints(-1), 0), zkproto.MarshallingError, false},
		{"checkWatches", zkproto.OpCheckWatches, ints(-1, 1), zkproto.NoWatcher, false},
		{"removeWatches", zkproto.OpRemoveWatches, ints(-1, 1), zkproto.NoWatcher, false},
	} {
		f := c.fails(tc.code, tc.op, tc.body)
		if tc.writes {
			next++
		}
		require.Equal(t, next, f.Zxid, tc.name)
	}
	require.Equal(t, []byte(ints(-1)), c.ok(zkproto.OpSync, ints(-1)).body)
}
