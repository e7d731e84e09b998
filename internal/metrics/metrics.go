package metrics

import (
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"zkbridge/internal/binding/guard"
	"zkbridge/internal/binding/registry"
	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/registryclient/nacos"
	"zkbridge/sessions"
)

// Sources are where the numbers come from. A nil source is left out.
type Sources struct {
	Ready    func() bool
	Server   func() server.Stats
	Sessions func() sessions.Stats
	Tree     func() znode.Stats
	Binding  func() registry.Stats
	Link     func() registryclient.LinkState
	Registry func() embedded.Stats // the registry inside this process
	Nacos    func() nacos.Stats    // the client of a Nacos cluster
	Guard    func() guard.Stats
	Store    func() znode.StoreStats
}

// New returns the registry of all metrics, those of Go and of the process
// included.
func New(s Sources) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	info := newDesc("build_info", "1, with the version of this build.", "version")
	add(reg, func(out sink) { out.gauge(info, 1, version) }, info)
	if s.Ready != nil {
		ready := newDesc("ready", "1 while ZooKeeper clients are served.")
		add(reg, func(out sink) { out.gauge(ready, flag(s.Ready())) }, ready)
	}
	collectServer(reg, s.Server)
	collectSessions(reg, s.Sessions)
	collectTree(reg, s.Tree)
	collectBinding(reg, s.Binding)
	collectLink(reg, s.Link)
	collectRegistry(reg, s.Registry)
	collectNacos(reg, s.Nacos)
	collectGuard(reg, s.Guard)
	collectStore(reg, s.Store)
	return reg
}

// Handler serves reg.
func Handler(reg *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

// newDesc describes zkbridge_name.
func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("zkbridge_"+name, help, labels, nil)
}

// sink takes the samples of one scrape.
type sink chan<- prometheus.Metric

func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s sink) count(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// collector reads a snapshot at each scrape.
type collector struct {
	descs   []*prometheus.Desc
	collect func(sink)
}

func add(reg *prometheus.Registry, collect func(sink), descs ...*prometheus.Desc) {
	reg.MustRegister(collector{descs, collect})
}

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}

// row is one number of a snapshot T.
type row[T any] struct {
	desc    *prometheus.Desc
	counter bool
	value   func(T) float64
}

// table collects the rows from a source, if there is one.
func table[T any](reg *prometheus.Registry, source func() T, rows ...row[T]) {
	if source == nil {
		return
	}
	descs := make([]*prometheus.Desc, len(rows))
	for i, r := range rows {
		descs[i] = r.desc
	}
	add(reg, func(out sink) {
		snapshot := source()
		for _, r := range rows {
			if r.counter {
				out.count(r.desc, r.value(snapshot))
			} else {
				out.gauge(r.desc, r.value(snapshot))
			}
		}
	}, descs...)
}

func gauge[T any](name, help string, value func(T) float64) row[T] {
	return row[T]{newDesc(name, help), false, value}
}

func counter[T any](name, help string, value func(T) float64) row[T] {
	return row[T]{newDesc(name, help), true, value}
}
