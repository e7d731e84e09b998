package adminserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/adminserver"
	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// host is a server with its commands.
type host struct {
	t       *testing.T
	handler http.Handler
	ready   bool
	ln      net.Listener
}

func start(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, ready: true}
	tree, err := znode.New(znode.Config{Reserved: sessions.ReservedID(1)})
	require.NoError(t, err)
	manager, err := sessions.New(sessions.Config{Bridge: 1, Incarnation: 1, Key: bytes.Repeat([]byte{7}, 32), Expire: server.Expire(tree, nil)})
	require.NoError(t, err)
	srv := server.New(server.Config{Tree: tree, Sessions: manager, About: server.About{
		Version: "3.9.5-0123, built on 2026-02-03 04:05 UTC", ClientPort: 2181, TickTime: 2 * time.Second,
		MinSessionTimeout: 4 * time.Second, MaxSessionTimeout: 40 * time.Second, DataDir: "/data", DataSize: func() int64 { return 4711 },
	}})
	h.ln, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var parts sync.WaitGroup
	parts.Go(func() { _ = manager.Run(ctx) })
	parts.Go(func() { _ = srv.Serve(ctx, h.ln) })
	t.Cleanup(func() { cancel(); parts.Wait() })
	h.handler = adminserver.Handler(adminserver.Config{
		Server: srv, Ready: func() (bool, string) { return h.ready, "" }, Initial: "a: b\n", Snapshot: func() int64 { return 0x1f },
	})
	return h
}

func (h *host) get(path string) *httptest.ResponseRecorder {
	h.t.Helper()
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, httptest.NewRequestWithContext(h.t.Context(), http.MethodGet, path, nil))
	return w
}

// text is the answer to a command.
func (h *host) text(command string) string {
	h.t.Helper()
	w := h.get("/commands/" + command)
	require.Equal(h.t, http.StatusOK, w.Code)
	require.Equal(h.t, "application/json", w.Header().Get("Content-Type"))
	require.True(h.t, json.Valid(w.Body.Bytes()), w.Body.String())
	return w.Body.String()
}

// connect makes a session with an ephemeral and a watch.
func (h *host) connect() (id int64, addr string) {
	h.t.Helper()
	nc, err := net.Dial("tcp", h.ln.Addr().String())
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = nc.Close() })
	r := bufio.NewReader(nc)
	send := func(build func([]byte) []byte) []byte {
		_, err := nc.Write(zkproto.AppendFrame(nil, build))
		require.NoError(h.t, err)
		frame, err := zkproto.ReadFrame(r, nil, 1<<20)
		require.NoError(h.t, err)
		return frame
	}
	var m zkproto.ConnectResponse
	require.NoError(h.t, m.Decode(send((&zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16)}).AppendTo)))
	send(func(b []byte) []byte {
		b = (&zkproto.RequestHeader{Xid: 1, Op: zkproto.OpCreate}).AppendTo(b)
		return (&zkproto.CreateRequest{Path: "/e", ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral}).AppendTo(b)
	})
	send(func(b []byte) []byte {
		b = (&zkproto.RequestHeader{Xid: 2, Op: zkproto.OpGetData}).AppendTo(b)
		return (&zkproto.GetDataRequest{Path: "/e", Watch: true}).AppendTo(b)
	})
	return m.SessionID, nc.LocalAddr().String()
}

