//go:build compat

// Package nacos_test runs the conformance suite of registry clients, and what
// else the Nacos client promises, on a real Nacos server.
package nacos_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/nacos/server"
	rc "zkbridge/registryclient"
	"zkbridge/registryclient/nacos"
	"zkbridge/registryclient/registrytest"
)

// suite is the server that all tests share: a start takes a quarter of a
// minute. Each test has namespaces of its own.
var suite struct {
	sync.Mutex
	server     *server.Server
	namespaces atomic.Int64
}

func TestMain(m *testing.M) {
	code := m.Run()
	if suite.server != nil {
		suite.server.Close()
	}
	os.Exit(code)
}

// shared gives the server of the suite, started at the first call.
func shared(t *testing.T) *server.Server {
	t.Helper()
	suite.Lock()
	defer suite.Unlock()
	if suite.server == nil {
		begun := time.Now()
		dir := control.CacheDir() + "/runs/nacos"
		require.NoError(t, os.RemoveAll(dir))
		s, err := server.Start(context.Background(), dir, server.Options{})
		if err != nil {
			if s != nil {
				s.Close()
			}
			t.Fatal(err)
		}
		suite.server = s
		t.Logf("Nacos ready after %v", time.Since(begun).Round(time.Millisecond))
	}
	return suite.server
}

// registry is the server as the suite wants it, in namespaces of its own.
type registry struct {
	server *server.Server
	prefix string
	kill   bool // rather than to stop it

	native rc.Client // an application that registers by itself
	relays []*control.Relay

	mu    sync.Mutex
	lists map[rc.Service][]rc.Instance
	last  uint64
}

func newRegistry(t *testing.T, kill bool) *registry {
	t.Helper()
	s := shared(t)
	r := &registry{server: s, prefix: fmt.Sprintf("t%d-", suite.namespaces.Add(1)), kill: kill, lists: make(map[rc.Service][]rc.Instance)}
	native, err := nacos.New(nacos.Config{Servers: []string{s.Addr()}, Owner: nativeOwner, ReconnectMax: 500 * time.Millisecond})
	require.NoError(t, err)
	r.native = native
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- native.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return r
}

var nativeOwner = rc.Owner{Cluster: "native", Bridge: 9, Incarnation: 1}

// Client makes a client behind a relay, with times that suit tests.
func (r *registry) Client(t *testing.T, o rc.Owner) rc.Client {
	relay, err := control.NewRelay("", r.server.GRPCAddr())
	require.NoError(t, err)
	t.Cleanup(func() { relay.Close() })
	r.relays = append(r.relays, relay)
	c, err := nacos.New(nacos.Config{
		Servers: []string{r.server.Addr()}, Owner: o, Settle: 5 * time.Second, NamesInterval: 200 * time.Millisecond, ReconnectMax: 500 * time.Millisecond,
		HealthInterval: time.Second, HealthTimeout: 3 * time.Second,
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", relay.Addr())
		},
	})
	require.NoError(t, err)
	return &renamed{Client: c, prefix: r.prefix}
}

func (r *registry) Register(t *testing.T, s rc.Service, i rc.Instance) {
	r.change(t, s, func(list []rc.Instance) []rc.Instance { return append(without(list, i), i) })
}

func (r *registry) Deregister(t *testing.T, s rc.Service, i rc.Instance) {
	r.change(t, s, func(list []rc.Instance) []rc.Instance { return without(list, i) })
}

func without(list []rc.Instance, i rc.Instance) (rest []rc.Instance) {
	for _, o := range list {
		if o.Address() != i.Address() {
			rest = append(rest, o)
		}
	}
	return rest
}

func (r *registry) change(t *testing.T, s rc.Service, fn func([]rc.Instance) []rc.Instance) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Namespace = r.prefix + s.Namespace
	r.lists[s] = fn(r.lists[s])
	r.last++
	require.Eventually(t, func() bool {
		err := r.native.Publish(t.Context(), rc.Publication{Owner: nativeOwner, Service: s, Generation: r.last, Instances: r.lists[s]})
		require.True(t, err == nil || rc.Retryable(err), "%v", err)
		return err == nil
	}, registrytest.Within, 20*time.Millisecond)
}

func (r *registry) Cut(*testing.T) {
	for _, relay := range r.relays {
		relay.Refuse()
	}
}

func (r *registry) Heal(t *testing.T) {
	for _, relay := range r.relays {
		require.NoError(t, relay.Accept())
	}
}

func (r *registry) Stop(t *testing.T) {
	if r.kill {
		require.NoError(t, r.server.Kill())
		return
	}
	require.NoError(t, r.server.Stop(t.Context()))
}

func (r *registry) Start(t *testing.T) { require.NoError(t, r.server.Start(t.Context())) }

// renamed is a client in namespaces of its test.
type renamed struct {
	*nacos.Client
	prefix string
}

func (c *renamed) in(s rc.Service) rc.Service {
	if s.Namespace != "" {
		s.Namespace = c.prefix + s.Namespace
	}
	return s
}

func (c *renamed) out(s rc.Service) rc.Service {
	s.Namespace = strings.TrimPrefix(s.Namespace, c.prefix)
	return s
}

func (c *renamed) err(err error) error {
	var e *rc.Error
	if errors.As(err, &e) {
		e.Service = c.out(e.Service)
	}
	return err
}

func (c *renamed) Publish(ctx context.Context, p rc.Publication) error {
	p.Service = c.in(p.Service)
	return c.err(c.Client.Publish(ctx, p))
}

func (c *renamed) Subscribe(ctx context.Context, s rc.Service, fn func(rc.Snapshot)) error {
	return c.err(c.Client.Subscribe(ctx, c.in(s), func(snap rc.Snapshot) {
		snap.Service = c.out(snap.Service)
		fn(snap)
	}))
}

func (c *renamed) WatchNames(ctx context.Context, namespace, group string, fn func([]string)) error {
	if namespace != "" {
		namespace = c.prefix + namespace
	}
	return c.err(c.Client.WatchNames(ctx, namespace, group, fn))
}

func (c *renamed) OwnServices(ctx context.Context, o rc.Owner) ([]rc.Service, error) {
	list, err := c.Client.OwnServices(ctx, o)
	for k := range list {
		list[k] = c.out(list[k])
	}
	return list, err
}

func TestConformance(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) registrytest.Registry { return newRegistry(t, false) })
}

// TestConformanceKilled is the same with a server that is killed where the suite
// restarts it.
func TestConformanceKilled(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) registrytest.Registry { return newRegistry(t, true) })
}
