package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// explosive is a Hook that panics when a certain node is made.
type explosive struct{}

func (explosive) Committed(int64) {}
func (explosive) Stage(_ *znode.Tx, changes []znode.Change) {
	for _, c := range changes {
		if c.Kind == znode.Created && c.Path == "/bomb" {
			panic("boom")
		}
	}
}

// A panic closes the connection that it happened on; its session stays, and
// nobody else notices.
func TestPanicIsConfined(t *testing.T) {
	b := serve(t, options{tree: znode.Config{Hook: explosive{}, Reserved: sessions.ReservedID(1)}})
	c, other := b.connect(), b.connect()
	other.watchChildren("/")
	c.create("/mine", zkproto.FlagEphemeral)
	require.Len(t, other.take(), 1)
	other.watchChildren("/")
	peer := c.nc.LocalAddr().String()
	for range 3 {
		c.send(zkproto.OpCreate, create("/bomb", zkproto.FlagPersistent))
		c.closed()
		c = b.resume(c)
		require.NotZero(t, c.id)
	}
	require.Empty(t, other.take(), "nothing was made, nothing fires")
	require.Equal(t, c.id, other.stat("/mine").EphemeralOwner)
	require.EqualValues(t, 3, b.server.Stats().Panics)
	b.stop()
	require.Contains(t, b.log.String(), "boom")
	require.Contains(t, b.log.String(), "explosive", "the stack is in the log")
	require.Contains(t, b.log.String(), peer)
}

// Drain closes the sockets at a rate, each behind the replies to what was begun,
// and leaves the sessions.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, options{pipes: true, server: server.Config{DrainTimeout: 10 * time.Second}})
		clients := make([]*client, 10)
		closed := make([]time.Duration, len(clients))
		for i := range clients {
			clients[i] = b.connect()
			clients[i].create(fmt.Sprintf("/e%d", i), zkproto.FlagEphemeral)
		}
		shaking := b.raw()
		start := time.Now()
		var gone sync.WaitGroup
		for i, c := range clients {
			gone.Go(func() {
				c.closed()
				closed[i] = time.Since(start)
			})
		}
		gone.Go(func() { shaking.closed() })
		require.NoError(t, b.server.Drain(t.Context()))
		gone.Wait()
		spread := make(map[time.Duration]int)
		for _, d := range closed {
			spread[d.Round(time.Second)]++
		}
		for d, n := range spread {
			require.LessOrEqual(t, n, 2, "closed at %v", d)
		}
		require.Equal(t, len(clients), b.sessions.Stats().Open)
		require.Equal(t, len(clients), b.tree.Stats().Ephemerals)
		require.Zero(t, b.server.Stats().Connections)
		require.NoError(t, b.server.Serve(t.Context(), newPipes()), "it does not serve again")
		b.stop()
	})
}

