package main

import (
	"bytes"
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
		{"none", nil, 0},
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
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "-", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234: "1,234", 1234567.8: "1,234,568"} {
		require.Equal(t, want, number(v))
	}
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

// TestFactors: a factor above 1 always means that zkbridge is better.
func TestFactors(t *testing.T) {
	metrics := []metric{{"rate", "requests/s", higher}, {"p99", "µs", lower}, {"only theirs", "", higher}}
	c := summarize("x", metrics, map[string][]sample{
		zookeeper: {{"rate": 100, "p99": 30, "only theirs": 1}, {"rate": 300, "p99": 10, "only theirs": 1}},
		bridge:    {{"rate": 400, "p99": 10}, {"rate": 400, "p99": 10}},
	})
	require.InDelta(t, 2, c.Metrics[0].Factors[zookeeper], 1e-9)
	require.InDelta(t, 2, c.Metrics[1].Factors[zookeeper], 1e-9)
	require.Empty(t, c.Metrics[2].Factors)

	r := newReport(2)
	r.Cases = []caseReport{c}
	var out bytes.Buffer
	require.NoError(t, r.print(&out))
	var rows [][]string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Fields(line))
	}
	require.Equal(t, []string{"x", "rate", "200", "400", "2.00x", "requests/s"}, rows[3])
	require.Equal(t, []string{"p99", "20.0", "10.0", "2.00x", "µs"}, rows[4])
}

func TestUnknownNamesAreRefused(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), []string{"--cases", "getdata2"}), `no such case: "getdata2" (one of idle getdata1 getdata16 ephemerals providers fanout)`)
	require.ErrorContains(t, run(t.Context(), []string{"--servers", "etcd"}), `no such server: "etcd" (one of zookeeper zkbridge zookeeper-nosync)`)
}
