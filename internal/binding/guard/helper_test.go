package guard_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"zkbridge/internal/binding/guard"
	"zkbridge/internal/claims"
	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/sessions"
	"zkbridge/translate"
	"zkbridge/zkproto"
)

const (
	bridgeID = 7
	timeout  = 10 * time.Second // of sessions, where a test says nothing else
)

var reserved = sessions.ReservedID(bridgeID)

// failer is what tests and properties have in common.
type failer interface {
	Helper()
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// host is how a host answers probes.
type host uint8

const (
	nowhere     host = iota // nothing comes back
	open                    // somebody listens
	refusing                // the host is there, and nobody listens
	unreachable             // a router says that there is no way
)

// world is a bridge without its network: tree, sessions, book of claims and guard,
// in virtual time.
type world struct {
	t     failer
	dir   string // of the log; "": none
	tweak func(*guard.Config)

	store    *znode.Store
	tree     *znode.Tree
	book     *claims.Book
	sessions *sessions.Manager
	guard    *guard.Guard
	ended    map[int64]time.Time // sessions, and when
	stop     func()
	pause    func() // stops the guard's Run alone
	parts    sync.WaitGroup
	clients  []*client

	mu    sync.Mutex
	hosts map[string]host // by "ip:port"
	asked map[string]int
}

func newWorld(t failer, dir string, tweak func(*guard.Config)) *world {
	w := &world{t: t, dir: dir, tweak: tweak, hosts: make(map[string]host), asked: make(map[string]int), ended: make(map[int64]time.Time)}
	w.start()
	return w
}

// start builds the parts and runs them.
func (w *world) start() {
	w.t.Helper()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatalf("%v", err)
		}
	}
	spaces, err := claims.NewSpaces([]claims.Space{{
		Name: "dubbo", Namespace: "public", Group: "DEFAULT_GROUP",
		Roots: []claims.Root{{Pattern: "/dubbo", Layouts: []translate.Layout{translate.NewDubbo("c1")}}},
	}})
	must(err)
	incarnation := uint32(3)
	w.store = nil
	if w.dir != "" {
		w.store, err = znode.StoreConfig{Dir: w.dir, Boot: "one"}.Open()
		must(err)
		incarnation = w.store.Incarnation()
	}
	w.book = claims.NewBook(claims.BookConfig{Spaces: spaces, Reserved: reserved, Bridge: bridgeID, Incarnation: incarnation})
	w.tree, err = znode.New(znode.Config{Reserved: reserved, Hook: w.book, Store: w.store})
	must(err)
	remove := server.Expire(w.tree, func(s *sessions.Session) func(string) string { return w.guard.Ending(s.ID()) })
	w.sessions, err = sessions.New(sessions.Config{
		Bridge: bridgeID, Incarnation: incarnation, Key: make([]byte, 16), MinTimeout: time.Second, MaxTimeout: time.Minute,
		Authority: authority{w}, Expire: remove,
	})
	must(err)
	w.sessions.OnEnd(func(s *sessions.Session) {
		w.guard.Ended(s.ID())
		w.mu.Lock()
		w.ended[s.ID()] = time.Now()
		w.mu.Unlock()
	})
	cfg := guard.Config{
		Book: w.book, Dial: w.dial,
		Session: func(id int64) guard.Session {
			if s := w.sessions.Lookup(id); s != nil {
				return s
			}
			return nil
		},
	}
	if w.tweak != nil {
		w.tweak(&cfg)
	}
	w.guard, err = guard.New(cfg)
	must(err)
	must(w.book.Load(w.tree))
	must(w.guard.Load())
	for _, k := range w.tree.Sessions() {
		_, err := w.sessions.Restore(sessions.Kept{ID: k.ID, Timeout: k.Timeout, Epoch: k.Epoch, Zxid: k.Zxid})
		must(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.parts.Go(func() { _ = w.sessions.Run(ctx) })
	w.stop = func() {
		cancel()
		w.parts.Wait()
		if w.store != nil {
			_ = w.store.Close()
		}
	}
	w.resume()
}

// resume runs the guard.
func (w *world) resume() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.guard.Run(ctx)
	}()
	w.pause = func() { cancel(); <-done }
	stop := w.stop
	w.stop = func() { w.pause(); stop() }
}

// restart ends everything and starts it again on the same log.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

type authority struct{ w *world }

func (a authority) Over(ctx context.Context, s *sessions.Session) (bool, error) {
	return a.w.guard.Over(ctx, s)
}

func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	h := w.hosts[address]
	w.asked[address]++
	w.mu.Unlock()
	fail := func(code syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", code)}
	}
	switch h {
	case open:
		here, there := net.Pipe()
		there.Close()
		return here, nil
	case refusing:
		return nil, fail(syscall.ECONNREFUSED)
	case unreachable:
		return nil, fail(syscall.EHOSTUNREACH)
	default:
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// is makes an address answer probes from now on.
func (w *world) is(at string, h host) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[at] = h
}

func (w *world) do(session int64, fn func(x *znode.Tx) error) (err error) {
	w.tree.Update(znode.Origin{Kind: znode.Operation, Session: session}, fn, func(r znode.Result) { err = r.Err })
	return err
}

func (w *world) mkdir(path string) {
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			_ = w.do(0, func(x *znode.Tx) error {
				_, _, err := x.Create(znode.Create{Path: path[:i], ACL: zkproto.WorldAnyone()})
				return err
			})
		}
	}
}

