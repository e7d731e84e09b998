package server_test

import (
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// Field report 4, first half: the response's length fits the kind of request.
func TestFieldReport4ConnectLengths(t *testing.T) {
	b := serve(t, options{})
	old := b.raw()
	require.Equal(t, 36, old.shake(zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16)}))
	require.NotZero(t, old.id)
	require.Len(t, old.passwd, 16)
	modern := b.raw()
	require.Equal(t, 37, modern.shake(zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16), HasReadOnly: true, ReadOnly: true}))
	require.NotZero(t, modern.id)
}

// Field report 11: the timeout is clamped, and told.
func TestFieldReport11Negotiation(t *testing.T) {
	b := serve(t, options{})
	for _, tt := range []struct{ asked, granted int32 }{
		{60000, 40000}, {1000, 4000}, {0, 4000}, {-1, 4000}, {2147483647, 40000}, {10000, 10000},
	} {
		c := b.raw()
		c.shake(zkproto.ConnectRequest{Timeout: tt.asked, Passwd: make([]byte, 16)})
		require.Equal(t, tt.granted, c.timeout, "asked %d", tt.asked)
	}
}

// Field report 1: a session that comes back is resumed with its own id, or told
// that it is over with zeros and a close; it never gets another id.
func TestFieldReport1Resume(t *testing.T) {
	t.Run("alive", func(t *testing.T) {
		b := serve(t, options{})
		c := b.connect()
		c.create("/a", zkproto.FlagEphemeral)
		_ = c.nc.Close()
		again := b.resume(c)
		require.Equal(t, c.id, again.id)
		require.Equal(t, c.passwd, again.passwd)
		require.Equal(t, c.id, again.stat("/a").EphemeralOwner)
	})
	t.Run("forgotten", func(t *testing.T) {
		b := serve(t, options{})
		c := b.connect()
		other := serve(t, options{})
		again := other.resume(c)
		require.Zero(t, again.id)
		require.Zero(t, again.timeout)
		require.Equal(t, make([]byte, 16), again.passwd)
		_, err := again.readFrame()
		require.ErrorIs(t, err, io.EOF)
	})
	t.Run("expired", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := serve(t, options{pipes: true})
			c := b.connect()
			c.create("/a", zkproto.FlagEphemeral)
			_ = c.nc.Close()
			time.Sleep(10*time.Second + time.Millisecond)
			synctest.Wait()
			again := b.resume(c)
			require.Zero(t, again.id)
			require.Empty(t, again.closed())
			b.connect().fails(zkproto.NoNode, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/a"})
			b.stop()
		})
	})
}

func TestHandshakeRefusals(t *testing.T) {
	b := serve(t, options{})
	known := b.connect()
	tests := []struct {
		name string
		m    zkproto.ConnectRequest
	}{
		{"unknown id", zkproto.ConnectRequest{SessionID: 0x100000100000999, Passwd: known.passwd}},
		{"id -1", zkproto.ConnectRequest{SessionID: -1, Passwd: known.passwd}},
		{"reserved id", zkproto.ConnectRequest{SessionID: sessions.ReservedID(1), Passwd: known.passwd}},
		{"unknown id with a zxid ahead of ours", zkproto.ConnectRequest{SessionID: 77, LastZxidSeen: 1 << 60}},
		{"wrong password", zkproto.ConnectRequest{SessionID: known.id, Passwd: make([]byte, 16)}},
		{"null password", zkproto.ConnectRequest{SessionID: known.id}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := b.raw()
			require.Equal(t, 36, c.shake(tt.m))
			require.Zero(t, c.id)
			require.Zero(t, c.timeout)
			require.Equal(t, make([]byte, 16), c.passwd)
			c.closed()
		})
	}
	// The wrong password has cost the session its connection, as in ZooKeeper.
	known.closed()
	require.Equal(t, known.id, b.resume(known).id)
}

// A client that has seen a later zxid gets a new session, or its own with every
// watch fired (design rule 2).
func TestHandshakeZxidAhead(t *testing.T) {
	b := serve(t, options{})
	fresh := b.raw()
	fresh.shake(zkproto.ConnectRequest{Timeout: 10000, LastZxidSeen: 1 << 50, Passwd: make([]byte, 16)})
	require.NotZero(t, fresh.id)

	c := b.connect()
	c.create("/a", zkproto.FlagPersistent)
	c.create("/b", zkproto.FlagPersistent)
	c.zxid = 1 << 50
	again := b.resume(c)
	require.Equal(t, c.id, again.id)
	again.ok(zkproto.OpSetWatches, &zkproto.SetWatchesRequest{
		RelativeZxid: 1 << 50, Data: []string{"/a"}, Exist: []string{"/none"}, Child: []string{"/b"},
	})
	require.ElementsMatch(t, []event{
		{zkproto.EventDataChanged, "/a", -1}, {zkproto.EventChildrenChanged, "/b", -1},
	}, again.events)
}

