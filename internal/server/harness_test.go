package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a server with its tree and sessions, and how to reach it.
type bench struct {
	t        testing.TB
	tree     *znode.Tree
	sessions *sessions.Manager
	server   *server.Server
	listener net.Listener
	dial     func() net.Conn
	log      *logs
	timeout  int32 // that clients ask for: 10 s in virtual time, 40 s else
	stop     func()
}

type options struct {
	server   server.Config
	tree     znode.Config
	sessions sessions.Config
	pipes    bool // net.Pipe instead of TCP, for virtual time
	tight    bool // the kernel holds only a little for a client that does not read
}

// serve starts a server; it is stopped when the test ends.
func serve(t testing.TB, o options) *bench {
	t.Helper()
	b := &bench{t: t, log: &logs{}, timeout: 40000}
	if o.tree.Reserved == 0 {
		o.tree.Reserved = sessions.ReservedID(1)
	}
	var err error
	b.tree, err = znode.New(o.tree)
	require.NoError(t, err)
	o.sessions.Bridge, o.sessions.Incarnation = 1, 1
	o.sessions.Key = bytes.Repeat([]byte{7}, 32)
	o.sessions.Expire = server.Expire(b.tree, nil)
	b.sessions, err = sessions.New(o.sessions)
	require.NoError(t, err)
	o.server.Tree, o.server.Sessions = b.tree, b.sessions
	if o.server.Log == nil {
		o.server.Log = slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	b.server = server.New(o.server)
	if o.pipes {
		p := newPipes()
		b.listener, b.dial, b.timeout = p, p.dial, 10000
	} else {
		b.listener, err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		b.dial = func() net.Conn {
			c, err := net.Dial("tcp", b.listener.Addr().String())
			require.NoError(t, err)
			return c
		}
		if o.tight {
			b.listener = tight{b.listener}
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // ends in the clean-up, not before
	var parts sync.WaitGroup
	parts.Go(func() { _ = b.sessions.Run(ctx) })
	parts.Go(func() {
		if err := b.server.Serve(ctx, b.listener); err != nil {
			t.Errorf("Serve: got %v, want nil", err)
		}
	})
	b.stop = sync.OnceFunc(func() {
		cancel()
		parts.Wait()
	})
	t.Cleanup(b.stop)
	return b
}

// tight is a listener whose sockets hold little.
type tight struct{ net.Listener }

func (l tight) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetWriteBuffer(64 << 10)
	}
	return c, err
}

// logs collects log lines.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// pipes is a listener of net.Pipe connections.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	mine, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
	case <-p.closed:
		_ = theirs.Close()
	}
	return mine
}

// client is a ZooKeeper client that sees every frame.
type client struct {
	t       testing.TB
	nc      net.Conn
	r       *bufio.Reader
	id      int64
	passwd  []byte
	timeout int32
	zxid    int64 // the last one seen
	xid     int32
	events  []event // met while waiting for replies
}

type event struct {
	Type zkproto.EventType
	Path string
	Zxid int64
}

// frame is one frame from the server.
type frame struct {
	zkproto.ReplyHeader
	body []byte
	size int // behind the length
}

// raw opens a connection without a handshake.
func (b *bench) raw() *client {
	return b.client(b.dial())
}

// client is the client's end of a connection.
func (b *bench) client(nc net.Conn) *client {
	c := &client{t: b.t, nc: nc}
	c.r = bufio.NewReaderSize(c.nc, 512)
	b.t.Cleanup(func() { _ = c.nc.Close() })
	return c
}

// connect opens a connection with a new session.
func (b *bench) connect() *client {
	b.t.Helper()
	c := b.raw()
	c.shake(zkproto.ConnectRequest{Timeout: b.timeout, Passwd: make([]byte, 16), HasReadOnly: true})
	require.NotZero(b.t, c.id, "session id")
	return c
}

// resume opens a connection that carries the session of c again.
func (b *bench) resume(c *client) *client {
	b.t.Helper()
	n := b.raw()
	n.zxid = c.zxid
	n.shake(zkproto.ConnectRequest{Timeout: b.timeout, SessionID: c.id, Passwd: c.passwd, LastZxidSeen: c.zxid})
	return n
}

// shake does the handshake and returns the length of the response.
func (c *client) shake(m zkproto.ConnectRequest) int {
	c.t.Helper()
	c.write(m.AppendTo(nil))
	f, err := c.readFrame()
	require.NoError(c.t, err, "connect response")
	var r zkproto.ConnectResponse
	require.NoError(c.t, r.Decode(f))
	c.id, c.passwd, c.timeout = r.SessionID, r.Passwd, r.Timeout
	return len(f)
}

// write sends one frame.
func (c *client) write(body []byte) {
	c.t.Helper()
	_, err := c.nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	require.NoError(c.t, err)
}

// message is a request's body.
type message interface{ AppendTo([]byte) []byte }

// request encodes a request, its length in front.
func request(xid int32, op zkproto.OpCode, m message) []byte {
	return zkproto.AppendFrame(nil, func(b []byte) []byte {
		h := zkproto.RequestHeader{Xid: xid, Op: op}
		b = h.AppendTo(b)
		if m != nil {
			b = m.AppendTo(b)
		}
		return b
	})
}

