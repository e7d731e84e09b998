//go:build compat

package kills

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/observer"
)

// manner is what a client does when its connection comes back.
type manner int

const (
	// dubbo registers again only under a new session (2.7.4 and later).
	dubbo manner = iota
	// curator deletes and creates under a kept session too (x-discovery, and Dubbo's
	// application level).
	curator
)

// app is one application: a process that registers providers and listens at their
// addresses. It knows what it was told, and nothing else.
type app struct {
	play    *play
	name    string
	manner  manner
	server  string // host:port that it connects to
	timeout time.Duration
	address string
	names   map[string]string // of its znodes, by service

	// one at a time registers, deregisters, dies or is born
	mu       sync.Mutex
	conn     *zk.Conn
	wire     *wire
	port     net.Listener
	told     map[string]bool // services under which it was told that it is registered
	session  atomic.Int64
	watching sync.WaitGroup
	stop     context.CancelFunc
}

// wire is the network of a process: it can be cut for good, as its end does.
type wire struct {
	mu    sync.Mutex
	conns []net.Conn
	dead  bool
}

func (w *wire) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		c.Close()
		return nil, errors.New("this process is dead")
	}
	w.conns = append(w.conns, c)
	return c, nil
}

func (w *wire) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	for _, c := range w.conns {
		c.Close()
	}
}

// silent is where the client library writes.
type silent struct{}

func (silent) Printf(string, ...any) {}

func newApp(p *play, name string, m manner, services ...string) (*app, error) {
	ports, err := control.Ports(1)
	if err != nil {
		return nil, err
	}
	a := &app{play: p, name: name, manner: m, server: p.target.Addr(), timeout: sessionTimeout, address: fmt.Sprintf("127.0.0.1:%d", ports[0]), names: map[string]string{}, told: map[string]bool{}}
	for _, s := range services {
		a.names[s] = url.QueryEscape(fmt.Sprintf("dubbo://%s/%s?application=%s&interface=%s&methods=greet&side=provider&timestamp=1", a.address, s, name, s))
	}
	return a, nil
}

// born starts the process and registers everything. a.mu is held.
func (a *app) born() error {
	var err error
	for end := time.Now().Add(5 * time.Second); ; {
		if a.port, err = net.Listen("tcp", a.address); err == nil || time.Now().After(end) {
			break
		}
		time.Sleep(10 * time.Millisecond) // its last life may still have connections
	}
	if err != nil {
		return err
	}
	go answer(a.port)
	a.wire = &wire{}
	conn, events, err := zk.Connect([]string{a.server}, a.timeout, zk.WithDialer(a.wire.dial), zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	a.conn = conn
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.watching.Go(func() { a.watch(ctx, conn, events) })
	a.watching.Go(func() { a.ping(ctx, conn) })
	a.register(ctx, conn)
	return nil
}

func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Close()
	}
}

// watch follows the session, and does what an application of this manner does.
func (a *app) watch(ctx context.Context, conn *zk.Conn, events <-chan zk.Event) {
	last := int64(0)
	for {
		var e zk.Event
		var ok bool
		select {
		case e, ok = <-events:
		case <-ctx.Done():
			return
		}
		if !ok {
			return
		}
		switch e.State {
		case zk.StateHasSession:
			id := conn.SessionID()
			a.session.Store(id)
			a.play.history.Record(observer.Event{At: time.Now(), Kind: observer.SessionOpened, Session: id, Timeout: a.timeout})
			kept := id == last
			if last != 0 && (a.manner == curator || !kept) {
				a.watching.Go(func() {
					a.mu.Lock()
					defer a.mu.Unlock()
					if ctx.Err() != nil {
						return
					}
					if kept {
						a.deregister(ctx, conn)
					}
					a.register(ctx, conn)
				})
			}
			last = id
		case zk.StateExpired:
			a.play.history.Record(observer.Event{At: time.Now(), Kind: observer.SessionExpired, Session: last})
			a.play.expired(a, last)
		}
	}
}

// ping notes when the server has heard of the session for certain.
func (a *app) ping(ctx context.Context, conn *zk.Conn) {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		sent, id := time.Now(), a.session.Load()
		if _, _, err := conn.Exists("/zookeeper"); err == nil && id != 0 && id == conn.SessionID() {
			a.play.history.Record(observer.Event{At: sent, Kind: observer.SessionHeard, Session: id})
		}
	}
}

// register creates the providers that the application was not told stand.
func (a *app) register(ctx context.Context, conn *zk.Conn) {
	for service := range a.names {
		a.create(ctx, conn, service)
	}
}

func (a *app) create(ctx context.Context, conn *zk.Conn, service string) {
	path := directory(service) + "/" + a.names[service]
	asked := time.Now()
	for ctx.Err() == nil {
		_, err := conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		switch {
		case err == nil:
			a.told[service] = true
			a.play.history.Record(observer.Event{
				At: time.Now(), Asked: asked, Kind: observer.Created, Side: observer.ZooKeeperSide,
				Service: service + "::", Address: a.address, Name: a.names[service], Session: conn.SessionID(),
			})
			return
		case errors.Is(err, zk.ErrNodeExists): // CuratorZookeeperClient.createEphemeral: delete, and once more
			_ = conn.Delete(path, -1)
		case errors.Is(err, zk.ErrNoNode):
			a.play.makeDirectories(conn, service)
		default:
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// deregister deletes what stands.
func (a *app) deregister(ctx context.Context, conn *zk.Conn) {
	for service := range a.names {
		a.remove(ctx, conn, service)
	}
}

func (a *app) remove(ctx context.Context, conn *zk.Conn, service string) {
	asked := time.Now()
	for ctx.Err() == nil {
		err := conn.Delete(directory(service)+"/"+a.names[service], -1)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			a.told[service] = false
			a.play.history.Record(observer.Event{
				At: time.Now(), Asked: asked, Kind: observer.Deleted, Side: observer.ZooKeeperSide,
				Service: service + "::", Address: a.address, Name: a.names[service], Session: conn.SessionID(),
			})
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// die ends the process: no goodbye, and nobody listens any more. a.mu is held.
func (a *app) die() {
	a.wire.kill()
	a.port.Close()
	a.play.history.Record(observer.Event{At: time.Now(), Kind: observer.ProcessEnded, Address: a.address})
	a.stop()
	conn := a.conn
	go conn.Close() // it has no network to say goodbye through
	clear(a.told)
	a.session.Store(0)
}

// end waits for what the process was doing.
func (a *app) end() {
	a.mu.Lock()
	if a.conn != nil && a.stop != nil {
		a.die()
	}
	a.mu.Unlock()
	a.watching.Wait()
}

func directory(service string) string { return "/dubbo/" + service + "/providers" }
