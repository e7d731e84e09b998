package drill221

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/dubbo"
	"zkbridge/compat-tests/native"
	"zkbridge/compat-tests/observer"
	"zkbridge/compat-tests/scenario"
)

const (
	zooKeeperPort = 2181
	adminPort     = 8180
	registryPort  = 8849
	token         = "of-the-drill"

	// lease is what a bridge's publications outlive its link to the registry for.
	lease = 10 * time.Second
	// hold is guard.hold: how long the others keep what cannot be reached.
	hold = 60 * time.Second
	// callTimeout is a consumer's: an instance that cannot be reached costs it so
	// much before it turns to the next.
	callTimeout = 1 * time.Second
)

// greetings is the service of the Dubbo pairs.
const greetings = dubbo.Interface + "::"

// centre is a data centre with a bridge.
type centre struct {
	*control.Site
	relay *control.Relay // its clients pass the test, which reads along; a cut leaves it alone
	conn  *zk.Conn       // the test's own, past the relay
	dir   string
	file  string // what its observer prints
}

// program is the bridge, built before the namespace.
func program(tb testing.TB) string {
	tb.Helper()
	p, err := control.BuildBridge(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// startRegistry starts the one registry, in the network between the centres.
func startRegistry(tb testing.TB) native.Registry {
	tb.Helper()
	dir := control.ScratchDir(tb, "registry")
	log := filepath.Join(dir, "registry.log")
	listen := net.JoinHostPort("0.0.0.0", fmt.Sprint(registryPort))
	p, err := control.Run(control.Command{
		Name: "zkbridge registry serve", Log: log, Dir: dir,
		Args: []string{program(tb), "registry", "serve", "--listen", listen, "--data-dir", filepath.Join(dir, "data"), "--token", token},
	})
	if err != nil {
		tb.Fatal(err)
	}
	atEnd(tb, p, log)
	r := native.Registry{URL: fmt.Sprintf("http://127.0.0.1:%d", registryPort), Token: token}
	await(tb, 10*time.Second, "the registry answers", func() error { return answers(tb.Context(), r.URL+"/healthz") })
	return r
}

// newCentre makes a data centre and starts its bridge.
func newCentre(tb testing.TB, n int, registry native.Registry) *centre {
	tb.Helper()
	c := &centre{Site: control.NewSite(tb, n)}
	c.dir = control.ScratchDir(tb, "centre-"+c.Name)
	log := filepath.Join(c.dir, "zkbridge.log")
	p, err := control.Run(control.Command{
		Name: "zkbridge in " + c.Name, Log: log, Dir: c.dir,
		Args: append(slices.Clone(c.Within()), program(tb), "serve",
			"--bridge.id", fmt.Sprint(n),
			"--data.dir", filepath.Join(c.dir, "data"),
			"--server.listen", fmt.Sprintf("0.0.0.0:%d", zooKeeperPort),
			"--server.maxConnectionsPerAddress", "0",
			"--server.maxSessionTimeout", scenario.MaxSession.String(),
			"--registry.address", fmt.Sprintf("http://%s:%d", c.Hub, registryPort),
			"--registry.token", token,
			"--registry.lease", lease.String(),
			"--guard.hold", hold.String(),
			"--admin.listen", fmt.Sprintf("0.0.0.0:%d", adminPort),
		),
	})
	if err != nil {
		tb.Fatal(err)
	}
	atEnd(tb, p, log)
	await(tb, 20*time.Second, c.Name+"'s bridge is ready", func() error { return answers(tb.Context(), c.admin()+"/readyz") })

	if c.relay, err = control.NewRelay(c.Here, net.JoinHostPort(c.Seen, fmt.Sprint(zooKeeperPort))); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.relay.Close() })
	c.conn = scenario.Connect(tb, net.JoinHostPort(c.Seen, fmt.Sprint(zooKeeperPort)))
	dubbo.ForceInterface(tb, c.conn)
	c.watch(tb, registry)
	return c
}

func (c *centre) admin() string { return fmt.Sprintf("http://%s:%d", c.Seen, adminPort) }