// send sends a request and returns its xid.
func (c *client) send(op zkproto.OpCode, m message) int32 {
	c.t.Helper()
	c.xid++
	_, err := c.nc.Write(request(c.xid, op, m))
	require.NoError(c.t, err)
	return c.xid
}

// readFrame reads the next frame, whatever it is.
func (c *client) readFrame() ([]byte, error) {
	return zkproto.ReadFrame(c.r, nil, 1<<30)
}

// next reads the next frame with a header.
func (c *client) next() (frame, error) {
	b, err := c.readFrame()
	if err != nil {
		return frame{}, err
	}
	h, body, err := zkproto.DecodeReply(b)
	if err == nil && h.Zxid > 0 {
		c.zxid = h.Zxid
	}
	return frame{ReplyHeader: h, body: body, size: len(b)}, err
}

// reply reads until a reply comes, and keeps the events in front of it.
func (c *client) reply() frame {
	c.t.Helper()
	for {
		f, err := c.next()
		require.NoError(c.t, err)
		if f.Xid != zkproto.XidNotification {
			return f
		}
		c.events = append(c.events, f.event(c.t))
	}
}

func (f frame) event(t testing.TB) event {
	t.Helper()
	var m zkproto.WatcherEvent
	require.NoError(t, m.Decode(f.body))
	require.Equal(t, zkproto.StateSyncConnected, m.State)
	return event{Type: m.Type, Path: m.Path, Zxid: f.Zxid}
}

// call sends a request and returns its reply.
func (c *client) call(op zkproto.OpCode, m message) frame {
	c.t.Helper()
	xid := c.send(op, m)
	f := c.reply()
	want := xid
	if op == zkproto.OpPing {
		want = zkproto.XidPing
	}
	require.Equal(c.t, want, f.Xid, "xid of the reply to %v", op)
	return f
}

// ok is call for a request that must succeed.
func (c *client) ok(op zkproto.OpCode, m message) frame {
	c.t.Helper()
	f := c.call(op, m)
	require.Equal(c.t, zkproto.OK, f.Err, "outcome of %v", op)
	return f
}

// fails is call for a request that must be answered with code.
func (c *client) fails(code zkproto.Code, op zkproto.OpCode, m message) frame {
	c.t.Helper()
	f := c.call(op, m)
	require.Equal(c.t, code, f.Err, "outcome of %v", op)
	require.Empty(c.t, f.body, "body of an error")
	return f
}

// closed asserts that the server closes the connection, and returns the events
// that came before.
func (c *client) closed() (events []event) {
	c.t.Helper()
	for {
		f, err := c.next()
		if err != nil {
			var ne net.Error
			require.False(c.t, errors.As(err, &ne) && ne.Timeout(), "the connection is still open: %v", err)
			return events
		}
		require.Equal(c.t, zkproto.XidNotification, f.Xid, "a frame behind the last one")
		events = append(events, f.event(c.t))
	}
}

// take returns the events met so far, after a ping that lets those under way
// arrive.
func (c *client) take() []event {
	c.t.Helper()
	c.ok(zkproto.OpPing, nil)
	events := c.events
	c.events = nil
	return events
}

// Short forms of requests.

func create(path string, flags zkproto.CreateFlags, data ...byte) *zkproto.CreateRequest {
	return &zkproto.CreateRequest{Path: path, Data: append([]byte{}, data...), ACL: zkproto.WorldAnyone(), Flags: flags}
}

func (c *client) create(path string, flags zkproto.CreateFlags) string {
	c.t.Helper()
	var m zkproto.CreateResponse
	require.NoError(c.t, m.Decode(c.ok(zkproto.OpCreate, create(path, flags)).body))
	return m.Path
}

func (c *client) delete(path string) {
	c.t.Helper()
	c.ok(zkproto.OpDelete, &zkproto.DeleteRequest{Path: path, Version: -1})
}

func (c *client) setData(path string, data ...byte) {
	c.t.Helper()
	c.ok(zkproto.OpSetData, &zkproto.SetDataRequest{Path: path, Data: data, Version: -1})
}

func (c *client) stat(path string) zkproto.Stat {
	c.t.Helper()
	var m zkproto.ExistsResponse
	require.NoError(c.t, m.Decode(c.ok(zkproto.OpExists, &zkproto.ExistsRequest{Path: path}).body))
	return m.Stat
}

func (c *client) watchChildren(path string) {
	c.t.Helper()
	c.ok(zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: path, Watch: true})
}

func (c *client) watchData(path string) {
	c.t.Helper()
	c.ok(zkproto.OpGetData, &zkproto.GetDataRequest{Path: path, Watch: true})
}

// word sends a four-letter word and returns the answer.
func (b *bench) word(w string) string {
	b.t.Helper()
	c := b.raw()
	_, err := c.nc.Write([]byte(w))
	require.NoError(b.t, err)
	text, err := io.ReadAll(c.nc)
	require.NoError(b.t, err)
	return string(text)
}

// within bounds how long a test waits for bytes.
func (c *client) within(d time.Duration) { _ = c.nc.SetReadDeadline(time.Now().Add(d)) }

// How long tests wait for what must come, and how often they look.
const (
	tick = 10 * time.Second
	poll = time.Millisecond
)
