package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"zkbridge/internal/bridge"
	"zkbridge/internal/config"
	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/zkproto"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

const (
	iface     = "com.example.Greeter"
	providers = "/dubbo/" + iface + "/providers"
)

var service = registryclient.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: "providers:" + iface + "::"}

// running is a bridge under test.
type running struct {
	*bridge.Bridge
	stop func() error
}

func defaults(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.Data.Dir = filepath.Join(t.TempDir(), "data")
	c.Server.Listen, c.Registry.Embedded.Listen, c.Admin.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	c.Server.DrainTimeout = 100 * time.Millisecond
	return c
}

func start(t *testing.T, c config.Config) *running {
	t.Helper()
	b, err := bridge.New(c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	stopped := false
	r := &running{Bridge: b, stop: func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}}
	t.Cleanup(func() { require.NoError(t, r.stop()) })
	return r
}

func ready(t *testing.T, r *running) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, r.AwaitReady(ctx))
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func connect(t *testing.T, r *running) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{r.ClientAddr()}, 4*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func makeDirs(t *testing.T, conn *zk.Conn, path string) {
	t.Helper()
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		_, err := conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll))
		if err != nil {
			require.ErrorIs(t, err, zk.ErrNodeExists)
		}
	}
}

func providerName(host string) string {
	return url.QueryEscape("dubbo://" + host + "/" + iface + "?application=demo&interface=" + iface + "&methods=greet&side=provider")
}

func registryOf(t *testing.T, r *running) *embedded.HTTPClient {
	t.Helper()
	api, err := embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: r.RegistryURL()})
	require.NoError(t, err)
	t.Cleanup(api.Close)
	return api
}

