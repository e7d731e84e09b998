package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"zkbridge/internal/bridge"
	"zkbridge/internal/config"
	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

const (
	iface     = "com.example.Greeter"
	providers = "/dubbo/" + iface + "/providers"
	port      = 20880
	bridgedIP = "192.0.2.1" // of the provider that registers through ZooKeeper
	nativeIP  = "192.0.2.2" // of the one that registers in the registry
	bridged   = bridgedIP + ":20880"
	native    = nativeIP + ":20880"
)

var service = registryclient.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: "providers:" + iface + "::"}

// Run plays the demonstration on a bridge of its own, with free loopback ports
// and a temporary data directory, and writes what happens to out. It returns an
// error if a side does not come to see what it should.
func Run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "zkbridge-demo-")
	if err != nil {
		return fmt.Errorf("make a temporary data directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := config.Default()
	cfg.Data.Dir = dir
	cfg.Server.Listen, cfg.Registry.Embedded.Listen, cfg.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Server.DrainTimeout = 0
	b, err := bridge.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	err = play(ctx, b, out)
	cancel()
	return errors.Join(err, <-ended)
}

// show is the demonstration while it runs.
type show struct {
	out      io.Writer
	start    time.Time
	registry *embedded.HTTPClient
	zk       *zk.Conn
}

func play(ctx context.Context, b *bridge.Bridge, out io.Writer) error {
	api, err := embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: b.RegistryURL()})
	if err != nil {
		return err
	}
	defer api.Close()
	s := &show{out: out, start: time.Now(), registry: api}
	if err := b.AwaitReady(ctx); err != nil {
		return err
	}
	s.say("a bridge: ZooKeeper clients at %s, registry API at %s", b.ClientAddr(), b.RegistryURL())
	if s.zk, err = s.connect(b.ClientAddr()); err != nil {
		return err
	}
	defer s.zk.Close()
	provider, err := s.connect(b.ClientAddr())
	if err != nil {
		return err
	}
	defer provider.Close()

	steps := []struct {
		what string
		do   func(context.Context) error
		want []string // both sides, in the end
	}{
		{"ZooKeeper: provider " + bridged + " creates its ephemeral node", func(context.Context) error { return register(provider) }, []string{bridged}},
		{"natively:  provider " + native + " registers over HTTP for 2 s", s.registerNatively(2 * time.Second), []string{bridged, native}},
		{"natively:  no heart-beat follows, so its time ends", nothing, []string{bridged}},
		{"natively:  it registers again, for a minute", s.registerNatively(time.Minute), []string{bridged, native}},
		{"ZooKeeper: provider " + bridged + " ends its session", func(context.Context) error { provider.Close(); return nil }, []string{native}},
		{"natively:  provider " + native + " deregisters", s.deregisterNatively, nil},
	}
	for _, step := range steps {
		if err := pause(ctx, 600*time.Millisecond); err != nil {
			return err
		}
		s.say("%s", step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if err := s.await(ctx, step.want); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	s.say("done: the directory %s stays, empty, as Dubbo expects", providers)
	return nil
}

func (s *show) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.out, "%5.1fs  %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}

// await polls both sides until each sees want, and prints both.
func (s *show) await(ctx context.Context, want []string) error {
	deadline := time.Now().Add(8 * time.Second)
	for {
		znodes, err := s.seenByZooKeeper()
		if err != nil {
			return err
		}
		instances, err := s.seenByRegistry(ctx)
		if err != nil {
			return err
		}
		if slices.Equal(znodes, want) && slices.Equal(instances, want) {
			s.say("           ZooKeeper clients see %v, the registry's clients see %v", znodes, instances)
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("want %v on both sides, ZooKeeper clients see %v, the registry's clients %v", want, znodes, instances)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *show) connect(addr string) (*zk.Conn, error) {
	conn, _, err := zk.Connect([]string{addr}, 4*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return conn, nil
}

func (s *show) seenByZooKeeper() ([]string, error) {
	names, _, err := s.zk.Children(providers)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", providers, err)
	}
	var out []string
	for _, name := range names {
		raw, err := url.QueryUnescape(name)
		if err != nil {
			return nil, fmt.Errorf("node name %q: %w", name, err)
		}
		u, err := url.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("node name %q: %w", name, err)
		}
		out = append(out, u.Host)
	}
	slices.Sort(out)
	return out, nil
}

func nothing(context.Context) error { return nil }

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// register does what Dubbo does: the directories one by one, then the leaf.
func register(conn *zk.Conn) error {
	all := zk.WorldACL(zk.PermAll)
	for i := 1; i <= len(providers); i++ {
		if i < len(providers) && providers[i] != '/' {
			continue
		}
		if _, err := conn.Create(providers[:i], nil, 0, all); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("create %s: %w", providers[:i], err)
		}
	}
	raw := "dubbo://" + bridged + "/" + iface + "?application=demo&dubbo=2.0.2&interface=" + iface + "&methods=greet&side=provider"
	_, err := conn.Create(providers+"/"+url.QueryEscape(raw), []byte(bridgedIP), zk.FlagEphemeral, all)
	return err
}

func (s *show) registerNatively(ttl time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.registry.Register(ctx, service, nativeIP, port, embedded.Registration{
			TTL:      embedded.Duration(ttl),
			Metadata: map[string]string{"protocol": "dubbo", "path": iface, "interface": iface, "methods": "greet", "application": "native"},
		})
		return err
	}
}

func (s *show) deregisterNatively(ctx context.Context) error {
	return s.registry.Deregister(ctx, service, nativeIP, port)
}

func (s *show) seenByRegistry(ctx context.Context) ([]string, error) {
	list, err := s.registry.Instances(ctx, service, false)
	if err != nil && !errors.Is(err, registryclient.ErrNotFound) {
		return nil, fmt.Errorf("list %s: %w", service.Name, err)
	}
	var out []string
	for _, r := range list.Instances {
		out = append(out, fmt.Sprintf("%s:%d", r.IP, r.Port))
	}
	slices.Sort(out)
	return out, nil
}

// silent drops what the ZooKeeper client library says.
type silent struct{}

func (silent) Printf(string, ...any) {}
