package metrics_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/registry"
	"zkbridge/internal/metrics"
	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

func sources() metrics.Sources {
	return metrics.Sources{
		Ready: func() bool { return true },
		Server: func() server.Stats {
			return server.Stats{
				Connections: 3,
				Stale:       8,
				Rejected:    map[server.Rejection]int64{"handshake timeout": 2},
				Requests:    []server.RequestCount{{Op: zkproto.OpCreate, Code: zkproto.NodeExists, Count: 4}},
				Latencies:   []server.Latency{{Op: zkproto.OpCreate, Count: 2, Sum: time.Second, Buckets: [len(server.LatencyBounds) + 1]int64{0: 1, 4: 1}}},
			}
		},
		Sessions: func() sessions.Stats { return sessions.Stats{Open: 5} },
		Tree:     func() znode.Stats { return znode.Stats{Zxid: 9, Durable: 7} },
		Binding: func() registry.Stats {
			return registry.Stats{NotTranslated: map[string]uint64{"over-encoded": 1}, NotShown: map[string]uint64{"disabled": 1}}
		},
		Link:     func() registryclient.LinkState { return registryclient.LinkState{Up: true} },
		Registry: func() embedded.Stats { return embedded.Stats{Services: 6} },
	}
}

func TestNamesAreWellFormed(t *testing.T) {
	problems, err := testutil.GatherAndLint(metrics.New(sources()))
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestNumbersAreThoseOfTheRooms(t *testing.T) {
	w := httptest.NewRecorder()
	metrics.Handler(metrics.New(sources())).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	for _, line := range []string{
		"zkbridge_ready 1",
		"zkbridge_connections 3",
		"zkbridge_stale_consumers 8",
		`zkbridge_connections_closed_total{reason="handshake timeout"} 2`,
		`zkbridge_requests_total{code="node exists",op="create"} 4`,
		`zkbridge_request_duration_seconds_bucket{op="create",le="1e-05"} 1`,
		`zkbridge_request_duration_seconds_bucket{op="create",le="+Inf"} 2`,
		"zkbridge_sessions 5",
		"zkbridge_zxid_behind_disk 2",
		`zkbridge_not_translated_total{reason="over-encoded"} 1`,
		"zkbridge_registry_link_up 1",
		"zkbridge_embedded_services 6",
	} {
		require.Contains(t, w.Body.String(), line+"\n")
	}
}

func TestASourceThatIsNotThereIsLeftOut(t *testing.T) {
	w := httptest.NewRecorder()
	metrics.Handler(metrics.New(metrics.Sources{})).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), "zkbridge_build_info")
	require.NotContains(t, w.Body.String(), "zkbridge_sessions")
}

// Dashboards ask for ZooKeeper's names as they are: no prefix, no _total.
// Field report 69.
func TestZooKeepersOwnNames(t *testing.T) {
	measures := func() []server.Measure {
		return []server.Measure{
			{Name: "znode_count", Value: 6},
			{Name: "avg_latency", Value: 0.25, Fraction: true},
			{Name: "connection_request_count", Kind: server.Counter, Value: 7},
			{Name: "readlatency", Kind: server.Summary, Times: server.Times{Count: 2, Sum: 3 * time.Millisecond, Median: time.Millisecond, P90: 2 * time.Millisecond, P99: 2 * time.Millisecond}},
		}
	}
	w := httptest.NewRecorder()
	metrics.Handler(metrics.NewZooKeeper(measures)).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics/zookeeper", nil))
	for _, line := range []string{
		"# TYPE znode_count gauge", "znode_count 6", "avg_latency 0.25",
		"# TYPE connection_request_count counter", "connection_request_count 7",
		`readlatency{quantile="0.5"} 1`, `readlatency{quantile="0.99"} 2`, "readlatency_sum 3", "readlatency_count 2",
		`jvm_memory_bytes_max{area="heap"} -1`,
	} {
		require.Contains(t, w.Body.String(), line+"\n")
	}
	require.Contains(t, w.Body.String(), `jvm_memory_bytes_used{area="heap"} `)
	require.Contains(t, w.Body.String(), "process_cpu_seconds_total ")
}
