package embedded_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/registryclient/registrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local is a registry in this process as the suite wants it.
type local struct{ *embedded.Registry }

func (l local) Client(t *testing.T, o rc.Owner) rc.Client {
	c, err := embedded.NewLocal(l.Registry, o, 0)
	require.NoError(t, err)
	return c
}

func (l local) Register(t *testing.T, s rc.Service, i rc.Instance) {
	_, err := l.Registry.Register(s, i, time.Hour)
	require.NoError(t, err)
}

func (l local) Deregister(t *testing.T, s rc.Service, i rc.Instance) {
	require.NoError(t, l.Registry.Deregister(s, i.Address()))
}

// running gives a registry that runs until the test ends.
func running(t *testing.T, cfg embedded.Config) *embedded.Registry {
	t.Helper()
	reg, err := embedded.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- reg.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return reg
}

func TestLocalConforms(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) registrytest.Registry { return local{running(t, embedded.Config{})} })
}

// remote is a registry behind HTTP as the suite wants it. Its clients reach it
// through a switch that can break and freeze.
type remote struct {
	token string
	disk  embedded.Disk
	road  *road

	mu     sync.Mutex
	reg    *embedded.Registry
	kill   func()
	native map[rc.Service]map[string]rc.Instance // they notice a restart, and come back late
}

func newRemote(t *testing.T, disk embedded.Disk, token string) *remote {
	r := &remote{token: token, disk: disk, road: newRoad(), native: make(map[rc.Service]map[string]rc.Instance)}
	r.start(t)
	t.Cleanup(func() {
		r.road.cut()
		r.kill()
	})
	return r
}

func (r *remote) start(t *testing.T) {
	reg, err := embedded.New(embedded.Config{Disk: r.disk, SaveEvery: time.Millisecond, Settle: time.Second})
	require.NoError(t, err)
	ln := newListener()
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { reg.Run(ctx) })
	parts.Go(func() {
		err := embedded.ServeHTTP(ctx, reg, embedded.HTTPConfig{Listener: ln, Token: r.token, Ping: 20 * time.Millisecond})
		if err != nil {
			t.Errorf("got error %v from ServeHTTP, want nil", err)
		}
	})
	r.mu.Lock()
	r.reg = reg
	r.kill = func() {
		cancel()
		parts.Wait()
	}
	r.mu.Unlock()
	r.road.to(ln)
}

func (r *remote) Client(t *testing.T, o rc.Owner) rc.Client {
	c, err := embedded.NewRemote(embedded.RemoteConfig{
		Owner: o, Token: r.token, Dial: r.road.dial, Timeout: time.Second, Silence: 500 * time.Millisecond, Retry: time.Millisecond, MaxRetry: 20 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	return c
}

func (r *remote) Register(t *testing.T, s rc.Service, i rc.Instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.native[s] == nil {
		r.native[s] = make(map[string]rc.Instance)
	}
	r.native[s][i.Address()] = i
	_, err := r.reg.Register(s, i, time.Hour)
	require.NoError(t, err)
}

func (r *remote) Deregister(t *testing.T, s rc.Service, i rc.Instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.native[s], i.Address())
	require.NoError(t, r.reg.Deregister(s, i.Address()))
}

func (r *remote) Cut(*testing.T)  { r.road.freeze() }
func (r *remote) Heal(*testing.T) { r.road.thaw() }

func (r *remote) Stop(*testing.T) {
	r.road.cut()
	r.kill()
}

// Start starts the registry. Native applications find out with their next
// heart-beat, which is later than the bridge's return.
func (r *remote) Start(t *testing.T) {
	r.start(t)
	reg := r.reg
	late := time.AfterFunc(100*time.Millisecond, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for s, list := range r.native {
			for _, i := range list {
				reg.Register(s, i, time.Hour)
			}
		}
	})
	t.Cleanup(func() { late.Stop() })
}

func TestRemoteConforms(t *testing.T) {
	for _, c := range []struct {
		name string
		disk func(*testing.T) embedded.Disk
	}{
		{"forgetful", func(*testing.T) embedded.Disk { return nil }},
		{"with snapshot", func(t *testing.T) embedded.Disk {
			dir, err := embedded.OpenDir(t.TempDir())
			require.NoError(t, err)
			t.Cleanup(func() { dir.Close() })
			return dir
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			registrytest.Run(t, func(t *testing.T) registrytest.Registry { return newRemote(t, c.disk(t), "secret") })
		})
	}
}

// road leads clients to a listener, in memory. It can be frozen, so that
// nothing comes through and nobody is told, or cut, so that everything breaks.
type road struct {
	mu     sync.Mutex
	ln     *listener
	frozen chan struct{} // not nil while frozen; closed by thaw
	conns  map[*roadConn]bool
}

func newRoad() *road { return &road{conns: make(map[*roadConn]bool)} }

func (r *road) to(ln *listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ln = ln
}

func (r *road) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	r.mu.Lock()
	ln, frozen := r.ln, r.frozen
	r.mu.Unlock()
	if frozen != nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if ln == nil {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	select {
	case ln.conns <- far:
	case <-ln.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := &roadConn{Conn: near, road: r, closed: make(chan struct{})}
	r.mu.Lock()
	r.conns[c] = true
	r.mu.Unlock()
	return c, nil
}

func (r *road) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ln = nil
	for c := range r.conns {
		c.Close()
	}
	clear(r.conns)
}

func (r *road) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = make(chan struct{})
}

// thaw lets new connections through; the frozen ones break.
func (r *road) thaw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.frozen)
	r.frozen = nil
	for c := range r.conns {
		c.Close()
	}
	clear(r.conns)
}

// roadConn is the client's end of a connection.
type roadConn struct {
	net.Conn
	road   *road
	once   sync.Once
	closed chan struct{}
}

func (c *roadConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *roadConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.road.mu.Lock()
	frozen := c.road.frozen
	c.road.mu.Unlock()
	if frozen != nil && err == nil {
		select {
		case <-frozen:
		case <-c.closed:
		}
		return 0, net.ErrClosed
	}
	return n, err
}

// listener takes connections in memory.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// canceled gives a context that has ended.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
