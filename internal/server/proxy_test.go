package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

const signature = "\r\n\r\n\x00\r\nQUIT\n"

// header is a PROXY protocol v2 header of a TCP client, with fields behind the
// addresses.
func header(client string, fields ...byte) []byte {
	from := netip.MustParseAddrPort(client)
	to := from.Addr()
	family := byte(0x11)
	if to.Is6() {
		family = 0x21
	}
	var b []byte
	b = append(b, from.Addr().AsSlice()...)
	b = append(b, to.AsSlice()...)
	b = binary.BigEndian.AppendUint16(b, from.Port())
	b = binary.BigEndian.AppendUint16(b, 2181)
	return rawHeader(0x21, family, append(b, fields...))
}

func rawHeader(command, family byte, body []byte) []byte {
	b := append([]byte(signature), command, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(body)))
	return append(b, body...)
}

// behind opens a connection through a listener that requires the header.
func (b *bench) behind(addr string, header []byte) *client {
	b.t.Helper()
	nc, err := net.Dial("tcp", addr)
	require.NoError(b.t, err)
	_, err = nc.Write(header)
	require.NoError(b.t, err)
	return b.client(nc)
}

func (c *client) shakeNew() {
	c.t.Helper()
	c.shake(zkproto.ConnectRequest{Timeout: 40000, Passwd: make([]byte, 16)})
	require.NotZero(c.t, c.id)
}

