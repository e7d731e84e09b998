package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

// process is this command, run as its users run it.
type process struct {
	t    *testing.T
	args []string
	log  string
	cmd  *exec.Cmd
}

func run(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, args: args, log: filepath.Join(t.TempDir(), name+".log")}
	p.start()
	t.Cleanup(func() {
		p.end(syscall.SIGKILL)
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("%s:\n%s", name, text)
		}
	})
	return p
}

func (p *process) start() {
	p.t.Helper()
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(p.t, err)
	defer out.Close()
	p.cmd = exec.Command("zkbridge", p.args...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	require.NoError(p.t, p.cmd.Start())
}

// end sends a signal and waits until the process has gone.
func (p *process) end(sig syscall.Signal) {
	p.t.Helper()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	err := p.cmd.Wait()
	p.cmd = nil
	if sig == syscall.SIGTERM {
		require.NoError(p.t, err)
	}
}

// freePort is one that nobody listens on, so that a process can have it again
// after a restart.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

// place is a bridge, its registry, and their addresses.
type place struct {
	t                              *testing.T
	data, clients, admin, registry string
	registryData                   string
	bridge                         *process
	ownRegistry                    *process // nil: it is in the bridge
	more                           []string
	api                            *embedded.HTTPClient
}

func newPlace(t *testing.T, remote bool, more ...string) *place {
	t.Helper()
	p := &place{t: t, data: filepath.Join(t.TempDir(), "data"), registryData: filepath.Join(t.TempDir(), "registry"), clients: freePort(t), admin: freePort(t), registry: freePort(t), more: more}
	var err error
	p.api, err = embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: p.registry})
	require.NoError(t, err)
	t.Cleanup(p.api.Close)
	if remote {
		p.ownRegistry = run(t, "registry", "registry", "serve", "--listen", p.registry, "--data-dir", p.registryData)
	}
	return p
}

func (p *place) startBridge() {
	p.t.Helper()
	if p.bridge != nil {
		p.bridge.start()
		return
	}
	args := append([]string{"serve", "--data.dir", p.data, "--server.listen", p.clients, "--admin.listen", p.admin, "--server.drainTimeout", "500ms"}, p.more...)
	if p.ownRegistry != nil {
		args = append(args, "--registry.address", "http://"+p.registry)
	} else {
		args = append(args, "--registry.embedded.listen", p.registry)
	}
	p.bridge = run(p.t, "bridge", args...)
}

// ready asks the admin listener.
func (p *place) ready() (bool, string) {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + p.admin + "/readyz")
	if err != nil {
		return false, err.Error()
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode == http.StatusOK, string(text)
}

func (p *place) awaitReady() {
	p.t.Helper()
	require.Eventually(p.t, func() bool { ok, _ := p.ready(); return ok }, 30*time.Second, 10*time.Millisecond)
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (p *place) connect() *zk.Conn {
	p.t.Helper()
	conn, _, err := zk.Connect([]string{p.clients}, 20*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	require.NoError(p.t, err)
	p.t.Cleanup(conn.Close)
	return conn
}

const greeter = "com.example.Greeter"

var greeterService = registryclient.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: "providers:" + greeter + "::"}

func greeterNode(ip string) string {
	return "/dubbo/" + greeter + "/providers/" + url.QueryEscape("dubbo://"+ip+":20880/"+greeter+"?application=demo&interface="+greeter+"&methods=greet&side=provider")
}

func createAll(t *testing.T, conn *zk.Conn, path string, flags int32) {
	t.Helper()
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			if _, err := conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				require.ErrorIs(t, err, zk.ErrNodeExists)
			}
		}
	}
	_, err := conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
}

// native is an application without ZooKeeper that watches the service: it
// remembers what it must see from now on, and every list that lacks any of it.
type native struct {
	mu     sync.Mutex
	must   map[string]bool
	last   []string
	lacks  []string
	lists  int
	broken int // connections that ended
}

func (p *place) watch() *native {
	n := &native{must: make(map[string]bool)}
	ctx, cancel := context.WithCancel(p.t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			_ = p.api.Watch(ctx, greeterService, false, n.saw)
			n.mu.Lock()
			n.broken++
			n.mu.Unlock()
			select {
			case <-time.After(2 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	p.t.Cleanup(func() { cancel(); watching.Wait() })
	return n
}

func (n *native) saw(l embedded.InstanceList) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lists++
	n.last = nil
	for _, i := range l.Instances {
		n.last = append(n.last, i.IP)
	}
	for ip := range n.must {
		if !slices.Contains(n.last, ip) {
			n.lacks = append(n.lacks, fmt.Sprintf("%s list %d lacks %s: %v", time.Now().Format("15:04:05.000"), n.lists, ip, n.last))
		}
	}
}

// require waits until ip is seen; from then on it has to be.
func (n *native) require(t *testing.T, ip string) {
	t.Helper()
	require.Eventually(t, func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		if slices.Contains(n.last, ip) {
			n.must[ip] = true
		}
		return n.must[ip]
	}, 5*time.Second, time.Millisecond, ip)
}

func (n *native) gone(ip string) func() bool {
	n.mu.Lock()
	delete(n.must, ip)
	n.mu.Unlock()
	return func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return !slices.Contains(n.last, ip)
	}
}

