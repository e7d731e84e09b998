package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/admin"
)

type answer struct{ Path string }

func (a answer) String() string { return a.Path + " is a path." }

func config(ready bool) admin.Config {
	return admin.Config{
		Ready:   func() (bool, []string) { return ready, []string{"space dubbo: no list of names yet"} },
		Explain: func(path string) fmt.Stringer { return answer{path} },
		Stale:   func() fmt.Stringer { return answer{"/late"} },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "zkbridge_up 1\n") }),
		Log:     slog.New(slog.DiscardHandler),
	}
}

func get(t *testing.T, h http.Handler, url, accept string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestAnswers(t *testing.T) {
	h := admin.Handler(config(true))
	for _, tc := range []struct {
		name, url, accept string
		code              int
		body              string
	}{
		{"health", "/healthz", "", 200, "ok\n"},
		{"ready", "/readyz", "", 200, "ready\n"},
		{"metrics", "/metrics", "", 200, "zkbridge_up 1\n"},
		{"explain in words", "/explain?path=/a%20b", "", 200, "/a b is a path.\n"},
		{"explain as JSON", "/explain?path=/a", "application/json", 200, "{\"Path\":\"/a\"}\n"},
		{"explain without a path", "/explain", "", 400, "explain needs ?path= with an absolute znode path, such as /explain?path=/dubbo\n"},
		{"stale consumers in words", "/stale-consumers", "", 200, "/late is a path.\n"},
		{"stale consumers as JSON", "/stale-consumers", "application/json", 200, "{\"Path\":\"/late\"}\n"},
		{"profiles are off", "/debug/pprof/", "", 404, "404 page not found\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, body := get(t, h, tc.url, tc.accept)
			require.Equal(t, tc.code, code)
			require.Equal(t, tc.body, body)
		})
	}
}

func TestNotReadySaysWhy(t *testing.T) {
	code, body := get(t, admin.Handler(config(false)), "/readyz", "")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "not ready\nspace dubbo: no list of names yet\n", body)
}

func TestStaleConsumersThatNobodyLooksFor(t *testing.T) {
	cfg := config(true)
	cfg.Stale = nil
	code, text := get(t, admin.Handler(cfg), "/stale-consumers", "")
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "nobody looks for stale consumers: server.staleAfter is 0\n", text)
}

func TestProfilesWhenAskedFor(t *testing.T) {
	cfg := config(true)
	cfg.Pprof = true
	code, _ := get(t, admin.Handler(cfg), "/debug/pprof/", "")
	require.Equal(t, 200, code)
}

func TestServeEndsWithItsContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- admin.Serve(ctx, ln, config(true)) }()
	res, err := http.Get("http://" + ln.Addr().String() + "/explain?path=/x")
	require.NoError(t, err)
	_ = res.Body.Close()
	require.Equal(t, 200, res.StatusCode)
	cancel()
	require.NoError(t, <-done)
}

func TestHeld(t *testing.T) {
	var said []string
	word := func(name string) func(string) error {
		return func(key string) error {
			if key == "/none" {
				return errors.New("nothing is held under /none")
			}
			said = append(said, name+" "+key)
			return nil
		}
	}
	cfg := config(true)
	code, _ := get(t, admin.Handler(cfg), "/held", "")
	require.Equal(t, http.StatusNotFound, code, "there is nothing that holds")
	cfg.Held = &admin.Held{List: func() fmt.Stringer { return answer{"/held"} }, Keep: word("keep"), Drop: word("drop")}
	h := admin.Handler(cfg)
	code, text := get(t, h, "/held", "")
	require.Equal(t, 200, code)
	require.Equal(t, "/held is a path.\n", text)
	_, text = get(t, h, "/held", "application/json")
	require.JSONEq(t, "{\"Path\":\"/held\"}", text)
	for _, tc := range []struct {
		method, url string
		code        int
		body        string
	}{
		{http.MethodPost, "/held/keep?key=/a%20b", 200, "done\n"},
		{http.MethodPost, "/held/drop?key=/c", 200, "done\n"},
		{http.MethodPost, "/held/drop?key=/none", 404, "nothing is held under /none\n"},
		{http.MethodPost, "/held/keep", 400, "?key= is missing: GET /held shows the keys\n"},
		{http.MethodGet, "/held/drop?key=/c", 405, "Method Not Allowed\n"},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.url, nil))
		require.Equal(t, tc.code, w.Code, tc.url)
		require.Equal(t, tc.body, w.Body.String())
	}
	require.Equal(t, []string{"keep /a b", "drop /c"}, said)
}
