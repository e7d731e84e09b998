package nacos_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/nacos"
	"zkbridge/registryclient/nacos/nacostest"
	"zkbridge/registryclient/registrytest"
)

var owner = rc.Owner{Cluster: "c", Bridge: 1, Incarnation: 1}

const within = 10 * time.Second

// start makes a client and runs it until the test ends.
func start(t *testing.T, cfg nacos.Config, servers ...*nacostest.Server) *nacos.Client {
	t.Helper()
	c := startDown(t, cfg, servers...)
	awaitUp(t, c)
	return c
}

// startDown is start without waiting for the link.
func startDown(t *testing.T, cfg nacos.Config, servers ...*nacostest.Server) *nacos.Client {
	t.Helper()
	cfg.Owner = owner
	if cfg.Jitter == nil {
		cfg.Jitter = func() float64 { return 0 } // the first server first
	}
	c := newClient(t, cfg, servers...)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return c
}

func awaitUp(t *testing.T, c *nacos.Client) {
	t.Helper()
	require.Eventually(t, func() bool { return c.LinkState().Up }, within, time.Millisecond, "%v", c.LinkState())
}

func service(name string) rc.Service {
	return rc.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: name}
}

func at(s rc.Service) nacostest.Service { return nacostest.Service(s) }

var generations struct {
	sync.Mutex
	last uint64
}

func generation() uint64 {
	generations.Lock()
	defer generations.Unlock()
	generations.last++
	return generations.last
}

func publication(s rc.Service, list ...rc.Instance) rc.Publication {
	return rc.Publication{Owner: owner, Service: s, Generation: generation(), Instances: list}
}

func publish(t *testing.T, c *nacos.Client, s rc.Service, list ...rc.Instance) {
	t.Helper()
	require.NoError(t, c.Publish(t.Context(), publication(s, list...)))
}

func instances(n int) (list []rc.Instance) {
	for k := range n {
		list = append(list, registrytest.Instance("10.0.0.1", 1000+k, "k", "v"))
	}
	return list
}

// following is a subscription and everything it was told.
type following struct {
	mu    sync.Mutex
	calls []rc.Snapshot
}

func follow(t *testing.T, c *nacos.Client, s rc.Service) *following {
	t.Helper()
	f := new(following)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Subscribe(ctx, s, func(snap rc.Snapshot) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.calls = append(f.calls, snap)
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return f
}

// ports gives the ports of each list so far.
func (f *following) ports() (all [][]int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.calls {
		list := []int{}
		for _, i := range s.Instances {
			list = append(list, i.Port)
		}
		all = append(all, list)
	}
	return all
}

// await waits for a last list with these ports.
func (f *following) await(t *testing.T, ports ...int) {
	t.Helper()
	if ports == nil {
		ports = []int{}
	}
	require.Eventually(t, func() bool {
		all := f.ports()
		return len(all) > 0 && slices.Equal(all[len(all)-1], ports)
	}, within, time.Millisecond, "want %v at the end", ports)
}