func (n *native) check(t *testing.T) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	require.Empty(t, n.lacks)
	t.Logf("a native reader saw %d lists over %d connections", n.lists, n.broken)
}

// heartbeats keeps a native registration as the documentation says.
func (p *place) heartbeats(ip string, ttl time.Duration) {
	ctx, cancel := context.WithCancel(p.t.Context())
	var beating sync.WaitGroup
	beating.Go(func() {
		for ctx.Err() == nil {
			_, err := p.api.Register(ctx, greeterService, ip, 20880, embedded.Registration{TTL: embedded.Duration(ttl), Metadata: map[string]string{"interface": greeter, "path": greeter, "protocol": "dubbo"}})
			pause := ttl / 3
			if err != nil {
				pause = 100 * time.Millisecond
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	})
	p.t.Cleanup(func() { cancel(); beating.Wait() })
}

// TestRestartWithoutAGap: neither an end in good order nor a kill -9 of the bridge, nor of
// the registry, lets a native reader see a provider go that is there, nor one
// come back that has gone.
func TestRestartWithoutAGap(t *testing.T) {
	for _, remote := range []bool{false, true} {
		t.Run(map[bool]string{false: "registry in the bridge", true: "registry of its own"}[remote], func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, remote)
			p.startBridge()
			p.awaitReady()
			conn, consumer := p.connect(), p.connect()
			n := p.watch()
			for _, ip := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} {
				createAll(t, conn, greeterNode(ip), zk.FlagEphemeral)
				n.require(t, ip)
			}
			p.heartbeats("192.0.2.100", 5*time.Second)
			n.require(t, "192.0.2.100")
			present := func() {
				t.Helper()
				names, _, err := consumer.Children("/dubbo/" + greeter + "/providers")
				for try := 0; err != nil && try < 1000; try++ { // the client is on its way back
					time.Sleep(10 * time.Millisecond)
					names, _, err = consumer.Children("/dubbo/" + greeter + "/providers")
				}
				require.NoError(t, err)
				n.mu.Lock()
				defer n.mu.Unlock()
				for ip := range n.must {
					require.True(t, slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, ip) }), "a consumer lacks %s: %v", ip, names)
				}
			}
			restarts := []struct {
				what *process
				sig  syscall.Signal
			}{{p.bridge, syscall.SIGTERM}, {p.bridge, syscall.SIGKILL}, {p.bridge, syscall.SIGKILL}}
			if remote {
				restarts = append(restarts, restarts[0], restarts[1])
				restarts[3].what, restarts[4].what = p.ownRegistry, p.ownRegistry
			}
			for i, r := range restarts {
				ip, native, goes := fmt.Sprintf("192.0.2.%d", 10+i), fmt.Sprintf("192.0.2.%d", 110+i), fmt.Sprintf("192.0.2.%d", 210+i)
				_, err := p.api.Register(t.Context(), greeterService, goes, 20880, embedded.Registration{TTL: embedded.Duration(5 * time.Minute)})
				require.NoError(t, err)
				n.require(t, goes)
				time.Sleep(700 * time.Millisecond) // it is in the registry's snapshot
				createAll(t, conn, greeterNode(ip), zk.FlagEphemeral)
				_, err = p.api.Register(t.Context(), greeterService, native, 20880, embedded.Registration{TTL: embedded.Duration(5 * time.Minute)})
				require.NoError(t, err)
				require.NoError(t, p.api.Deregister(t.Context(), greeterService, goes, 20880))
				gone := n.gone(goes)
				n.require(t, native)
				n.require(t, ip)
				require.Eventually(t, gone, 5*time.Second, time.Millisecond)

				r.what.end(r.sig) // within half a second of all that
				began := time.Now()
				r.what.start()
				p.awaitReady()
				t.Logf("ready %v after the start", time.Since(began).Round(time.Millisecond))
				present()
				time.Sleep(1500 * time.Millisecond) // anything that is withdrawn would be by now
				present()
				n.check(t)
				require.True(t, gone(), "%s came back", goes)
			}
		})
	}
}

