package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

func TestCreateTTL(t *testing.T) {
	b := serve(t, options{server: server.Config{ExtendedTypes: true}})
	c := b.connect()
	request := func(path string, flags zkproto.CreateFlags, ttl int64) *zkproto.CreateTTLRequest {
		return &zkproto.CreateTTLRequest{Path: path, ACL: zkproto.WorldAnyone(), Flags: flags, TTL: ttl}
	}
	var made zkproto.Create2Response
	require.NoError(t, made.Decode(c.ok(zkproto.OpCreateTTL, request("/t", zkproto.FlagTTL, 1)).body))
	require.Zero(t, made.Stat.EphemeralOwner)
	require.Zero(t, c.stat("/t").EphemeralOwner)
	require.NoError(t, made.Decode(c.ok(zkproto.OpCreateTTL, request("/s-", zkproto.FlagTTLSequential, 1<<40-1)).body))
	require.Equal(t, "/s-0000000001", made.Path)
	for _, ttl := range []int64{0, -1, 1 << 40, -1 << 63} {
		c.fails(zkproto.BadArguments, zkproto.OpCreateTTL, request("/n", zkproto.FlagTTL, ttl))
	}
	// A real server stops of the first of these.
	for _, ttl := range []int64{-1, -1 << 63, 0, 1000} {
		for _, flags := range []zkproto.CreateFlags{0, 1, 2, 3, 4, 7, -1} {
			c.fails(zkproto.BadArguments, zkproto.OpCreateTTL, request("/n", flags, ttl))
		}
	}
	c.fails(zkproto.BadArguments, zkproto.OpCreate2, &zkproto.CreateRequest{Path: "/n", ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagTTL})
	c.ok(zkproto.OpCloseSession, nil)
	other := b.connect()
	require.Zero(t, other.stat("/t").Version, "it does not end with a session")
}

func TestSuperDigest(t *testing.T) {
	b := serve(t, options{server: server.Config{SuperDigest: "super:lK75jTNcA+U9vtVEw5vB51mj/w4="}})
	c := b.connect()
	c.ok(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/closed", ACL: []zkproto.ACL{{Scheme: "digest", ID: "a:b", Perms: 31}}})
	read := &zkproto.GetDataRequest{Path: "/closed"}
	c.fails(zkproto.NoAuth, zkproto.OpGetData, read)
	c.ok(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("super:wrong")})
	c.fails(zkproto.NoAuth, zkproto.OpGetData, read)
	c.ok(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("super:secret")})
	c.ok(zkproto.OpGetData, read)
}
