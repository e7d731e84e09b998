package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/certificates/certificatestest"
	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

// front opens another listener of b's server.
func (b *bench) front(f server.Front) (addr string) {
	b.t.Helper()
	if f.Listener == nil {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b.t, err)
		f.Listener = ln
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.server.ServeFront(ctx, f) }()
	b.t.Cleanup(func() { cancel(); require.NoError(b.t, <-ended) })
	return f.Listener.Addr().String()
}

// vault is a bench with a TLS listener.
type vault struct {
	*bench
	ca      *certificatestest.Authority
	addr    string
	current atomic.Pointer[tls.Config]
}

func secured(t *testing.T, o options, auth tls.ClientAuthType) *vault {
	t.Helper()
	o.tree.X509 = true
	v := &vault{bench: serve(t, o), ca: certificatestest.New(t)}
	v.use("server", auth)
	v.addr = v.front(server.Front{TLS: v.current.Load})
	return v
}

// use puts a new certificate in force.
func (v *vault) use(name string, auth tls.ClientAuthType) {
	v.current.Store(&tls.Config{
		Certificates: []tls.Certificate{v.ca.Pair(pkix.Name{CommonName: name})}, MinVersion: tls.VersionTLS12,
		ClientAuth: auth, ClientCAs: v.ca.Pool(), DynamicRecordSizingDisabled: true,
	})
}

func (v *vault) over(certs ...tls.Certificate) *client {
	v.t.Helper()
	return v.with(&tls.Config{RootCAs: v.ca.Pool(), Certificates: certs, ServerName: "localhost"})
}

func (v *vault) with(cfg *tls.Config) *client {
	v.t.Helper()
	nc, err := net.Dial("tcp", v.addr)
	require.NoError(v.t, err)
	return v.client(tls.Client(nc, cfg))
}

// connectOver opens a session through TLS.
func (v *vault) connectOver(certs ...tls.Certificate) *client {
	v.t.Helper()
	c := v.over(certs...)
	c.shake(zkproto.ConnectRequest{Timeout: v.timeout, Passwd: make([]byte, 16), HasReadOnly: true})
	require.NotZero(v.t, c.id)
	return c
}

func TestSessionsThroughTLS(t *testing.T) {
	v := secured(t, options{server: all()}, tls.NoClientCert)
	a, b := v.connectOver(), v.connect()
	a.create("/a", zkproto.FlagEphemeral)
	b.watchData("/a")
	a.setData("/a", 1)
	require.Len(t, b.take(), 1)
	a.watchData("/a")
	b.setData("/a", 2)
	require.Len(t, a.take(), 1)

	// The session goes from one listener to the other.
	require.NoError(t, a.nc.Close())
	n := v.resume(a)
	require.Equal(t, a.id, n.id)
	require.Equal(t, a.id, n.stat("/a").EphemeralOwner)

	word := v.over()
	_, err := word.nc.Write([]byte("ruok"))
	require.NoError(t, err)
	text, err := io.ReadAll(word.nc)
	require.NoError(t, err, "TLS is ended as it should be")
	require.Equal(t, "imok", string(text))
}

