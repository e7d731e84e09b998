package metrics

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"zkbridge/internal/server"
)

// NewZooKeeper returns a registry with the names under which ZooKeeper's own
// PrometheusMetricsProvider shows a standalone server, for the dashboards and
// alerts that ask for them: bare names, counters without _total, times in
// milliseconds. Names of the JVM that such dashboards show stand for Go's heap,
// threads and collector.
func NewZooKeeper(source func() []server.Measure) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	descs := make(map[string]*prometheus.Desc)
	var all []*prometheus.Desc
	for _, m := range source() { // the names are always the same
		d := prometheus.NewDesc(m.Name, m.Name, nil, nil)
		descs[m.Name] = d
		all = append(all, d)
	}
	add(reg, func(out sink) {
		for _, m := range source() {
			d := descs[m.Name]
			switch m.Kind {
			case server.Gauge:
				out.gauge(d, m.Value)
			case server.Counter:
				out.count(d, m.Value)
			case server.Summary:
				t := &m.Times
				out <- prometheus.MustNewConstSummary(d, uint64(t.Count), milliseconds(t.Sum), map[float64]float64{
					0.5: milliseconds(t.Median), 0.9: milliseconds(t.P90), 0.99: milliseconds(t.P99),
				})
			}
		}
	}, all...)
	collectMachine(reg)
	return reg
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// collectMachine shows Go's run time where dashboards look for the JVM's.
func collectMachine(reg *prometheus.Registry) {
	desc := func(name string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, name, labels, nil)
	}
	used, committed, limit := desc("jvm_memory_bytes_used", "area"), desc("jvm_memory_bytes_committed", "area"), desc("jvm_memory_bytes_max", "area")
	threads, collections := desc("jvm_threads_current"), desc("jvm_gc_collection_seconds", "gc")
	add(reg, func(out sink) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		top := float64(-1) // as Java says that there is no limit
		if n := debug.SetMemoryLimit(-1); n != math.MaxInt64 {
			top = float64(n)
		}
		out.gauge(used, float64(m.HeapInuse), "heap")
		out.gauge(committed, float64(m.HeapSys), "heap")
		out.gauge(limit, top, "heap")
		out.gauge(threads, float64(pprof.Lookup("threadcreate").Count()))
		out <- prometheus.MustNewConstSummary(collections, uint64(m.NumGC), time.Duration(m.PauseTotalNs).Seconds(), nil, "go")
	}, used, committed, limit, threads, collections)
}
