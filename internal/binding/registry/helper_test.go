package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/registry"
	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/registryclient/registrytest"
	"zkbridge/translate"
	"zkbridge/zkproto"
)

const reserved = int64(7) << 56

var owner = rc.Owner{Cluster: "c1", Bridge: 7, Incarnation: 1}

// backend is a registry and what a test needs of it.
type backend struct {
	client     rc.Client
	run        func(context.Context) error // of the registry itself; nil: it needs none
	list       func(rc.Service) []rc.Instance
	register   func(rc.Service, rc.Instance)
	deregister func(rc.Service, string)
}

// nacosLike is the fake: it cannot say what is ours.
func nacosLike(fake *registrytest.Fake) backend {
	return backend{client: fake.Client(owner), list: fake.Instances, register: fake.Register, deregister: fake.Deregister}
}

// ownRegistry is the embedded one.
func ownRegistry(t *testing.T, cfg embedded.Config, o rc.Owner) backend {
	reg, err := embedded.New(cfg)
	require.NoError(t, err)
	return over(t, reg, o)
}

// over is another client of an embedded registry.
func over(t *testing.T, reg *embedded.Registry, o rc.Owner) backend {
	local, err := embedded.NewLocal(reg, o, 30*time.Second)
	require.NoError(t, err)
	return backend{
		client: local, run: reg.Run,
		list: func(s rc.Service) (out []rc.Instance) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_ = local.Subscribe(ctx, s, func(snap rc.Snapshot) {
				out = nil
				for _, i := range snap.Instances {
					out = append(out, i.Instance)
				}
				cancel()
			})
			return out
		},
		register: func(s rc.Service, i rc.Instance) {
			_, err := reg.Register(s, i, time.Hour)
			require.NoError(t, err)
		},
		deregister: func(s rc.Service, address string) { require.NoError(t, reg.Deregister(s, address)) },
	}
}

// call is one Publish that reached the registry.
type call struct {
	at   time.Duration // since the rig was made
	list []rc.Instance
	svc  rc.Service
	gen  uint64
}

// rig is a bridge without its server: a tree, a book, a binding and a registry.
type rig struct {
	t       *testing.T
	backend backend
	faulty  *registrytest.Faulty
	tree    *znode.Tree
	book    *claims.Book
	binding *registry.Binding
	born    time.Time
	log     *syncBuffer

	mu    sync.Mutex
	calls []call
	fail  func(rc.Publication) error
	next  int64 // session ids

	stopClient, stopBinding func()
	running                 sync.WaitGroup
}

// syncBuffer is a log that may be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// options of a rig.
type options struct {
	spaces  []claims.Space
	change  func(*registry.Config)
	faults  func(*registrytest.Faulty) // before anything runs
	idle    bool                       // the caller starts it
	prepare func(*rig)                 // the tree, before the book is loaded
}

func newRig(t *testing.T, b backend, o options) *rig {
	r := &rig{t: t, backend: b, born: time.Now(), log: &syncBuffer{}}
	r.faulty = registrytest.NewFaulty(b.client)
	r.faulty.FailPublish(func(p rc.Publication) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, call{time.Since(r.born), slices.Clone(p.Instances), p.Service, p.Generation})
		if r.fail != nil {
			return r.fail(p)
		}
		return nil
	})
	if o.faults != nil {
		o.faults(r.faulty)
	}
	if o.spaces == nil {
		o.spaces = []claims.Space{{Name: "dubbo", Namespace: "public", Group: "DEFAULT_GROUP", Roots: []claims.Root{{Pattern: "/dubbo", Layouts: []translate.Layout{translate.NewDubbo("c1")}}}}}
	}
	spaces, err := claims.NewSpaces(o.spaces)
	require.NoError(t, err)
	r.book = claims.NewBook(claims.BookConfig{Spaces: spaces, Reserved: reserved})
	r.tree, err = znode.New(znode.Config{Reserved: reserved, Hook: r.book})
	require.NoError(t, err)
	cfg := registry.Config{Book: r.book, Client: r.faulty, Owner: owner, Jitter: func() float64 { return 0.5 }, Log: slog.New(slog.NewTextHandler(r.log, nil))}
	if o.change != nil {
		o.change(&cfg)
	}
	r.binding, err = registry.New(cfg)
	require.NoError(t, err)
	if o.prepare != nil {
		o.prepare(r)
	}
	require.NoError(t, r.book.Load(r.tree))
	if !o.idle {
		r.start()
	}
	return r
}

// start runs everything and waits until it is quiet.
func (r *rig) start() {
	stopRegistry := func() {}
	if r.backend.run != nil {
		stopRegistry = r.goRun(r.backend.run)
	}
	r.stopClient = r.goRun(r.faulty.Run)
	r.stopBinding = r.goRun(r.binding.Run)
	r.t.Cleanup(func() {
		r.stopBinding()
		r.stopClient()
		stopRegistry()
		r.running.Wait()
	})
	synctest.Wait()
}

func (r *rig) goRun(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	r.running.Go(func() {
		if err := run(ctx); err != nil {
			r.t.Errorf("run: %v", err)
		}
	})
	return cancel
}