// Requests right behind the connect request are legal, and wait for the session.
func TestHandshakePipelined(t *testing.T) {
	b := serve(t, options{})
	c := b.raw()
	m := zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16)}
	all := zkproto.AppendFrame(nil, m.AppendTo)
	all = append(all, request(1, zkproto.OpCreate, create("/a", zkproto.FlagEphemeral))...)
	all = append(all, request(2, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/a"})...)
	_, err := c.nc.Write(all)
	require.NoError(t, err)
	f, err := c.readFrame()
	require.NoError(t, err)
	var r zkproto.ConnectResponse
	require.NoError(t, r.Decode(f))
	require.Equal(t, int32(1), c.reply().Xid)
	var st zkproto.ExistsResponse
	exists := c.reply()
	require.Equal(t, int32(2), exists.Xid)
	require.NoError(t, st.Decode(exists.body))
	require.Equal(t, r.SessionID, st.Stat.EphemeralOwner)
}

func TestHandshakeMalformed(t *testing.T) {
	tests := []struct {
		name  string
		bytes []byte
	}{
		{"negative length", []byte{0xff, 0xff, 0xff, 0xff}},
		{"too long", []byte{0, 0x10, 0, 0}}, // 0x100000 is one more than allowed
		{"http", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"empty frame", []byte{0, 0, 0, 0}},
		{"short frame", []byte{0, 0, 0, 3, 1, 2, 3}},
		{"password longer than the frame", append(binary.BigEndian.AppendUint32(make([]byte, 0), 28), append(make([]byte, 24), 0, 0, 1, 0)...)},
		{"setWatches length before the handshake", []byte{0, 0x20, 0, 0, 0, 0, 0, 1, 0, 0, 0, 101}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := serve(t, options{})
			c := b.raw()
			_, err := c.nc.Write(tt.bytes)
			require.NoError(t, err)
			c.within(10 * time.Second)
			c.closed()
			b.stop()
			require.EqualValues(t, 1, b.server.Stats().Rejected[server.RejectedMalformed])
			require.Contains(t, b.log.String(), c.nc.LocalAddr().String())
		})
	}
}

func TestHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, options{pipes: true})
		silent, half := b.raw(), b.raw()
		start := time.Now()
		_, err := half.nc.Write([]byte{0, 0, 0, 44, 0})
		require.NoError(t, err)
		half.closed()
		silent.closed()
		require.Equal(t, 10*time.Second, time.Since(start))
		b.stop()
		require.EqualValues(t, 2, b.server.Stats().Rejected[server.RejectedHandshakeTimeout])
	})
}

// Until the first complete picture is there, handshakes end without a word, so
// that clients try again with the id they have.
// Field report 42.
func TestHandshakeNotReady(t *testing.T) {
	var ready atomic.Bool
	b := serve(t, options{server: server.Config{Ready: func() (bool, string) { return ready.Load(), "no picture yet" }}})
	c := b.raw()
	m := zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16)}
	c.write(m.AppendTo(nil))
	_, err := c.readFrame()
	require.Error(t, err)
	require.EqualValues(t, 1, b.server.Stats().Rejected[server.RejectedNotReady])
	const sentence = "This ZooKeeper instance is not currently serving requests\n"
	for word, want := range map[string]string{
		"ruok": "imok", "isro": "null", "srvr": sentence, "stat": sentence, "mntr": sentence, "conf": sentence,
		"wchs": "wchs is not executed because it is not in the whitelist.\n",
	} {
		require.Equal(t, want, b.word(word), word)
	}
	ready.Store(true)
	b.connect()
	require.Equal(t, "rw", b.word("isro"))
}

// Field report 5: replies of concurrent handshakes go to those who asked, and
// ids are unique.
func TestFieldReport5ConcurrentHandshakes(t *testing.T) {
	b := serve(t, options{})
	old := make([]*client, 100)
	for i := range old {
		old[i] = b.connect()
	}
	ids := make([]int64, 200)
	var wg sync.WaitGroup
	for i := range ids {
		c := b.raw()
		wg.Go(func() {
			m := zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16)}
			if i < len(old) {
				m.SessionID, m.Passwd = old[i].id, old[i].passwd
			}
			c.shake(m)
			ids[i] = c.id
		})
	}
	wg.Wait()
	seen := make(map[int64]bool)
	for i, id := range ids {
		if i < len(old) {
			require.Equal(t, old[i].id, id, "client %d", i)
		}
		require.Greater(t, id, int64(1<<32), "an id that a client could mistake")
		require.False(t, seen[id], "id 0x%x twice", id)
		seen[id] = true
	}
	c := b.raw()
	c.shake(zkproto.ConnectRequest{Timeout: 10000, SessionID: -1, Passwd: make([]byte, 16)})
	require.Zero(t, c.id)
	c.closed()
}

// The old connection of a session is closed when another one takes over, and
// what it armed is gone.
func TestTakeover(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	c.create("/d", zkproto.FlagPersistent)
	c.watchChildren("/d")
	again := b.resume(c)
	require.Equal(t, c.id, again.id)
	c.closed()
	again.create("/d/c", zkproto.FlagPersistent)
	require.Empty(t, again.take())
}
