package observer_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/observer"
)

// streams is a registry that says what it is told to.
func streams(t *testing.T, group, service string, broken *atomic.Bool) string {
	mux := http.NewServeMux()
	serve := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, body)
			w.(http.Flusher).Flush()
			for !broken.Load() && r.Context().Err() == nil {
				time.Sleep(time.Millisecond) // the stream stays open
			}
		}
	}
	mux.HandleFunc("GET /v1/namespaces/public/groups/G/watch", serve(group))
	mux.HandleFunc("GET /v1/namespaces/public/groups/G/services/providers:com.x.S::/watch", serve(service))
	server := httptest.NewServer(mux)
	t.Cleanup(func() { broken.Store(true); server.Close() })
	return server.URL
}

const (
	names = "event: hello\ndata: {}\n\nevent: names\ndata: {\"names\":[\"providers:com.x.S::\",\"consumers:com.x.S::\"],\"revision\":1}\n\n"
	list  = "event: instances\nid: 7\ndata: {\"instances\":[" +
		"{\"ip\":\"192.0.2.11\",\"port\":2,\"enabled\":true,\"owner\":\"c/1\"}," +
		"{\"ip\":\"192.0.2.10\",\"port\":1,\"enabled\":true}," +
		"{\"ip\":\"192.0.2.12\",\"port\":3,\"enabled\":false}]}\n\n: ping\n\n"
)

func TestRegistryFollowsNamesAndLists(t *testing.T) {
	var broken atomic.Bool
	to := &recorder{}
	r := &observer.Registry{URL: streams(t, names, list, &broken), Namespace: "public", Group: "G", To: to}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	require.Eventually(t, func() bool { return len(to.kinds()) > 0 }, 5*time.Second, time.Millisecond)
	broken.Store(true)
	require.Eventually(t, func() bool {
		kinds := to.kinds()
		return len(kinds) > 2 && kinds[1] == observer.Blind && kinds[2] == observer.List
	}, 5*time.Second, time.Millisecond, "a broken stream makes it blind, and it looks again")
	cancel()
	require.NoError(t, <-done)
	require.Equal(t, observer.RegistrySide, to.events[0].Side)
	require.Equal(t, "com.x.S::", to.events[0].Service)
	require.Equal(t, []observer.Item{{Address: "192.0.2.10:1", Native: true}, {Address: "192.0.2.11:2"}}, to.events[0].Items,
		"sorted, the disabled one left out")
}

func TestRegistryReportsWhatItCannotRead(t *testing.T) {
	var broken atomic.Bool
	r := &observer.Registry{URL: streams(t, names, "event: instances\ndata: [\n\n", &broken), Namespace: "public", Group: "G", To: &recorder{}}
	require.ErrorContains(t, r.Run(t.Context()), "read an event instances")
}