// Replies and events of all sizes come through whole, also when a client reads so
// slowly that its socket fills up.
func TestLargeRepliesThroughTLS(t *testing.T) {
	v := secured(t, options{server: server.Config{MaxPendingBytes: 64 << 20}}, tls.NoClientCert)
	c := v.connectOver()
	data := bytes.Repeat([]byte("0123456789abcdef"), 60000)
	c.create("/big", zkproto.FlagPersistent)
	c.setData("/big", data...)
	const n = 20
	for range n { // without reading: 19 MB do not fit the sockets
		c.send(zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/big"})
	}
	other := v.connectOver()
	other.create("/small", zkproto.FlagPersistent) // nobody else is disturbed
	for range n {
		var m zkproto.GetDataResponse
		require.NoError(t, m.Decode(c.reply().body))
		require.True(t, bytes.Equal(data, m.Data))
	}
	c.delete("/small")
}

// A burst of events to many clients needs no goroutine for each.
func TestEventsThroughTLSNeedNoGoroutines(t *testing.T) {
	v := secured(t, options{}, tls.NoClientCert)
	w := v.connect()
	w.create("/n", zkproto.FlagPersistent)
	clients := make([]*client, 50)
	for i := range clients {
		clients[i] = v.connectOver()
	}
	before := v.server.Stats().Laggards
	for round := range 5 {
		for _, c := range clients {
			c.watchData("/n")
		}
		w.setData("/n", byte(round))
		for _, c := range clients {
			f, err := c.next()
			require.NoError(t, err)
			require.Equal(t, zkproto.EventDataChanged, f.event(t).Type)
		}
	}
	require.Equal(t, before, v.server.Stats().Laggards)
	require.Less(t, runtime.NumGoroutine(), 2*len(clients)+50)
}

// A client through TLS that reads nothing: its events wait for it, up to the limit.
func TestStoppedReaderThroughTLS(t *testing.T) {
	v := secured(t, options{server: server.Config{MaxPendingBytes: 256 << 10}}, tls.NoClientCert)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	v.addr = v.front(server.Front{TLS: v.current.Load, Listener: tight{ln}})
	nc, err := net.Dial("tcp", v.addr)
	require.NoError(t, err)
	require.NoError(t, nc.(*net.TCPConn).SetReadBuffer(16<<10))
	stopped, w := v.client(tls.Client(nc, &tls.Config{RootCAs: v.ca.Pool(), ServerName: "localhost"})), v.connect()
	stopped.shakeNew()
	w.create("/n", zkproto.FlagPersistent)
	stopped.ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/n", Mode: zkproto.WatchPersistent})
	require.Eventually(t, func() bool {
		for range 500 {
			w.setData("/n", 1)
		}
		return v.server.Stats().Rejected[server.RejectedLaggard] > 0
	}, 60*time.Second, poll)
	require.Eventually(t, func() bool { return v.server.Stats().Connections == 1 }, tick, poll)
	require.Eventually(t, func() bool { return v.server.Stats().PendingBytes == 0 }, tick, poll)
}

func TestNewCertificateForNewConnections(t *testing.T) {
	v := secured(t, options{}, tls.NoClientCert)
	name := func(c *client) string {
		return c.nc.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	old := v.connectOver()
	require.Equal(t, "server", name(old))
	v.use("renewed", tls.NoClientCert)
	require.Equal(t, "renewed", name(v.connectOver()))
	old.ok(zkproto.OpPing, nil)
}

func TestCertificateGivesAnIdentity(t *testing.T) {
	const super = "CN=root,O=Example"
	v := secured(t, options{server: server.Config{SuperUser: super}}, tls.VerifyClientCertIfGiven)
	alice := v.ca.Pair(pkix.Name{CommonName: "alice", Organization: []string{"Example, Inc."}})
	const name = `CN=alice,O=Example\, Inc.`
	c := v.connectOver(alice)
	require.Equal(t, []zkproto.ClientInfo{{Scheme: "ip", User: "127.0.0.1"}, {Scheme: "x509", User: name}}, c.whoAmI())
	own := func(path, scheme, id string) {
		c.ok(zkproto.OpCreate, &zkproto.CreateRequest{Path: path, Data: []byte{}, ACL: []zkproto.ACL{{Perms: zkproto.PermAll, Scheme: scheme, ID: id}}})
	}
	own("/mine", "x509", name)
	own("/auth", "auth", "")
	own("/bob", "x509", "CN=bob")
	c.ok(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "x509", Auth: nil})
	other, anybody := v.connectOver(v.ca.Pair(pkix.Name{CommonName: "bob"})), v.connectOver()
	for path, want := range map[string][3]zkproto.Code{
		"/mine": {zkproto.OK, zkproto.NoAuth, zkproto.NoAuth},
		"/auth": {zkproto.OK, zkproto.NoAuth, zkproto.NoAuth},
		"/bob":  {zkproto.NoAuth, zkproto.OK, zkproto.NoAuth},
	} {
		for i, c := range []*client{c, other, anybody} {
			require.Equal(t, want[i], c.call(zkproto.OpGetData, &zkproto.GetDataRequest{Path: path}).Err, "%s %d", path, i)
		}
	}
	root := v.connectOver(v.ca.Pair(pkix.Name{CommonName: "root", Organization: []string{"Example"}}))
	root.ok(zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/bob"})
	anybody.fails(zkproto.AuthFailed, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "x509", Auth: []byte{}})
	anybody.closed()
}

func (c *client) whoAmI() []zkproto.ClientInfo {
	c.t.Helper()
	var m zkproto.WhoAmIResponse
	require.NoError(c.t, m.Decode(c.ok(zkproto.OpWhoAmI, nil).body))
	return m.Identities
}

func TestHandshakesThatFail(t *testing.T) {
	stranger := certificatestest.New(t)
	for _, tc := range []struct {
		name string
		auth tls.ClientAuthType
		with func(v *vault) *client
		log  string
	}{
		{"no certificate", tls.RequireAndVerifyClientCert, func(v *vault) *client { return v.over() }, "has none of its own"},
		{"stranger's certificate", tls.VerifyClientCertIfGiven, func(v *vault) *client { return v.over(stranger.Pair(pkix.Name{CommonName: "x"})) }, "not from an authority in clientCAFile"},
		{"distrust", tls.NoClientCert, func(v *vault) *client { return v.with(&tls.Config{ServerName: "localhost"}) }, "may not trust this server's certificate"},
		{"old version", tls.NoClientCert, func(v *vault) *client {
			return v.with(&tls.Config{RootCAs: v.ca.Pool(), ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		}, "TLS handshake failed"},
		{"no TLS", tls.NoClientCert, func(v *vault) *client {
			nc, err := net.Dial("tcp", v.addr)
			require.NoError(t, err)
			return v.client(nc)
		}, "does not speak TLS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := secured(t, options{}, tc.auth)
			c := tc.with(v)
			m := zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16)}
			_, _ = c.nc.Write(zkproto.AppendFrame(nil, m.AppendTo))
			_, err := c.readFrame()
			require.Error(t, err)
			require.Eventually(t, func() bool { return v.server.Stats().Rejected[server.RejectedTLS] == 1 }, tick, poll)
			require.Eventually(t, func() bool { return strings.Contains(v.log.String(), tc.log) }, tick, poll)
			require.Eventually(t, func() bool { return v.server.Stats().Connections == 0 }, tick, poll)
		})
	}
}