func instances(t *testing.T, api *embedded.HTTPClient) []string {
	t.Helper()
	list, err := api.Instances(t.Context(), service, false)
	if errors.Is(err, registryclient.ErrNotFound) {
		return nil
	}
	require.NoError(t, err)
	var out []string
	for _, i := range list.Instances {
		out = append(out, net.JoinHostPort(i.IP, "20880"))
	}
	slices.Sort(out)
	return out
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

func TestProviderOnEitherSideIsSeenOnTheOther(t *testing.T) {
	r := start(t, defaults(t))
	ready(t, r)
	api := registryOf(t, r)
	consumer, provider := connect(t, r), connect(t, r)
	makeDirs(t, provider, providers)
	_, _, events, err := consumer.ChildrenW(providers)
	require.NoError(t, err)

	name := providerName("192.0.2.1:20880")
	_, err = provider.Create(providers+"/"+name, []byte("192.0.2.1"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	require.Equal(t, zk.EventNodeChildrenChanged, (<-events).Type)
	require.Eventually(t, func() bool { return slices.Equal(instances(t, api), []string{"192.0.2.1:20880"}) }, 5*time.Second, 5*time.Millisecond)

	names, _, events, err := consumer.ChildrenW(providers)
	require.NoError(t, err)
	require.Equal(t, []string{name}, names)
	_, err = api.Register(t.Context(), service, "192.0.2.2", 20880, embedded.Registration{
		TTL: embedded.Duration(time.Minute), Metadata: map[string]string{"interface": iface, "path": iface, "protocol": "dubbo"},
	})
	require.NoError(t, err)
	require.Equal(t, zk.EventNodeChildrenChanged, (<-events).Type)
	names, _, err = consumer.Children(providers)
	require.NoError(t, err)
	require.Len(t, names, 2)

	code, text := get(t, r.AdminURL()+"/explain?path="+url.QueryEscape(providers))
	require.Equal(t, 200, code)
	require.Contains(t, text, "192.0.2.1")
	require.Contains(t, text, "192.0.2.2")
	code, text = get(t, r.AdminURL()+"/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, text, "zkbridge_ready 1")
	require.Contains(t, text, `zkbridge_requests_total{code="ok",op="create"`)
	code, text = get(t, r.AdminURL()+"/metrics/zookeeper")
	require.Equal(t, 200, code)
	require.Contains(t, text, "\nnum_alive_connections 2\n")
	code, text = get(t, r.AdminURL()+"/commands/watch_summary")
	require.Equal(t, 200, code)
	require.Contains(t, text, `"error" : null`)

	provider.Close()
	require.Eventually(t, func() bool { return slices.Equal(instances(t, api), []string{"192.0.2.2:20880"}) }, 5*time.Second, 5*time.Millisecond)
	require.NoError(t, api.Deregister(t.Context(), service, "192.0.2.2", 20880))
	require.Eventually(t, func() bool { // the guard looks for a while at what else goes before a service's last address does
		names, _, err := consumer.Children(providers)
		return err == nil && len(names) == 0
	}, 20*time.Second, 5*time.Millisecond)
}

// TestRestartResumesSessions: after a restart a client goes on under its own
// session, and its ephemerals are there, as behind a real server.
func TestRestartResumesSessions(t *testing.T) {
	c := defaults(t)
	r := start(t, c)
	ready(t, r)
	first := connect(t, r)
	makeDirs(t, first, providers)
	name := providers + "/" + providerName("192.0.2.1:20880")
	_, err := first.Create(name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, before, err := first.Exists(name)
	require.NoError(t, err)
	c.Server.Listen = r.ClientAddr()
	session := first.SessionID()
	require.NoError(t, r.stop())

	again := start(t, c)
	ready(t, again)
	require.Eventually(t, func() bool { return len(instances(t, registryOf(t, again))) == 1 }, 5*time.Second, 5*time.Millisecond, "it is published before its client is back")
	require.Eventually(t, func() bool { return first.State() == zk.StateHasSession }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, session, first.SessionID())
	_, after, err := first.Exists(name)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, first.Delete(name, -1))
	_, err = first.Create(name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, created, err := first.Exists(name)
	require.NoError(t, err)
	require.Greater(t, created.Czxid, before.Czxid, "the clock never goes back")
}

func TestRegistryAwayAtTheFirstStartKeepsTheGateClosed(t *testing.T) {
	c := defaults(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := ln.Addr().String()
	require.NoError(t, ln.Close())
	c.Registry.Address = "http://" + address
	r := start(t, c)
	var code int
	var text string
	require.Eventually(t, func() bool {
		code, text = get(t, r.AdminURL()+"/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, address)
	}, 5*time.Second, 10*time.Millisecond)
	conn, err := net.Dial("tcp", r.ClientAddr())
	require.NoError(t, err)
	_, err = conn.Write([]byte("srvr"))
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "not currently serving requests")

	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	reg, err := embedded.New(embedded.Config{})
	require.NoError(t, err)
	ran := make(chan error, 1)
	go func() { ran <- reg.Run(ctx) }()
	go func() { served <- embedded.ServeHTTP(ctx, reg, embedded.HTTPConfig{Listen: address}) }()
	defer func() { cancel(); require.NoError(t, <-served); require.NoError(t, <-ran) }()
	ready(t, r)
	makeDirs(t, connect(t, r), "/dubbo")
}

func TestASecondBridgeOnTheSameDataIsRefused(t *testing.T) {
	c := defaults(t)
	start(t, c)
	_, err := bridge.New(c, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, c.Data.Dir)
}

func TestAPortInUseIsNamed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = ln.Close() }()
	c := defaults(t)
	c.Admin.Listen = ln.Addr().String()
	_, err = bridge.New(c, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "admin.listen")
	c.Admin.Listen = "127.0.0.1:0"
	start(t, c) // what the failed one opened is closed again
}

// Field report 6: a consumer of a hundred services hears of each exactly once when
// a provider of all of them comes up, can read them again at once, and when its
// session has ended is told so in one round trip.
func TestFieldReport6AHundredServicesAtOnce(t *testing.T) {
	const n = 100
	r := start(t, defaults(t))
	ready(t, r)
	api := registryOf(t, r)
	consumer := connect(t, r)
	dir := func(i int) string { return fmt.Sprintf("/dubbo/com.example.Svc%d/providers", i) }
	var events [n]<-chan zk.Event
	for i := range n {
		makeDirs(t, consumer, dir(i))
		var err error
		_, _, events[i], err = consumer.ChildrenW(dir(i))
		require.NoError(t, err)
	}
	heard := r.Stats().Events
	for i := range n {
		name := fmt.Sprintf("com.example.Svc%d", i)
		_, err := api.Register(t.Context(), registryclient.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: "providers:" + name + "::"}, "192.0.2.9", 20880,
			embedded.Registration{TTL: embedded.Duration(time.Minute), Metadata: map[string]string{"interface": name, "path": name, "protocol": "dubbo"}})
		require.NoError(t, err)
	}
	for i := range n {
		require.Equal(t, zk.EventNodeChildrenChanged, (<-events[i]).Type)
	}
	for i := range n {
		names, _, err := consumer.Children(dir(i))
		require.NoError(t, err)
		require.Len(t, names, 1)
	}
	require.Equal(t, heard+n, r.Stats().Events, "one event a directory")

	session := consumer.SessionID()
	consumer.Close()
	conn, err := net.Dial("tcp", r.ClientAddr())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	hello := zkproto.ConnectRequest{Timeout: 4000, SessionID: session, Passwd: make([]byte, 16)}
	_, err = conn.Write(zkproto.AppendFrame(nil, hello.AppendTo))
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	var reply zkproto.ConnectResponse
	require.NoError(t, reply.Decode(answer[4:]))
	require.Zero(t, reply.SessionID)
	require.Zero(t, reply.Timeout)
}
