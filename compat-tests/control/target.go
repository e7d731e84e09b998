package control

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Kind names one of the servers a compat test runs against.
type Kind string

const (
	// ZooKeeper is a real ZooKeeper 3.9.5, standalone: the control.
	ZooKeeper Kind = "zookeeper"
	// Bridge is `zkbridge serve` with the registry inside its process.
	Bridge Kind = "bridge"
	// BridgeRegistry is `zkbridge serve` with `zkbridge registry serve` as a
	// process of its own. Its targets implement [RegistryProcess].
	BridgeRegistry Kind = "bridge+registry"
)

// Kinds are all kinds, the control first.
func Kinds() []Kind { return []Kind{ZooKeeper, Bridge, BridgeRegistry} }

// Target is a server that speaks the ZooKeeper protocol on a loopback address,
// in a process of its own. Its address and data outlive Kill, Stop and Start.
// A Target is used by one goroutine at a time.
type Target interface {
	// Name is the kind, as tests print it.
	Name() string
	// Addr is the host:port that ZooKeeper clients connect to.
	Addr() string
	// Start starts the server and returns once it serves: srvr answers with a
	// mode, and the bridge says that it is ready.
	Start(ctx context.Context) error
	// Kill ends the server with SIGKILL and returns once the process is gone.
	Kill(ctx context.Context) error
	// Restart is Kill (the bridge) or Stop (the control, which keeps its sessions
	// on disk either way) and then Start, on the same address and data.
	Restart(ctx context.Context) error
	// Stop ends the server with SIGTERM and returns once the process is gone;
	// one that takes longer than ten seconds is killed, which is an error.
	Stop(ctx context.Context) error
	// Pid is the process id of the server, 0 while it is not running.
	Pid() int
	// RegistryURL is the base URL of the registry's native HTTP API, without a
	// slash at its end; "" for the control.
	RegistryURL() string
	// AdminURL is the base URL of the bridge's admin listener (/metrics, /readyz);
	// "" for the control.
	AdminURL() string
	// Logs returns the paths of the files that the processes write to.
	Logs() []string
}

// RegistryProcess is what a [Target] of kind [BridgeRegistry] can do besides:
// the registry is taken away and comes back while the bridge runs on.
type RegistryProcess interface {
	// StartRegistry starts the registry on its old address and data and returns
	// once its HTTP API answers.
	StartRegistry(ctx context.Context) error
	// StopRegistry ends the registry with SIGTERM.
	StopRegistry(ctx context.Context) error
	// KillRegistry ends the registry with SIGKILL.
	KillRegistry(ctx context.Context) error
}

// Options say how a server is started. The zero value is ZooKeeper's default:
// tick 2 s, sessions from 4 s to 40 s, port and directory chosen.
type Options struct {
	Host       string        // loopback address to listen on; "" means 127.0.0.1
	Port       int           // 0: one that no other test has
	Tick       time.Duration // 0 means 2 s
	MinSession time.Duration // 0 means two ticks
	MaxSession time.Duration // 0 means twenty ticks
	Dir        string        // for data, configuration and logs; "" means a temporary one (removed by Start's clean-up)
	JVM        []string      // flags of the control's JVM; nil means small and quick to start, which is not what a benchmark wants
	Lines      []string      // further lines of the control's zoo.cfg
	Server     []string      // further lines of the bridge's configuration, below server:
	Bridge     []string      // further lines of the bridge's configuration, not below anything
	// Registry, of a BridgeRegistry, is given the registry's URL and returns the one
	// that the bridge is told, such as a proxy's in front of it. nil: the same.
	Registry func(url string) string
}

func (o Options) host() string {
	if o.Host == "" {
		return "127.0.0.1"
	}
	return o.Host
}

func (o Options) tick() time.Duration {
	if o.Tick == 0 {
		return 2 * time.Second
	}
	return o.Tick
}

func (o Options) minSession() time.Duration {
	if o.MinSession == 0 {
		return 2 * o.tick()
	}
	return o.MinSession
}

func (o Options) maxSession() time.Duration {
	if o.MaxSession == 0 {
		return 20 * o.tick()
	}
	return o.MaxSession
}

// New makes a target that is not started yet. It builds or fetches what the
// target needs; the first call on a machine may download.
func New(ctx context.Context, kind Kind, o Options) (Target, error) {
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "zkbridge-compat-")
		if err != nil {
			return nil, err
		}
		o.Dir = dir
	}
	if o.Port == 0 {
		ports, err := Ports(1)
		if err != nil {
			return nil, err
		}
		o.Port = ports[0]
	}
	switch kind {
	case ZooKeeper:
		return newZooKeeper(ctx, o)
	case Bridge:
		return newBridge(ctx, o, false)
	case BridgeRegistry:
		return newBridge(ctx, o, true)
	}
	return nil, fmt.Errorf("no such kind of target: %q (one of %v)", kind, Kinds())
}

// Start makes and starts a target for one test. When the test ends the server is
// killed and, if the test failed, the ends of its logs are printed.
func Start(tb testing.TB, kind Kind, o Options) Target {
	tb.Helper()
	if o.Dir == "" {
		o.Dir = ScratchDir(tb, string(kind))
	}
	target, err := New(tb.Context(), kind, o)
	if err != nil {
		tb.Fatalf("%s: %v", kind, err)
	}
	tb.Cleanup(func() {
		if err := target.Kill(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("%s: kill: %v", kind, err)
		}
		if r, ok := target.(RegistryProcess); ok {
			if err := r.KillRegistry(context.WithoutCancel(tb.Context())); err != nil {
				tb.Errorf("%s: kill the registry: %v", kind, err)
			}
		}
		if tb.Failed() {
			PrintLogs(tb, target.Logs()...)
		}
	})
	if err := target.Start(tb.Context()); err != nil {
		tb.Fatalf("%s: start: %v", kind, err)
	}
	return target
}

// Selected are the kinds this run is about: all of them, or those named in the
// environment variable ZKBRIDGE_COMPAT_TARGETS (comma separated), for work on
// one of them.
func Selected(tb testing.TB) []Kind {
	tb.Helper()
	kinds, err := selected()
	if err != nil {
		tb.Fatal(err)
	}
	return kinds
}

func selected() ([]Kind, error) {
	names := os.Getenv("ZKBRIDGE_COMPAT_TARGETS")
	if names == "" {
		return Kinds(), nil
	}
	var kinds []Kind
	for name := range strings.SplitSeq(names, ",") {
		kind := Kind(strings.TrimSpace(name))
		if !slices.Contains(Kinds(), kind) {
			return nil, fmt.Errorf("ZKBRIDGE_COMPAT_TARGETS: no such kind of target: %q (one of %v)", kind, Kinds())
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// Each runs fn as one subtest for every selected kind, each with a target of its
// own that is already started.
func Each(t *testing.T, o Options, fn func(t *testing.T, target Target)) {
	t.Helper()
	for _, kind := range Selected(t) {
		t.Run(string(kind), func(t *testing.T) {
			fn(t, Start(t, kind, o))
		})
	}
}