func (r *rig) failWith(fn func(rc.Publication) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = fn
}

// taken gives the calls since the last look.
func (r *rig) taken() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.calls
	r.calls = nil
	return list
}

// settle lets all that is coalesced go out.
func settle() {
	time.Sleep(1100 * time.Millisecond)
	synctest.Wait()
}

// after lets a time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rig) do(session int64, fn func(x *znode.Tx) error) (err error) {
	r.tree.Update(znode.Origin{Kind: znode.Operation, Session: session}, fn, func(res znode.Result) { err = res.Err })
	return err
}

// session opens one.
func (r *rig) session() int64 {
	r.next++
	id := r.next
	r.do(id, func(x *znode.Tx) error { x.OpenSession(znode.Session{ID: id}); return nil })
	return id
}

func (r *rig) end(session int64) {
	r.tree.Update(znode.Origin{Kind: znode.SessionEnd, Session: session}, func(x *znode.Tx) error { x.CloseSession(session, nil); return nil }, nil)
}

func (r *rig) mkdir(path string) {
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			r.do(0, func(x *znode.Tx) error {
				_, _, err := x.Create(znode.Create{Path: path[:i], ACL: zkproto.WorldAnyone()})
				return err
			})
		}
	}
}

// register creates a provider's node, and its directory.
func (r *rig) register(session int64, p provider) error {
	r.mkdir(p.dir())
	return r.do(session, func(x *znode.Tx) error {
		c := znode.Create{Path: p.path(), ACL: zkproto.WorldAnyone()}
		if session != 0 {
			c.Kind, c.Owner = znode.Ephemeral, session
		}
		_, _, err := x.Create(c)
		return err
	})
}

func (r *rig) remove(session int64, p provider) error {
	return r.do(session, func(x *znode.Tx) error { return x.Delete(p.path(), -1) })
}

func (r *rig) children(dir string) (list []string) {
	r.tree.View(func(v *znode.View) { list, _, _ = v.Children(dir, nil) })
	slices.Sort(list)
	return list
}

// listed gives the addresses under a service, "ip:port protocol".
func listed(list []rc.Instance) (out []string) {
	for _, i := range list {
		out = append(out, i.Address()+" "+i.Metadata["protocol"])
	}
	return out
}

func (r *rig) registry(p provider) []string { return listed(r.backend.list(p.service())) }

// provider describes a registration.
type provider struct {
	iface    string
	protocol string
	host     string
	port     int
	extra    string
}

func (p provider) with(extra string) provider {
	p.extra = extra
	return p
}

func (p provider) url() string {
	params := []string{"application=a", "interface=" + p.iface}
	if p.extra != "" {
		params = append(params, p.extra)
	}
	slices.Sort(params)
	return fmt.Sprintf("%s://%s:%d/%s?%s", p.protocol, p.host, p.port, p.iface, strings.Join(params, "&"))
}

func (p provider) dir() string  { return "/dubbo/" + p.iface + "/providers" }
func (p provider) name() string { return url.QueryEscape(p.url()) }
func (p provider) path() string { return p.dir() + "/" + p.name() }
func (p provider) line() string { return fmt.Sprintf("%s:%d %s", p.host, p.port, p.protocol) }

func (p provider) service() rc.Service {
	return rc.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: "providers:" + p.iface + "::"}
}

func (p provider) native() rc.Instance {
	m := map[string]string{"application": "a", "interface": p.iface, "category": "providers", "protocol": p.protocol, "path": p.iface}
	if k, v, ok := strings.Cut(p.extra, "="); ok {
		m[k] = v
	}
	return rc.Instance{IP: p.host, Port: p.port, Cluster: "DEFAULT", Weight: 1, Enabled: true, Healthy: true, Metadata: m}
}

var (
	dubboA = provider{iface: "com.acme.A", protocol: "dubbo", host: "10.0.0.1", port: 20880, extra: "timestamp=1"}
	triA   = provider{iface: "com.acme.A", protocol: "tri", host: "10.0.0.1", port: 20880, extra: "timestamp=1"}
	otherA = provider{iface: "com.acme.A", protocol: "dubbo", host: "10.0.0.2", port: 20880, extra: "timestamp=1"}
	dubboB = provider{iface: "com.acme.B", protocol: "dubbo", host: "10.0.0.1", port: 20880, extra: "timestamp=1"}
)

func unavailable(p rc.Publication) error {
	return &rc.Error{Op: "publish", Service: p.Service, Kind: rc.Unavailable, Err: errors.New("no answer")}
}

func invalid(p rc.Publication, why string) error {
	return &rc.Error{Op: "publish", Service: p.Service, Kind: rc.Invalid, Err: errors.New(why)}
}

// everyBackend runs a test against a registry that says what is ours and one
// that does not.
func everyBackend(t *testing.T, fn func(t *testing.T, b backend)) {
	t.Run("says own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { fn(t, ownRegistry(t, embedded.Config{}, owner)) })
	})
	t.Run("cannot say own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { fn(t, nacosLike(registrytest.NewFake())) })
	})
}