func TestProxiedClientsHaveTheirOwnAddress(t *testing.T) {
	for _, tc := range []struct {
		name, ip, shown string
		header          []byte
	}{
		{"IPv4", "192.0.2.7", "192.0.2.7:4711", header("192.0.2.7:4711")},
		{"IPv6", "2001:db8::7", "[2001:db8::7]:4711", header("[2001:db8::7]:4711")},
		{"IPv4 in IPv6", "192.0.2.7", "192.0.2.7:4711", rawHeader(0x21, 0x21, append(append(net.ParseIP("192.0.2.7").To16(), make([]byte, 16)...), 0x12, 0x67, 0, 0))},
		{"with fields", "192.0.2.8", "192.0.2.8:1", header("192.0.2.8:1", append([]byte{0x04, 0x10, 0}, make([]byte, 4096)...)...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := serve(t, options{server: all()})
			c := b.behind(b.front(server.Front{Proxy: true}), tc.header)
			c.shakeNew()
			require.Equal(t, []zkproto.ClientInfo{{Scheme: "ip", User: tc.ip}}, c.whoAmI())
			require.Contains(t, b.word("cons"), " /"+tc.shown+"[1](queued=0,recved=2,")
			require.Contains(t, b.word("dump"), "ip: /"+tc.shown+" sessionId: 0x1")
			// The address is what ACLs see.
			c.ok(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/own", Data: []byte{}, ACL: []zkproto.ACL{{Perms: zkproto.PermAll, Scheme: "ip", ID: tc.ip}}})
			c.ok(zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/own"})
			b.connect().fails(zkproto.NoAuth, zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/own"})
			// Bad input is logged under it too.
			_, err := c.nc.Write([]byte{0xff, 0xff, 0xff, 0xff})
			require.NoError(t, err)
			c.closed()
			require.Contains(t, b.log.String(), tc.shown)
		})
	}
}

func TestTheProxysOwnConnections(t *testing.T) {
	for name, h := range map[string][]byte{
		"health check": rawHeader(0x20, 0, nil), "health check with an address": rawHeader(0x20, 0x11, make([]byte, 12)),
		"unknown family": rawHeader(0x21, 0, nil), "Unix socket": rawHeader(0x21, 0x31, make([]byte, 216)),
	} {
		t.Run(name, func(t *testing.T) {
			b := serve(t, options{})
			c := b.behind(b.front(server.Front{Proxy: true}), h)
			c.shakeNew()
			require.Equal(t, []zkproto.ClientInfo{{Scheme: "ip", User: "127.0.0.1"}}, c.whoAmI())
		})
	}
}

// One byte after the other, and the connect request right behind.
func TestHeaderInPieces(t *testing.T) {
	b := serve(t, options{})
	c := b.behind(b.front(server.Front{Proxy: true}), nil)
	m := zkproto.ConnectRequest{Timeout: 40000, Passwd: make([]byte, 16)}
	for _, one := range append(header("192.0.2.7:4711"), zkproto.AppendFrame(nil, m.AppendTo)...) {
		_, err := c.nc.Write([]byte{one})
		require.NoError(t, err)
	}
	_, err := c.readFrame()
	require.NoError(t, err)
}

func TestHeadersThatAreRefused(t *testing.T) {
	connect := (&zkproto.ConnectRequest{Timeout: 40000, Passwd: make([]byte, 16)}).AppendTo
	for _, tc := range []struct {
		name, log string
		first     []byte
	}{
		{"none", "no PROXY protocol v2 header came first", zkproto.AppendFrame(nil, connect)},
		{"a word", "no PROXY protocol v2 header came first", []byte("ruok")},
		{"version 1", "set the load balancer to version 2", []byte("PROXY TCP4 192.0.2.7 192.0.2.8 4711 2181\r\n")},
		{"version 3", "version 3, command 1, is not known", rawHeader(0x31, 0x11, make([]byte, 12))},
		{"unknown command", "command 2, is not known", rawHeader(0x22, 0x11, make([]byte, 12))},
		{"UDP", "is none of a TCP client", rawHeader(0x21, 0x12, make([]byte, 12))},
		{"too short", "is none of a TCP client", rawHeader(0x21, 0x11, make([]byte, 11))},
		{"too short for IPv6", "is none of a TCP client", rawHeader(0x21, 0x21, make([]byte, 12))},
		{"nearly the signature", "no PROXY protocol v2 header came first", []byte("\r\n\r\n\x00\r\nQUIT ")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := serve(t, options{})
			c := b.behind(b.front(server.Front{Proxy: true}), tc.first)
			c.within(tick)
			left, _ := io.ReadAll(c.nc)
			require.Empty(t, left)
			require.Eventually(t, func() bool { return b.server.Stats().Rejected[server.RejectedProxy] == 1 }, tick, poll)
			require.Contains(t, b.log.String(), tc.log)
			require.Zero(t, b.server.Stats().Connections)
		})
	}
}

func TestHeaderHasALimitOfTime(t *testing.T) {
	b := serve(t, options{server: server.Config{HandshakeTimeout: 50 * time.Millisecond}})
	addr := b.front(server.Front{Proxy: true})
	for _, first := range [][]byte{nil, []byte(signature), header("192.0.2.7:1")} {
		c := b.behind(addr, first)
		c.within(tick)
		left, err := io.ReadAll(c.nc)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	require.Eventually(t, func() bool { return b.server.Stats().Rejected[server.RejectedHandshakeTimeout] == 3 }, tick, poll)
	// A load balancer that only looks whether the port is open is not worth a line.
	require.NoError(t, b.behind(addr, nil).nc.Close())
	require.NotContains(t, b.log.String(), "WARN")
}

func TestLimitsCountClientsNotTheProxy(t *testing.T) {
	b := serve(t, options{server: server.Config{MaxConnectionsPerAddress: 2}})
	addr := b.front(server.Front{Proxy: true})
	for _, client := range []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1", "192.0.2.2:2", "192.0.2.3:1"} {
		b.behind(addr, header(client)).shakeNew()
	}
	c := b.behind(addr, header("192.0.2.1:3"))
	_, err := c.readFrame()
	require.Error(t, err)
	require.EqualValues(t, 1, b.server.Stats().Rejected[server.RejectedPerAddress])
	require.Contains(t, b.log.String(), "peer=192.0.2.1:3")
}

func TestArrivalsCountAndAreClosed(t *testing.T) {
	b := serve(t, options{server: server.Config{MaxConnections: 2, DrainTimeout: time.Millisecond}})
	addr := b.front(server.Front{Proxy: true})
	waiting := b.behind(addr, []byte(signature))
	b.behind(addr, header("192.0.2.1:1")).shakeNew()
	require.Eventually(t, func() bool {
		if nc, err := net.Dial("tcp", addr); err == nil { // it may be reset at once
			_ = nc.Close()
		}
		return b.server.Stats().Rejected[server.RejectedTotal] > 0
	}, tick, poll)
	ctx, cancel := context.WithTimeout(t.Context(), tick)
	defer cancel()
	require.NoError(t, b.server.Drain(ctx))
	waiting.within(tick)
	_, err := io.ReadAll(waiting.nc)
	require.NoError(t, err)
}

func TestHeaderInFrontOfTLS(t *testing.T) {
	v := secured(t, options{server: all()}, tls.NoClientCert)
	addr := v.front(server.Front{Proxy: true, TLS: v.current.Load})
	outer := v.behind(addr, header("192.0.2.7:4711"))
	c := v.client(tls.Client(outer.nc, &tls.Config{RootCAs: v.ca.Pool(), ServerName: "localhost"}))
	c.shakeNew()
	require.Equal(t, []zkproto.ClientInfo{{Scheme: "ip", User: "192.0.2.7"}}, c.whoAmI())
	require.Contains(t, v.word("mntr"), "zk_non_mtls_remote_conn_count\t1\n")
}

func FuzzProxyHeader(f *testing.F) {
	f.Add(header("192.0.2.7:4711"))
	f.Add(header("[2001:db8::7]:4711", 1, 2, 3))
	f.Add(rawHeader(0x20, 0, nil))
	f.Add([]byte("PROXY TCP4 192.0.2.7 192.0.2.8 4711 2181\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(append(bytes.Clone(b), "behind"...))
		client, err := server.ReadProxyHeader(r)
		if err != nil {
			require.False(t, client.IsValid())
			return
		}
		// Not a byte more than the header says was read.
		used := 16 + int(binary.BigEndian.Uint16(b[14:16]))
		require.Equal(t, len(b)+len("behind")-used, r.Len())
		require.True(t, strings.HasPrefix(string(b), signature))
	})
}