func TestTLSHandshakeHasALimit(t *testing.T) {
	v := secured(t, options{server: server.Config{HandshakeTimeout: 50 * time.Millisecond, FourLetterWords: []string{"*"}}}, tls.NoClientCert)
	nc, err := net.Dial("tcp", v.addr)
	require.NoError(t, err)
	defer func() { _ = nc.Close() }()
	_, err = nc.Write([]byte{22, 3, 1}) // and nothing more
	require.NoError(t, err)
	_, err = io.ReadAll(nc)
	require.NoError(t, err, "it is closed")
	require.EqualValues(t, 1, v.server.Stats().Rejected[server.RejectedHandshakeTimeout])
	mntr := v.word("mntr")
	require.Contains(t, mntr, "zk_tls_handshake_exceeded\t1\n")
	require.Contains(t, mntr, "zk_outstanding_tls_handshake\t0\n")
	// One after TLS that says nothing is closed too.
	quiet := v.over()
	require.NoError(t, quiet.nc.(*tls.Conn).Handshake())
	_, err = io.ReadAll(quiet.nc)
	require.NoError(t, err)
}

// A probe that connects and goes is not worth a line.
func TestProbesOfTheTLSPort(t *testing.T) {
	v := secured(t, options{}, tls.NoClientCert)
	for range 10 {
		nc, err := net.Dial("tcp", v.addr)
		require.NoError(t, err)
		require.NoError(t, nc.Close())
	}
	require.Eventually(t, func() bool { st := v.server.Stats(); return st.Accepted == 10 && st.Connections == 0 }, tick, poll)
	require.Zero(t, v.server.Stats().Rejected[server.RejectedTLS])
	require.NotContains(t, v.log.String(), "WARN")
}