func at(n int) string               { return fmt.Sprintf("10.0.0.%d:20880", n) }
func dirOf(iface string) string     { return "/dubbo/" + iface + "/providers" }
func pathOf(iface, a string) string { return dirOf(iface) + "/" + nameOf(iface, a) }

func nameOf(iface, at string) string {
	return url.QueryEscape("dubbo://" + at + "/" + iface + "?application=a&interface=" + iface)
}

func serviceOf(iface string) registryclient.Service {
	return registryclient.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: "providers:" + iface + "::"}
}

// shown gives the addresses that the directory of an interface shows, in order.
func (w *world) shown(iface string) []string {
	var names []string
	w.tree.View(func(v *znode.View) { names, _, _ = v.Children(dirOf(iface), nil) })
	list := make([]string, 0, len(names))
	for _, n := range names {
		text, _ := url.QueryUnescape(n)
		u, _ := url.Parse(text)
		list = append(list, u.Host)
	}
	slices.Sort(list)
	return list
}

// published gives what would be in the registry of us, in order.
func (w *world) published(iface string) []string {
	list := []string{}
	for _, l := range w.book.Publications(serviceOf(iface)).Listed {
		list = append(list, l.At)
	}
	slices.Sort(list)
	return list
}

// heldAt gives the class and the reason why an address is held; "" if it is not.
func (w *world) heldAt(iface, at string) (class, why string) {
	for _, h := range w.guard.Held() {
		if h.Service == serviceOf(iface) && h.Instance == at {
			return h.Class, h.Why
		}
	}
	return "", ""
}

// native gives the instance that an application registers by itself.
func native(iface, at string) registryclient.Instance {
	h, port, _ := net.SplitHostPort(at)
	n, _ := net.LookupPort("tcp", port)
	return registryclient.Instance{IP: h, Port: n, Cluster: "DEFAULT", Weight: 1, Enabled: true, Healthy: true, Metadata: map[string]string{
		"application": "a", "interface": iface, "category": "providers", "protocol": "dubbo", "path": iface,
	}}
}

// bridged gives the instance that another bridge publishes.
func bridged(cluster, iface, at string) registryclient.Instance {
	in := native(iface, at)
	in.Metadata[translate.MarkerKey] = "1.j." + cluster + "." + translate.Fingerprint(nameOf(iface, at))
	return in
}

// lists makes the registry list addresses under an interface.
func (w *world) lists(iface string, ats ...string) {
	list := make([]registryclient.Instance, 0, len(ats))
	for _, a := range ats {
		list = append(list, native(iface, a))
	}
	w.guard.Import(serviceOf(iface), list)
}

// conn is a connection that nobody kicks in earnest.
type conn struct{}

func (*conn) Kick(string) {}

// client is a process with a session that it keeps alive.
type client struct {
	w       *world
	session *sessions.Session
	timeout time.Duration
	quit    func()
}

// connect opens a session and keeps it alive.
func (w *world) connect(timeout time.Duration) *client {
	w.t.Helper()
	s, err := w.sessions.Create(timeout, &conn{})
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	_ = w.do(s.ID(), func(x *znode.Tx) error {
		x.OpenSession(znode.Session{ID: s.ID(), Timeout: timeout, Epoch: 1})
		return nil
	})
	c := &client{w: w, session: s, timeout: timeout, quit: func() {}}
	w.clients = append(w.clients, c)
	c.heal()
	return c
}

// cut silences the client.
func (c *client) cut() { c.quit() }

// heal lets it be heard again.
func (c *client) heal() {
	c.quit()
	if c.ended() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	c.quit = func() { cancel(); <-done }
	c.session.Touch()
	go func() {
		defer close(done)
		tick := time.NewTicker(c.timeout / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.session.Touch()
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (c *client) ended() bool { return c.session.Closing() }

// endedAt is when the session ended.
func (c *client) endedAt() time.Time {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.w.ended[c.session.ID()]
}

// register creates the ephemeral of an address, as Dubbo does.
func (c *client) register(iface, at string) error {
	c.w.mkdir(dirOf(iface))
	return c.w.do(c.session.ID(), func(x *znode.Tx) error {
		if c.session.Closing() {
			return zkproto.SessionExpired
		}
		_, _, err := x.Create(znode.Create{
			Path: pathOf(iface, at), Data: []byte("10.0.0.1"), ACL: zkproto.WorldAnyone(), Kind: znode.Ephemeral, Owner: c.session.ID(),
		})
		return err
	})
}

// close ends the session as a client does.
func (c *client) close() {
	c.quit()
	if !c.w.sessions.BeginEnd(c.session) {
		return
	}
	c.w.tree.Update(znode.Origin{Kind: znode.SessionEnd, Session: c.session.ID()}, func(x *znode.Tx) error {
		x.CloseSession(c.session.ID(), nil)
		return nil
	}, nil)
	c.w.sessions.Finish(c.session)
}

func (w *world) remove(path string) error {
	return w.do(1, func(x *znode.Tx) error { return x.Delete(path, -1) })
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, tweak func(*guard.Config), fn func(t *testing.T, w *world)) {
	t.Helper()
	inWorldOn(t, "", tweak, fn)
}

func inWorldOn(t *testing.T, dir string, tweak func(*guard.Config), fn func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dir, tweak)
		defer func() {
			for _, c := range w.clients {
				c.cut()
			}
			w.stop()
		}()
		fn(t, w)
	})
}