// TestLostDataDirectory: a bridge that begins anew under its old cluster id is let in
// at once, and what it had published stays while its clients come back.
func TestLostDataDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true, "--bridge.cluster", "c1")
	p.startBridge()
	p.awaitReady()
	p.bridge.end(syscall.SIGTERM)
	p.bridge.start() // a second start: the lost directory knew of two
	p.awaitReady()
	conn := p.connect()
	n := p.watch()
	for _, ip := range []string{"192.0.2.1", "192.0.2.2"} {
		createAll(t, conn, greeterNode(ip), zk.FlagEphemeral)
		n.require(t, ip)
	}
	p.bridge.end(syscall.SIGKILL)
	require.NoError(t, os.RemoveAll(p.data))
	time.Sleep(1100 * time.Millisecond) // a start a second is the most that is told apart
	p.bridge.start()
	p.awaitReady()
	createAll(t, p.connect(), greeterNode("192.0.2.1"), zk.FlagEphemeral)
	createAll(t, p.connect(), greeterNode("192.0.2.3"), zk.FlagEphemeral)
	n.require(t, "192.0.2.3")
	time.Sleep(1500 * time.Millisecond)
	n.check(t)
}

// TestStartWithoutTheRegistry: what a bridge does that cannot ask a registry, for each
// of the two ways to be configured. It never shows an empty list for a service that
// may have instances.
func TestStartWithoutTheRegistry(t *testing.T) {
	for _, way := range []string{"wait", "serve"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, true, "--registry.startWithoutRegistry", way, "--registry.startWait", "1s")
			p.ownRegistry.end(syscall.SIGKILL)
			p.startBridge()
			switch way {
			case "wait":
				away := func() bool {
					ok, why := p.ready()
					return !ok && strings.Contains(why, "the registry is away")
				}
				require.Eventually(t, away, 20*time.Second, 10*time.Millisecond)
				time.Sleep(2 * time.Second) // longer than startWait
				require.True(t, away(), "it has never had a picture of the registry")
				_, err := p.handshake()
				require.ErrorIs(t, err, io.EOF, "closed without a word, so that consumers keep what they have")
			case "serve":
				p.awaitReady()
				_, err := p.handshake()
				require.NoError(t, err)
			}
			p.ownRegistry.start()
			p.awaitReady()
			p.heartbeats("192.0.2.100", 30*time.Second)
			sees := func(want ...string) func() bool {
				return func() bool {
					names, _, err := p.connect().Children("/dubbo/" + greeter + "/providers")
					if err != nil || len(names) != len(want) {
						return false
					}
					for i, ip := range want {
						if !strings.Contains(names[i], ip) {
							return false
						}
					}
					return true
				}
			}
			require.Eventually(t, sees("192.0.2.100"), 10*time.Second, 50*time.Millisecond)
			require.Eventually(t, func() bool { // it is kept
				pages, _ := filepath.Glob(filepath.Join(p.data, "imports", "*.json"))
				_, err := os.Stat(filepath.Join(p.data, "imports", "complete"))
				return len(pages) == 1 && err == nil
			}, 20*time.Second, 50*time.Millisecond)

			// Both away, and the bridge alone comes back: it shows what it knew.
			p.ownRegistry.end(syscall.SIGKILL)
			p.bridge.end(syscall.SIGKILL)
			p.bridge.start()
			p.awaitReady()
			names, _, err := p.connect().Children("/dubbo/" + greeter + "/providers")
			require.NoError(t, err)
			require.Len(t, names, 1)
			require.Contains(t, names[0], "192.0.2.100")
		})
	}
}

// handshake is that of a new client, byte for byte.
func (p *place) handshake() ([]byte, error) {
	p.t.Helper()
	conn, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", p.clients)
	require.NoError(p.t, err)
	defer conn.Close()
	require.NoError(p.t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	request := make([]byte, 4+45) // version 0, zxid 0, timeout, session 0, a password of 16 zeros, not read-only
	request[3], request[18], request[31] = 45, 0x27, 16
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	answer := make([]byte, 4)
	_, err = io.ReadFull(conn, answer)
	return answer, err
}

// TestSecondProcessOnTheSameData: it is refused with a sentence, and the first goes on.
func TestSecondProcessOnTheSameData(t *testing.T) {
	t.Parallel()
	p := newPlace(t, true)
	p.startBridge()
	p.awaitReady()
	for _, args := range [][]string{
		{"serve", "--data.dir", p.data, "--server.listen", "127.0.0.1:0", "--admin.listen", "127.0.0.1:0", "--registry.address", "http://" + p.registry},
		{"registry", "serve", "--listen", "127.0.0.1:0", "--data-dir", p.registryData},
	} {
		out, err := exec.CommandContext(t.Context(), "zkbridge", args...).CombinedOutput()
		require.Error(t, err)
		require.Regexp(t, "data directory .* (another process is using it|in use by another registry): stop that one,? or choose another directory", string(out))
		t.Logf("%s", out)
	}
	ok, why := p.ready()
	require.True(t, ok, why)
}
