package bench

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"one", []float64{3}, 3},
		{"odd", []float64{9, 1, 5}, 5},
		{"even", []float64{8, 2, 4, 100}, 6},
	} {
		t.Run(tc.name, func(t *testing.T) { require.InDelta(t, tc.want, median(tc.values), 1e-9) })
	}
}

func TestQuantile(t *testing.T) {
	require.Zero(t, quantile([]time.Duration{}, 0.5))
	var values []int
	for i := range 100 {
		values = append(values, i)
	}
	require.Equal(t, 50, quantile(values, 0.5))
	require.Equal(t, 99, quantile(values, 0.99))
	require.Equal(t, 99, quantile(values, 1))

	s := Sample{}
	s.quantiles([]time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}, time.Millisecond)
	require.Equal(t, Sample{"p50": 2, "p90": 3, "p99": 3, "max": 3}, s)
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{-3.5: "-3.50", 0: "0.00", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234: "1,234", 1234567.8: "1,234,568"} {
		require.Equal(t, want, number(map[string]float64{"a": v}, "a"))
	}
	require.Equal(t, "-", number(nil, "a"))
}

func TestParseProcfs(t *testing.T) {
	rss, err := parseResident("Name:\tjava\nVmHWM:\t  70000 kB\nVmRSS:\t   61440 kB\nRssAnon:\t 1 kB\n")
	require.NoError(t, err)
	require.Equal(t, int64(60<<20), rss)
	_, err = parseResident("Name:\tgone\n")
	require.Error(t, err)

	cpu, err := parseCPUTime("42 (a (b) c 7) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 9 9 20 0 10 0 123 0 0")
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, cpu)
	_, err = parseCPUTime("42 (x) S 1")
	require.Error(t, err)
}

func TestListenerInProcNet(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0885 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0200007F:0885 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 0300007F:0886 0100007F:0885 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0
   3: 0000000000000000FFFF00000400007F:0886 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 444
   4: 00000000000000000000000000000000:0887 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 555
`
	for addr, want := range map[string]string{
		"127.0.0.1:2181": "111", "127.0.0.2:2181": "222", "127.0.0.3:2182": "", "127.0.0.4:2182": "444", "127.0.0.9:2183": "555", "[::1]:2183": "555", "127.0.0.1:1": "",
	} {
		tcp, err := net.ResolveTCPAddr("tcp", addr)
		require.NoError(t, err)
		require.Equal(t, want, listener(table, tcp), addr)
	}
}

// TestFactors: a factor above 1 always means that the first server is better.
func TestFactors(t *testing.T) {
	metrics := []Metric{{"rate", "requests/s", higher}, {"p99", "µs", lower}, {"only theirs", "", higher}, {"early", "ms", lower}}
	c := summarize("x", "ours", metrics, map[string][]Sample{
		"theirs": {{"rate": 100, "p99": 30, "only theirs": 1, "early": 3}, {"rate": 300, "p99": 10, "only theirs": 1, "early": 3}},
		"ours":   {{"rate": 400, "p99": 10, "early": -1}, {"rate": 400, "p99": 10, "early": -1}},
	})
	require.InDelta(t, 2, c.Metrics[0].Factors["theirs"], 1e-9)
	require.InDelta(t, 2, c.Metrics[1].Factors["theirs"], 1e-9)
	require.Empty(t, c.Metrics[2].Factors)
	require.NotContains(t, c.Metrics[2].Medians, "ours")
	require.Empty(t, c.Metrics[3].Factors)

	r := newReport(2, []Server{{Name: "ours"}, {Name: "theirs"}, {Name: "floor"}})
	r.Cases = []CaseReport{c}
	var out bytes.Buffer
	require.NoError(t, r.Print(&out))
	var rows [][]string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Fields(line))
	}
	require.Equal(t, []string{"case", "measure", "ours", "theirs", "x", "floor", "x", "unit"}, rows[2])
	require.Equal(t, []string{"x", "rate", "400", "200", "2.00", "-", "-", "requests/s"}, rows[3])
	require.Equal(t, []string{"p99", "10.0", "20.0", "2.00", "-", "-", "µs"}, rows[4])
	require.Equal(t, []string{"only", "theirs", "-", "1.00", "-", "-", "-"}, rows[5])
}

func TestProviderNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, name := range []string{providerName(0, 0, 0), providerName(1, 0, 0), providerName(0, 1, 0), providerName(0, 256, 0), providerName(0, 65536, 0), providerName(0, 0, 1)} {
		require.Len(t, name, 480)
		require.False(t, seen[name], name)
		seen[name] = true
	}
}
