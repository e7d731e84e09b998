package nacos_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/nacos"
	"zkbridge/registryclient/nacos/nacostest"
	"zkbridge/registryclient/registrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// registry is a fake server as the suite wants it.
type registry struct {
	*nacostest.Server
	link *link
}

func (r *registry) Client(t *testing.T, o rc.Owner) rc.Client {
	return newClient(t, nacos.Config{Owner: o, Dial: r.link.dial}, r.Server)
}

// newClient makes a client with quick times.
func newClient(t *testing.T, cfg nacos.Config, servers ...*nacostest.Server) *nacos.Client {
	t.Helper()
	for _, s := range servers {
		cfg.Servers = append(cfg.Servers, s.Addr())
	}
	if cfg.Settle == 0 {
		cfg.Settle = time.Second
	}
	if cfg.NamesInterval == 0 {
		cfg.NamesInterval = 20 * time.Millisecond
	}
	if cfg.HealthInterval == 0 {
		cfg.HealthInterval, cfg.HealthTimeout = 100*time.Millisecond, time.Second
	}
	cfg.ReconnectMin, cfg.ReconnectMax = 10*time.Millisecond, 200*time.Millisecond
	c, err := nacos.New(cfg)
	require.NoError(t, err)
	return c
}

func (r *registry) Register(_ *testing.T, s rc.Service, i rc.Instance) {
	r.Server.Register(nacostest.Service(s), native(i))
}

func (r *registry) Deregister(_ *testing.T, s rc.Service, i rc.Instance) {
	r.Server.Deregister(nacostest.Service(s), i.IP, i.Port)
}

func (r *registry) Stop(*testing.T)    { r.Server.Stop() }
func (r *registry) Start(t *testing.T) { r.Server.Start(t) }
func (r *registry) Cut(*testing.T)     { r.link.cut() }
func (r *registry) Heal(*testing.T)    { r.link.heal() }

func native(i rc.Instance) nacostest.Instance {
	return nacostest.Instance{IP: i.IP, Port: i.Port, Weight: i.Weight, Healthy: i.Healthy, Enabled: i.Enabled, Ephemeral: true, ClusterName: i.Cluster, Metadata: i.Metadata}
}

// link is the way to the servers, which can be cut.
type link struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

var errCut = errors.New("the link is cut")

func (l *link) dial(ctx context.Context, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errCut
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err == nil {
		l.conns = append(l.conns, conn)
	}
	return conn, err
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name    string
		options nacostest.Options
	}{
		{"2.3", nacostest.Options{}},
		{"2.1", nacostest.Options{Old: true}},
		{"3.1", nacostest.Options{FuzzyWatch: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			registrytest.Run(t, func(t *testing.T) registrytest.Registry {
				return &registry{Server: nacostest.New(t, c.options), link: new(link)}
			})
		})
	}
}