func TestTexts(t *testing.T) {
	h := start(t)
	id, addr := h.connect()
	require.Eventually(t, func() bool { return strings.Contains(h.text("cons"), "GETD") }, 5*time.Second, time.Millisecond)
	for _, tc := range []struct{ command, want string }{
		{"ruok", "{\n  \"command\" : \"ruok\",\n  \"error\" : null\n}"},
		{"lead", "{\n  \"command\" : \"leader\",\n  \"error\" : \"server is not initialized\"\n}"},
		{"nosuch", "{\n  \"command\" : \"nosuch\",\n  \"error\" : \"Unknown command: nosuch\"\n}"},
		{"isro", "{\n  \"read_only\" : false,\n  \"command\" : \"is_read_only\",\n  \"error\" : null\n}"},
		{"hash", "{\n  \"digests\" : [ ],\n  \"command\" : \"hash\",\n  \"error\" : null\n}"},
		{"voting_view", "{\n  \"current_config\" : { },\n  \"command\" : \"voting_view\",\n  \"error\" : null\n}"},
		{"icfg", "{\n  \"initial_configuration\" : \"a: b\\n\",\n  \"command\" : \"initial_configuration\",\n  \"error\" : null\n}"},
		{"stmk", "{\n  \"command\" : \"set_trace_mask\",\n  \"error\" : \"setTraceMask requires long traceMask argument\"\n}"},
		{"stmk?traceMask=7", "{\n  \"tracemask\" : 7,\n  \"command\" : \"set_trace_mask\",\n  \"error\" : null\n}"},
		{"conf", `{
  "client_port" : 2181,
  "data_dir" : "/data",
  "data_log_dir" : "/data",
  "tick_time" : 2000,
  "max_client_cnxns" : 0,
  "min_session_timeout" : 4000,
  "max_session_timeout" : 40000,
  "server_id" : 0,
  "client_port_listen_backlog" : -1,
  "command" : "configuration",
  "error" : null
}`},
		{"wchc", fmt.Sprintf("{\n  \"session_id_to_watched_paths\" : {\n    \"%d\" : [ \"/e\" ]\n  },\n  \"command\" : \"watches\",\n  \"error\" : null\n}", id)},
		{"wchp", fmt.Sprintf("{\n  \"path_to_session_ids\" : {\n    \"/e\" : [ %d ]\n  },\n  \"command\" : \"watches_by_path\",\n  \"error\" : null\n}", id)},
		{"wchs", "{\n  \"num_connections\" : 1,\n  \"num_paths\" : 1,\n  \"num_total_watches\" : 1,\n  \"command\" : \"watch_summary\",\n  \"error\" : null\n}"},
	} {
		require.Equal(t, tc.want, h.text(tc.command), tc.command)
	}
	require.Regexp(t, fmt.Sprintf(`\A\{
  "connections" : \[ \{
    "remote_socket_address" : "%s",
    "interest_ops" : 1,
    "outstanding_requests" : 0,
    "packets_received" : 3,
    "packets_sent" : 3,
    "session_id" : %d,
    "last_operation" : "GETD",
    "established" : \d+,
    "session_timeout" : 10000,
    "last_cxid" : 2,
    "last_zxid" : 2,
    "last_response_time" : \d+,
    "last_latency" : \d+,
    "min_latency" : \d+,
    "avg_latency" : \d+,
    "max_latency" : \d+
  \} \],
  "secure_connections" : \[ \],
  "command" : "connections",
  "error" : null
\}\z`, addr, id), h.text("cons"))
	require.Regexp(t, fmt.Sprintf(`"session_id_to_ephemeral_paths" : \{
    "%d" : \[ "/e" \]`, id), h.text("dump"))
	require.Regexp(t, `"avg_latency" : \d+\.\d`, h.text("mntr"))
	require.Contains(t, h.text("mntr"), `"znode_count" : 6,`)
	require.Contains(t, h.text("lsnp"), `"zxid" : "1f",`)
}

// Field report 69: scripts ask for /commands/<name>.
func TestEveryNameIsAnswered(t *testing.T) {
	h := start(t)
	index := h.get("/commands").Body.String()
	require.Contains(t, index, `<a href="/commands/configuration">configuration</a>`)
	for name, primary := range map[string]string{
		"conf": "configuration", "config": "configuration", "cons": "connections", "crst": "connection_stat_reset", "srst": "stat_reset",
		"orst": "observer_connection_stat_reset", "dirs": "dirs", "dump": "dump", "env": "environment", "envi": "environment",
		"gtmk": "get_trace_mask", "hash": "hash", "icfg": "initial_configuration", "isro": "is_read_only", "lsnp": "last_snapshot",
		"lead": "leader", "mntr": "monitor", "obsr": "observers", "ruok": "ruok", "srvr": "server_stats", "stat": "stats",
		"sysp": "system_properties", "voting_view": "voting_view", "wchc": "watches", "wchp": "watches_by_path", "wchs": "watch_summary", "zabstate": "zabstate",
	} {
		require.Contains(t, h.text(name), fmt.Sprintf(`"command" : %q`, primary))
		require.ElementsMatch(t, keys(t, h.text(primary)), keys(t, h.text(name)))
		require.Contains(t, index, ">"+primary+"<")
	}
}

func keys(t *testing.T, text string) (list []string) {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	for k := range m {
		list = append(list, k)
	}
	return list
}

func TestNotServing(t *testing.T) {
	h := start(t)
	h.ready = false
	require.JSONEq(t, "{\n  \"command\" : \"monitor\",\n  \"error\" : \"This ZooKeeper instance is not currently serving requests\"\n}", h.text("mntr"))
	for _, always := range []string{"ruok", "envi", "gtmk", "sysp"} {
		require.Contains(t, h.text(always), `"error" : null`)
	}
}

func TestOtherPaths(t *testing.T) {
	h := start(t)
	require.Equal(t, http.StatusNotFound, h.get("/commands/a/b").Code)
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/commands/ruok", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}