// watch starts the observer in front of the centre's bridge and of the registry.
func (c *centre) watch(tb testing.TB, registry native.Registry) {
	tb.Helper()
	program, err := scenario.BuildObserver(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	c.file = filepath.Join(c.dir, "observer.jsonl")
	out, err := os.Create(c.file)
	if err != nil {
		tb.Fatal(err)
	}
	defer out.Close()
	p, err := control.Run(control.Command{
		Name: "observer of " + c.Name, Log: filepath.Join(c.dir, "observer.log"), Stdout: out,
		Args: []string{
			program, "-zookeeper", net.JoinHostPort(c.Seen, fmt.Sprint(zooKeeperPort)),
			"-registry", registry.URL, "-token", registry.Token, "-service", "providers:" + greetings,
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if !p.Alive() {
			tb.Errorf("the observer of %s: %v", c.Name, p.Ended())
		}
		_ = p.Kill()
	})
}

// lists is what one side showed of a service so far, as the centre's observer
// saw it.
func (c *centre) lists(tb testing.TB, side observer.Side, service string) observer.Timeline {
	tb.Helper()
	file, err := os.Open(c.file)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	history, err := observer.Read(file)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // the last line may be half written
		tb.Fatalf("read what %s's observer saw: %v", c.Name, err)
	}
	return observer.TimelineOf(history, side, service)
}

// shown is what the centre's bridge shows its clients.
func (c *centre) shown(tb testing.TB, service string) observer.Timeline {
	tb.Helper()
	return c.lists(tb, observer.ZooKeeperSide, service)
}

// place is where an application of the centre runs.
func (c *centre) place(tb testing.TB, name string) scenario.Place {
	tb.Helper()
	ports, err := control.Ports(1)
	if err != nil {
		tb.Fatal(err)
	}
	return scenario.Place{Name: c.Name + "-" + name, ZooKeeper: c.relay.Addr(), Port: ports[0], Dir: c.dir, Host: c.IP, Within: c.Within()}
}

// address is where a provider of the centre is called.
func (c *centre) address(p *apps.App) string { return fmt.Sprintf("%s:%d", c.IP, p.Port) }

// small is a provider that registers as Dubbo does and serves nobody: it makes a
// service wider, or makes one more, for the price of a connection.
type small struct {
	centre  *centre
	conn    *zk.Conn
	service string // interface:version:group
	iface   string
	address string
	path    string
}

func (c *centre) small(tb testing.TB, iface string, port int) *small {
	tb.Helper()
	s := &small{centre: c, iface: iface, service: iface + "::", address: fmt.Sprintf("%s:%d", c.IP, port)}
	s.conn = scenario.Connect(tb, c.relay.Addr())
	leaf := fmt.Sprintf("dubbo://%s/%s?application=small&category=providers&dubbo=2.0.2&interface=%s&methods=greet&side=provider&timestamp=%d",
		s.address, iface, iface, time.Now().UnixMilli())
	directory := ""
	for _, part := range []string{"dubbo", iface, "providers"} {
		directory += "/" + part
		if _, err := s.conn.Create(directory, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			tb.Fatalf("%s: create %s: %v", c.Name, directory, err)
		}
	}
	s.path = directory + "/" + url.QueryEscape(leaf)
	if _, err := s.conn.Create(s.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		tb.Fatalf("%s: register %s: %v", c.Name, s.address, err)
	}
	return s
}

// end deletes the node as a graceful end does.
func (s *small) end(tb testing.TB) {
	tb.Helper()
	if err := s.conn.Delete(s.path, -1); err != nil {
		tb.Fatalf("%s: delete %s: %v", s.centre.Name, s.address, err)
	}
	s.conn.Close()
}

// call calls n times through a consumer and returns how often each port has
// answered, and the answers that were none.
func call(tb testing.TB, consumer *apps.App, n int) (answered map[int]int, failed []string) {
	tb.Helper()
	answered = map[int]int{}
	for range n {
		answer, err := consumer.Call(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		port := 0
		if _, err := fmt.Sscanf(answer, "ok hello-you from %d", &port); err != nil {
			failed = append(failed, answer)
			continue
		}
		answered[port]++
	}
	return answered, failed
}

// held is what the bridge says that it holds, for the log.
func (c *centre) held(tb testing.TB) string {
	tb.Helper()
	res, err := http.Get(c.admin() + "/held")
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return string(body)
}

func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, res.Status)
	}
	return nil
}

// await waits up to limit until check finds nothing wrong.
func await(tb testing.TB, limit time.Duration, what string, check func() error) time.Duration {
	tb.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // between two looks
		err := check()
		if err == nil {
			return time.Since(began)
		}
		if time.Since(began) > limit {
			tb.Fatalf("%s: not within %v: %v", what, limit, err)
		}
	}
}

// atEnd kills a process when the test ends and prints its log if it failed.
func atEnd(tb testing.TB, p *control.Process, log string) {
	tb.Helper()
	tb.Cleanup(func() {
		if !p.Alive() {
			tb.Errorf("%s has ended early: %v", p.Name, p.Ended())
		}
		_ = p.Kill()
		if tb.Failed() {
			control.PrintLogs(tb, log)
		}
	})
}