func TestLimitsHoldForTLS(t *testing.T) {
	v := secured(t, options{server: server.Config{MaxConnectionsPerAddress: 2, FourLetterWords: []string{"*"}}}, tls.NoClientCert)
	v.connectOver()
	v.connect()
	third, err := net.Dial("tcp", v.addr) // the reset may come while it connects
	if err == nil {
		defer func() { _ = third.Close() }()
		require.Error(t, tls.Client(third, &tls.Config{RootCAs: v.ca.Pool(), ServerName: "localhost"}).Handshake())
	}
	require.Eventually(t, func() bool { return v.server.Stats().Rejected[server.RejectedPerAddress] == 1 }, tick, poll)
}

func TestDrainThroughTLS(t *testing.T) {
	v := secured(t, options{server: server.Config{DrainTimeout: time.Millisecond}}, tls.NoClientCert)
	c := v.connectOver()
	shaking, err := net.Dial("tcp", v.addr)
	require.NoError(t, err)
	defer func() { _ = shaking.Close() }()
	require.Eventually(t, func() bool { return v.server.Stats().Connections == 2 }, tick, poll)
	ctx, cancel := context.WithTimeout(t.Context(), tick)
	defer cancel()
	require.NoError(t, v.server.Drain(ctx))
	_, err = c.readFrame()
	require.ErrorIs(t, err, io.EOF, "closed as TLS is closed")
}

func TestTLSIsToldOf(t *testing.T) {
	v := secured(t, options{server: all()}, tls.VerifyClientCertIfGiven)
	v.connectOver()
	v.connectOver(v.ca.Pair(pkix.Name{CommonName: "a"}))
	v.connect()
	require.Contains(t, v.word("mntr"), "zk_non_mtls_local_conn_count\t1\n")
	secure := 0
	for _, r := range v.server.Connections() {
		if r.Secure {
			secure++
		}
	}
	require.Equal(t, 2, secure)
}

// Clients by the dozen, over TLS, while the certificate changes: for the race
// detector.
func TestManyThroughTLS(t *testing.T) {
	v := secured(t, options{}, tls.NoClientCert)
	v.connect().create("/n", zkproto.FlagPersistent)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c := v.connectOver()
			for i := range 50 {
				c.watchData("/n")
				c.setData("/n", byte(i))
			}
			_ = c.nc.Close()
		})
	}
	for range 5 {
		v.use("again", tls.NoClientCert)
	}
	all.Wait()
}

// records counts the TLS records that a client receives.
type records struct {
	net.Conn
	left int // of the record that is being read
	head []byte
	n    atomic.Int64
}

func (r *records) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	for p := b[:n]; len(p) > 0; {
		if r.left > 0 {
			k := min(r.left, len(p))
			r.left -= k
			p = p[k:]
			continue
		}
		k := min(5-len(r.head), len(p))
		r.head = append(r.head, p[:k]...)
		if p = p[k:]; len(r.head) == 5 {
			r.left = int(r.head[3])<<8 | int(r.head[4])
			r.head = nil
			r.n.Add(1)
		}
	}
	return n, err
}

// kazoo waits for the socket although TLS has given it more than one frame: each
// frame has a record of its own.
func TestEachFrameHasARecord(t *testing.T) {
	v := secured(t, options{}, tls.NoClientCert)
	nc, err := net.Dial("tcp", v.addr)
	require.NoError(t, err)
	count := &records{Conn: nc}
	c := v.client(tls.Client(count, &tls.Config{RootCAs: v.ca.Pool(), ServerName: "localhost"}))
	c.shakeNew()
	c.create("/n", zkproto.FlagPersistent)
	c.watchData("/n")
	before := count.n.Load()
	c.setData("/n", 1)
	require.Len(t, c.take(), 1)
	require.EqualValues(t, 3, count.n.Load()-before, "the event, the reply, and that to a ping")

	before = count.n.Load()
	var pings []byte
	for i := range 100 {
		pings = append(pings, request(int32(1000+i), zkproto.OpExists, &zkproto.ExistsRequest{Path: "/n"})...)
	}
	_, err = c.nc.Write(pings)
	require.NoError(t, err)
	for range 100 {
		c.reply()
	}
	require.GreaterOrEqual(t, count.n.Load()-before, int64(100), "a frame may have more than one")
}
