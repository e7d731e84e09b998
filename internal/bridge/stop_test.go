package bridge_test

import (
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"zkbridge/zkproto"
)

// TestStoppingEndsNoSession: a bridge that takes longer to stop than a session
// lives does not expire those whose connections it has closed itself; after the
// start they go on, and the registry has their providers before anybody is back.
func TestStoppingEndsNoSession(t *testing.T) {
	c := defaults(t)
	c.Server.TickTime = 500 * time.Millisecond
	c.Server.DrainTimeout = 3 * time.Second
	c.Guard.Enabled = false // what it would spare must not need sparing
	r := start(t, c)
	ready(t, r)
	var l link
	conn, _, err := zk.Connect([]string{r.ClientAddr()}, time.Second, zk.WithDialer(l.dial), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	require.NoError(t, err)
	defer conn.Close()
	makeDirs(t, conn, providers)
	path := providers + "/" + providerName("10.0.0.1:20880")
	_, err = conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	api := registryOf(t, r)
	require.Eventually(t, func() bool { return len(instances(t, api)) == 1 }, 5*time.Second, 5*time.Millisecond)
	for range 2 { // of three the last is closed two seconds later: twice the session's timeout
		_, _, err = connect(t, r).Exists("/")
		require.NoError(t, err)
	}
	c.Server.Listen = r.ClientAddr()
	begin := time.Now()
	stopped := make(chan error, 1)
	admin := r.AdminURL()
	go func() { stopped <- r.stop() }()
	require.Eventually(t, func() bool { // a load balancer hears of it at once
		res, err := http.Get(admin + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusServiceUnavailable
	}, time.Second, 5*time.Millisecond)
	require.NoError(t, <-stopped)
	require.Greater(t, time.Since(begin), 1200*time.Millisecond, "the drain outlasted the session's timeout")

	l.down.Store(true)
	again := start(t, c)
	ready(t, again)
	other := connect(t, again)
	_, st, err := other.Get(path)
	require.NoError(t, err)
	require.Equal(t, conn.SessionID(), st.EphemeralOwner)
	require.Equal(t, []string{"10.0.0.1:20880"}, instances(t, registryOf(t, again)), "before its client is back")
	l.down.Store(false)
	require.NoError(t, again.stop())
}

// say connects, says hello, and returns the beginning of the answer; nothing if the
// connection is closed without one.
func say(t *testing.T, r *running, hello zkproto.ConnectRequest) []byte {
	t.Helper()
	conn, err := net.Dial("tcp", r.ClientAddr())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write(zkproto.AppendFrame(nil, hello.AppendTo))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	answer := make([]byte, 4)
	n, err := conn.Read(answer)
	if n == 0 {
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	return answer[:n]
}

// TestHandshakesAreRefusedWhileNothingIsKnown: without the registry and without
// anything of it on disk clients are closed without a word, and keep the lists that
// they have; asked for with serve, they are served after startWait.
func TestHandshakesAreRefusedWhileNothingIsKnown(t *testing.T) {
	for _, mode := range []string{"wait", "serve"} {
		c := defaults(t)
		c.Registry.Address = "http://127.0.0.1:1" // nobody
		c.Registry.StartWithoutRegistry, c.Registry.StartWait = mode, 300*time.Millisecond
		r := start(t, c)
		hello := zkproto.ConnectRequest{Timeout: 4000, Passwd: make([]byte, 16)}
		for range 3 {
			require.Empty(t, say(t, r, hello), "closed without a word")
		}
		status, text := get(t, r.AdminURL()+"/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, text, "the registry is away")
		_, text = get(t, r.AdminURL()+"/metrics")
		require.Contains(t, text, `zkbridge_connections_closed_total{reason="not_ready"} 3`)
		if mode == "wait" {
			time.Sleep(2 * c.Registry.StartWait) // nothing is to happen
			require.Empty(t, say(t, r, hello))
		} else {
			ready(t, r)
			require.NotEmpty(t, say(t, r, hello))
		}
		require.NoError(t, r.stop())
	}
}
