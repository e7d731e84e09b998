package server_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

// closeSession: ephemerals go, with their events in front of the reply; what is
// pipelined behind it is not carried out; the connection is closed.
func TestCloseSession(t *testing.T) {
	b := serve(t, options{})
	c, w := b.connect(), b.connect()
	c.create("/e", zkproto.FlagEphemeral)
	c.watchData("/e")
	w.watchChildren("/")
	batch := request(1, zkproto.OpCloseSession, nil)
	batch = append(batch, request(2, zkproto.OpCreate, create("/behind", zkproto.FlagEphemeral))...)
	_, err := c.nc.Write(batch)
	require.NoError(t, err)
	f := c.reply()
	require.Equal(t, int32(1), f.Xid)
	require.Equal(t, 16, f.size)
	require.Equal(t, []event{{zkproto.EventDeleted, "/e", f.Zxid}}, c.events)
	c.closed()
	require.Equal(t, []event{{zkproto.EventChildrenChanged, "/", f.Zxid}}, w.take())
	w.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/behind"})
	again := b.resume(c)
	require.Zero(t, again.id, "the session is over")
}

// A session with more than 256 ephemerals ends in several transactions (design
// rule 4).
func TestCloseLargeSession(t *testing.T) {
	b := serve(t, options{})
	c, w := b.connect(), b.connect()
	c.create("/d", zkproto.FlagPersistent)
	for i := range 600 {
		c.create(fmt.Sprintf("/d/%d", i), zkproto.FlagEphemeral)
	}
	before := w.ok(zkproto.OpPing, nil).Zxid
	after := c.ok(zkproto.OpCloseSession, nil).Zxid
	c.closed()
	require.EqualValues(t, 3, after-before)
	require.Zero(t, w.stat("/d").NumChildren)
}

// An expired session's socket hears of the end of its nodes and is closed.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, options{pipes: true})
		c, w := b.connect(), b.connect()
		c.create("/e", zkproto.FlagEphemeral)
		c.watchData("/e")
		w.watchChildren("/")
		start := time.Now()
		var pings sync.WaitGroup
		pings.Go(func() {
			for range 3 {
				time.Sleep(3 * time.Second)
				_, _ = w.nc.Write(request(1, zkproto.OpPing, nil))
			}
		})
		events := c.closed()
		require.Equal(t, 10*time.Second, time.Since(start))
		require.Len(t, events, 1)
		require.Equal(t, zkproto.EventDeleted, events[0].Type)
		for {
			f, err := w.next()
			require.NoError(t, err)
			if f.Xid == zkproto.XidNotification {
				require.Equal(t, event{zkproto.EventChildrenChanged, "/", events[0].Zxid}, f.event(t))
				break
			}
		}
		pings.Wait()
		b.stop()
	})
}

// While a session is closing nobody knows how its nodes will be found: its
// requests are dropped, and a client that comes back waits, without holding up
// others. When it has ended the answer is zeros; if that takes too long the
// connection is closed without a word.
func TestClosingSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, options{pipes: true})
		c, other := b.connect(), b.connect()
		s := b.sessions.Lookup(c.id)
		require.True(t, b.sessions.BeginEnd(s))
		c.send(zkproto.OpCreate, create("/late", zkproto.FlagPersistent))
		c.send(zkproto.OpCloseSession, nil)
		synctest.Wait()
		require.EqualValues(t, 2, b.server.Stats().Dropped)

		m := zkproto.ConnectRequest{Timeout: 10000, SessionID: c.id, Passwd: c.passwd}
		patient, early := b.raw(), b.raw()
		early.write(m.AppendTo(nil))
		time.Sleep(5 * time.Second)
		c.closed() // taken over
		other.fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/late"})
		patient.write(m.AppendTo(nil))
		time.Sleep(5*time.Second - time.Nanosecond)
		other.ok(zkproto.OpPing, nil)
		early.closed()
		require.EqualValues(t, 1, b.server.Stats().Rejected[server.RejectedUnknownTruth])
		b.sessions.Finish(s)
		f, err := patient.readFrame()
		require.NoError(t, err)
		require.Equal(t, make([]byte, 16), f[:16], "version, timeout and id are zero")
		require.Empty(t, patient.closed())
		b.stop()
	})
}

// Which packets keep a session alive: all but auth and sasl.
func TestTouch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		op    zkproto.OpCode
		m     message
		alive bool
	}{
		{"ping", zkproto.OpPing, nil, true},
		{"exists", zkproto.OpExists, &zkproto.ExistsRequest{Path: "/"}, true},
		{"auth", zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("a:b")}, false},
		{"sasl", zkproto.OpSASL, &zkproto.SASLRequest{Token: []byte{}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := serve(t, options{pipes: true})
				c := b.connect()
				time.Sleep(9 * time.Second)
				c.ok(tt.op, tt.m)
				time.Sleep(9 * time.Second)
				synctest.Wait()
				require.Equal(t, tt.alive, b.sessions.Lookup(c.id) != nil)
				b.stop()
			})
		})
	}
}

// A client that only sends the beginnings of frames keeps nothing alive.
func TestPartialFrameExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, options{pipes: true})
		c := b.connect()
		_, err := c.nc.Write([]byte{0, 0, 0, 100, 0, 0})
		require.NoError(t, err)
		start := time.Now()
		c.closed()
		require.Equal(t, 10*time.Second, time.Since(start))
		b.stop()
	})
}

// Connections are counted by source address and in all; who is too many is
// closed without a byte.
// Field report 64.
func TestConnectionLimits(t *testing.T) {
	t.Run("per address", func(t *testing.T) {
		b := serve(t, options{server: server.Config{MaxConnectionsPerAddress: 60}})
		for range 60 {
			b.connect()
		}
		if nc, err := net.Dial("tcp", b.listener.Addr().String()); err == nil { // else it is reset already
			_, err = nc.Read(make([]byte, 1))
			require.Error(t, err)
			_ = nc.Close()
		}
		require.Eventually(t, func() bool { return b.server.Stats().Rejected[server.RejectedPerAddress] == 1 }, 10*time.Second, time.Millisecond)
		require.Contains(t, b.log.String(), "too many connections")
	})
	t.Run("total, and a place is free again", func(t *testing.T) {
		b := serve(t, options{server: server.Config{MaxConnections: 2}})
		first, _ := b.connect(), b.connect()
		if nc, err := net.Dial("tcp", b.listener.Addr().String()); err == nil {
			_, err = nc.Read(make([]byte, 1))
			require.Error(t, err)
			_ = nc.Close()
		}
		require.Eventually(t, func() bool { return b.server.Stats().Rejected[server.RejectedTotal] == 1 }, 10*time.Second, time.Millisecond)
		_ = first.nc.Close()
		require.Eventually(t, func() bool { return b.server.Stats().Connections == 1 }, 10*time.Second, time.Millisecond)
		b.connect()
	})
}
