package bridge_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// post sends a command to the admin listener.
func post(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_ = res.Body.Close()
	return res.StatusCode
}

// TestHeldProviders: all links are cut at once. The sessions expire, exactly; the
// providers stay in both lists, with the reason to be seen, until one registers
// again, one is deleted by a client, and one is dropped by an operator.
func TestHeldProviders(t *testing.T) {
	c := defaults(t)
	c.Server.TickTime = 250 * time.Millisecond
	c.Guard.Probe = "off"
	r := start(t, c)
	ready(t, r)
	api := registryOf(t, r)
	observer := connect(t, r)
	makeDirs(t, observer, providers)
	acl := zk.WorldACL(zk.PermAll)
	hosts := []string{"10.0.0.1:20880", "10.0.0.2:20880", "10.0.0.3:20880", "10.0.0.4:20880"}
	paths := make([]string, len(hosts))
	cut := make([]func(), len(hosts))
	for i, h := range hosts {
		l := &link{}
		conn, _, err := zk.Connect([]string{r.ClientAddr()}, 500*time.Millisecond, zk.WithDialer(l.dial), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
		require.NoError(t, err)
		defer conn.Close()
		paths[i] = providers + "/" + providerName(h)
		_, err = conn.Create(paths[i], nil, zk.FlagEphemeral, acl)
		require.NoError(t, err)
		_, err = conn.Create("/lock"+h, nil, zk.FlagEphemeral, acl)
		require.NoError(t, err)
		cut[i] = l.cut
	}
	require.Eventually(t, func() bool { return len(instances(t, api)) == len(hosts) }, 5*time.Second, 5*time.Millisecond)
	_, _, changed, err := observer.ChildrenW(providers)
	require.NoError(t, err)
	for _, c := range cut {
		c()
	}
	held := func() (list []struct{ Key, Instance, Class, Why string }) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.AdminURL()+"/held", nil)
		require.NoError(t, err)
		req.Header.Set("Accept", "application/json")
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		require.NoError(t, json.NewDecoder(res.Body).Decode(&list))
		return list
	}
	require.Eventually(t, func() bool { return len(held()) == len(hosts) }, 10*time.Second, 20*time.Millisecond)
	for _, h := range hosts { // the sessions are over, and only providers are held
		require.Eventually(t, func() bool {
			ok, _, err := observer.Exists("/lock" + h)
			return err == nil && !ok
		}, 5*time.Second, 5*time.Millisecond)
	}
	select {
	case e := <-changed:
		t.Fatalf("got %v, want that consumers hear of nothing", e)
	default:
	}
	require.Equal(t, hosts, instances(t, api))
	_, st, err := observer.Get(paths[0])
	require.NoError(t, err)
	require.EqualValues(t, 1<<56, st.EphemeralOwner, "the reserved session")
	for i, h := range held() {
		require.Contains(t, paths, h.Key)
		require.Equal(t, "session expired", h.Class)
		require.NotEmpty(t, h.Why)
		_, text := get(t, r.AdminURL()+"/explain?path="+url.QueryEscape(paths[i]))
		require.Contains(t, text, "the bridge, which holds it")
		require.Contains(t, text, "held: ")
	}
	_, text := get(t, r.AdminURL()+"/metrics")
	require.Contains(t, text, "zkbridge_held 4\n")
	_, text = get(t, r.AdminURL()+"/held")
	require.Contains(t, text, "Its time is over at ")

	key := func(i int) string { return "?key=" + url.QueryEscape(paths[i]) }
	require.Equal(t, http.StatusOK, post(t, r.AdminURL()+"/held/keep"+key(3)))
	_, text = get(t, r.AdminURL()+"/held")
	require.Equal(t, 1, strings.Count(text, "An operator keeps it"))

	again := connect(t, r)
	_, err = again.Create(paths[0], nil, zk.FlagEphemeral, acl)
	require.NoError(t, err, "whoever registers again has it")
	require.NoError(t, again.Delete(paths[1], -1))
	require.Equal(t, http.StatusOK, post(t, r.AdminURL()+"/held/drop"+key(2)))
	require.Equal(t, http.StatusNotFound, post(t, r.AdminURL()+"/held/drop"+key(2)))
	require.Eventually(t, func() bool {
		list := instances(t, api)
		return len(list) == 2 && list[0] == hosts[0] && list[1] == hosts[3]
	}, 5*time.Second, 5*time.Millisecond)
	require.Len(t, held(), 1)
	_, st, err = again.Get(paths[0])
	require.NoError(t, err)
	require.Equal(t, again.SessionID(), st.EphemeralOwner)
}

// TestProvidersOfAMachineThatWasRestarted: nobody knows what their sessions did
// last, so these are told that they have expired; their providers are there from the
// first moment on, held.
func TestProvidersOfAMachineThatWasRestarted(t *testing.T) {
	c := defaults(t)
	r := start(t, c)
	ready(t, r)
	var l link
	conn, events, err := zk.Connect([]string{r.ClientAddr()}, 4*time.Second, zk.WithDialer(l.dial), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	require.NoError(t, err)
	defer conn.Close()
	makeDirs(t, conn, providers)
	path := providers + "/" + providerName("10.0.0.1:20880")
	for _, p := range []string{path, "/lock"} {
		_, err = conn.Create(p, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	api := registryOf(t, r)
	require.Eventually(t, func() bool { return len(instances(t, api)) == 1 }, 5*time.Second, 5*time.Millisecond)
	c.Server.Listen = r.ClientAddr()
	l.cut()
	require.NoError(t, r.stop())
	require.NoError(t, os.Remove(filepath.Join(c.Data.Dir, "tree.whole")), "the mark that the log lacks nothing")

	again := start(t, c)
	ready(t, again)
	other := connect(t, again)
	_, st, err := other.Get(path)
	require.NoError(t, err)
	require.EqualValues(t, 1<<56, st.EphemeralOwner)
	ok, _, err := other.Exists("/lock")
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, []string{"10.0.0.1:20880"}, instances(t, registryOf(t, again)), "natives have seen no gap")
	_, text := get(t, again.AdminURL()+"/held")
	require.Contains(t, text, "the machine was restarted")
	l.down.Store(false)
	require.Eventually(t, func() bool {
		select {
		case e := <-events:
			return e.State == zk.StateExpired
		default:
			return false
		}
	}, 10*time.Second, 5*time.Millisecond)
	_, err = conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err, "it registers anew, and has its node")
	require.Eventually(t, func() bool {
		_, text := get(t, again.AdminURL()+"/held")
		return text == "Nothing is held.\n"
	}, 5*time.Second, 5*time.Millisecond)
}