// Requests that are under way are answered before their connection is drained.
func TestDrainUnderLoad(t *testing.T) {
	b := serve(t, options{server: server.Config{DrainTimeout: 200 * time.Millisecond}})
	var load sync.WaitGroup
	for i := range 20 {
		c := b.connect()
		path := c.create(fmt.Sprintf("/e%d", i), zkproto.FlagEphemeral)
		load.Go(func() {
			for n := byte(0); ; n++ {
				if _, err := c.nc.Write(request(1, zkproto.OpSetData, &zkproto.SetDataRequest{Path: path, Data: []byte{n}, Version: -1})); err != nil {
					return
				}
				if _, err := c.next(); err != nil {
					return
				}
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, b.server.Drain(ctx))
	load.Wait()
	_, err := net.Dial("tcp", b.listener.Addr().String())
	require.Error(t, err, "nobody listens")
	require.Equal(t, 20, b.sessions.Stats().Open)
}

// A drain that nobody waits for says what is left.
func TestDrainAborted(t *testing.T) {
	b := serve(t, options{server: server.Config{DrainTimeout: time.Minute}})
	b.connect()
	b.connect()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := b.server.Drain(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "still open")
}

// A listener that fails ends Serve with an error that names it.
func TestListenerFails(t *testing.T) {
	b := serve(t, options{})
	ln := &failing{err: errors.New("no such device")}
	require.ErrorContains(t, b.server.Serve(t.Context(), ln), "no such device")
	ln = &failing{temporary: 3, err: errors.New("no such device")}
	require.Error(t, b.server.Serve(t.Context(), ln))
	require.Zero(t, ln.temporary, "what passes is waited for")
}

type failing struct {
	temporary int
	err       error
}

type passing struct{ error }

func (passing) Temporary() bool { return true }

func (l *failing) Accept() (net.Conn, error) {
	if l.temporary > 0 {
		l.temporary--
		return nil, passing{errors.New("too many open files")}
	}
	return nil, l.err
}
func (l *failing) Close() error   { return nil }
func (l *failing) Addr() net.Addr { return &net.TCPAddr{} }

// Bad input is logged once for a connection and an address, and counted each
// time.
func TestBadInputIsLoggedOnce(t *testing.T) {
	b := serve(t, options{})
	for range 5 {
		c := b.connect()
		for range 5 {
			c.fails(zkproto.MarshallingError, zkproto.OpCreate, bad{1})
		}
	}
	require.EqualValues(t, 25, b.server.Stats().Malformed)
	require.Equal(t, 1, strings.Count(b.log.String(), "bad input"))
}

// FuzzConnection throws frames at a server and asks two things of it: that it
// ends or answers, and that nobody else notices.
func FuzzConnection(f *testing.F) {
	hello := zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16)}
	start := zkproto.AppendFrame(nil, hello.AppendTo)
	seed := func(frames ...[]byte) { f.Add(bytes.Join(append([][]byte{start}, frames...), nil)) }
	f.Add([]byte("ruok"))
	f.Add([]byte("GET / HTTP/1.0\r\n\r\n"))
	f.Add([]byte{0, 0, 0, 44})
	seed()
	seed(request(1, zkproto.OpCreate, create("/f", zkproto.FlagEphemeral, 1)), request(2, zkproto.OpDelete, &zkproto.DeleteRequest{Path: "/f", Version: -1}))
	seed(request(1, zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: "/", Watch: true}), request(2, zkproto.OpCreate, create("/x/y", 3)))
	seed(request(-8, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{RelativeZxid: 3, Data: []string{"/a"}, Exist: []string{"/"}, Child: []string{"/"}}))
	seed(request(1, zkproto.OpMulti, &zkproto.MultiRequest{Ops: []zkproto.MultiOp{{Op: zkproto.OpCreate, Path: "/m", ACL: zkproto.WorldAnyone()}, {Op: zkproto.OpDelete, Path: "/m"}}}))
	seed(request(-4, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("a:b")}), request(1, zkproto.OpWhoAmI, nil))
	seed(request(1, zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/", Mode: 1}), request(2, zkproto.OpCloseSession, nil))
	seed(request(1, 888, nil), request(2, zkproto.OpPing, nil))

	b := serve(f, options{server: server.Config{Log: nil}})
	other := b.connect()
	other.create("/canary", zkproto.FlagEphemeral)
	f.Fuzz(func(t *testing.T, stream []byte) {
		other.t = t
		nc, err := net.Dial("tcp", b.listener.Addr().String())
		require.NoError(t, err)
		defer nc.Close()
		go func() {
			_, _ = nc.Write(stream)
			_ = nc.(*net.TCPConn).CloseWrite()
		}()
		require.NoError(t, nc.SetReadDeadline(time.Now().Add(20*time.Second)))
		for buf := make([]byte, 4096); err == nil; {
			_, err = nc.Read(buf)
		}
		var ne net.Error
		require.False(t, errors.As(err, &ne) && ne.Timeout(), "the server hangs")
		require.NotZero(t, other.stat("/canary").EphemeralOwner)
		require.Zero(t, b.server.Stats().Panics, b.log.String())
	})
}

// Random frames of known operations, many connections at once: the server
// neither hangs nor panics, and a neighbour is served all the while.
func TestRandomFrames(t *testing.T) {
	b := serve(t, options{})
	other := b.connect()
	other.create("/canary", zkproto.FlagEphemeral)
	var storm sync.WaitGroup
	for worker := range 8 {
		storm.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 5))
			for range 60 {
				c := b.connect()
				var batch []byte
				for range 1 + r.IntN(30) {
					body := make([]byte, r.IntN(60))
					for i := range body {
						if r.IntN(3) == 0 {
							body[i] = byte(r.Uint32())
						}
					}
					batch = append(batch, request(int32(r.Uint32()), zkproto.OpCode(r.IntN(120)-12), bad(body))...)
				}
				if r.IntN(2) == 0 {
					batch = batch[:r.IntN(len(batch))]
				}
				_, _ = c.nc.Write(batch)
				_ = c.nc.(*net.TCPConn).CloseWrite()
				c.within(20 * time.Second)
				for {
					if _, err := c.readFrame(); err != nil {
						var ne net.Error
						if errors.As(err, &ne) && ne.Timeout() {
							t.Error("the server hangs")
						}
						break
					}
				}
				_ = c.nc.Close()
			}
		})
	}
	quiet := make(chan struct{})
	go func() {
		storm.Wait()
		close(quiet)
	}()
	for done := false; !done; {
		select {
		case <-quiet:
			done = true
		default:
			require.NotZero(t, other.stat("/canary").EphemeralOwner)
		}
	}
	require.Zero(t, b.server.Stats().Panics)
}
