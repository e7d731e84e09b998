package bench

import (
	"context"
	"time"
)

// Server is one of the servers that are measured.
type Server struct {
	Name string   // in tables and JSON
	Addr string   // host:port
	PID  int      // of a local process; 0: unknown, its CPU time and memory are not reported
	Only []string // the cases it takes part in; nil: all
}

// Sample is one measurement: values by the names of metrics. What could not be
// measured is missing.
type Sample map[string]float64

// Metric is one number of a case.
type Metric struct {
	Name   string
	Unit   string
	Better string // "higher" or "lower"
}

const (
	higher = "higher"
	lower  = "lower"
)

// benchCase is one thing to measure.
type benchCase struct {
	name    string
	what    string // for the list of cases
	metrics []Metric
	floor   bool // canned replies can take part
	fresh   bool // wants a process of its own for each sample, where there may be one
	rounds  int  // at most; 0: as many as asked for
	// prepare makes ready what measure needs on a server.
	prepare func(ctx context.Context, s Server, z sizes) (subject, error)
}

// subject is a case made ready on one server.
type subject interface {
	// measure takes one sample that lasts about d, if the case is one that can
	// last for any time.
	measure(ctx context.Context, d time.Duration) (Sample, error)
	close()
}

// sizes are the numbers of sessions and nodes in the cases.
type sizes struct {
	readers   int // connections that read
	writers   int // connections that write
	names     int // children in the directory of the case children
	sessions  int // of the case register
	each      int // providers that each of them registers
	services  int // of the cases register and restart
	watchers  int // of the case fanout
	listed    int // names in the directory that they list
	storm     int // sessions of the case storm
	idle      int // sessions of the case idle
	expiring  int // sessions of the case expiry
	expiry    time.Duration
	consumers int // of the case restart
	uses      int // services that each of them uses
	replicas  int // providers of each service
	pace      time.Duration
	settle    time.Duration // how long a server may come to rest before its memory is read
}

func fullSizes() sizes {
	return sizes{
		readers: 32, writers: 64, names: 100, sessions: 1000, each: 10, services: 100, watchers: 1000, listed: 20,
		storm: 3000, idle: 5000, expiring: 40, expiry: 4 * time.Second, consumers: 200, uses: 20, replicas: 3,
		pace: 10 * time.Millisecond, settle: 2 * time.Second,
	}
}

func quickSizes() sizes {
	return sizes{
		readers: 4, writers: 4, names: 20, sessions: 10, each: 3, services: 5, watchers: 20, listed: 5,
		storm: 30, idle: 50, expiring: 4, expiry: time.Second, consumers: 10, uses: 3, replicas: 2,
		pace: 5 * time.Millisecond, settle: 50 * time.Millisecond,
	}
}

// latency are the metrics of how long single things took.
func latency(unit string) []Metric {
	return []Metric{{"p50", unit, lower}, {"p90", unit, lower}, {"p99", unit, lower}, {"max", unit, lower}}
}

func metrics(first []Metric, more []Metric) []Metric { return append(first, more...) }

func cases() []benchCase {
	rate := func() []Metric {
		return metrics([]Metric{
			{"rate", "requests/s", higher},
			{"per CPU", "requests per CPU second of the server", higher},
		}, latency("µs"))
	}
	return []benchCase{
		{name: "getdata1", what: "32 connections read nodes, each waits for one reply before it asks again", metrics: rate(), floor: true, prepare: prepareGetData(1)},
		{name: "getdata16", what: "the same with 16 requests under way on each", metrics: rate(), floor: true, prepare: prepareGetData(16)},
		{name: "exists", what: "exists, depth 1", metrics: rate(), floor: true, prepare: prepareExists},
		{name: "children", what: "getChildren2 of 100 names as long as Dubbo's, depth 1", metrics: rate(), floor: true, prepare: prepareChildren},
		{name: "setdata", what: "64 connections write a persistent node, each its own", metrics: rate(), floor: true, prepare: prepareSetData},
		{name: "ephemerals", what: "64 connections, each creates and deletes one ephemeral node", metrics: rate(), floor: true, prepare: prepareEphemerals(root+"/ephemerals", root+"/ephemerals")},
		{
			name: "providers", what: "the same below a Dubbo service, which a bridge publishes besides", metrics: rate(), floor: true,
			prepare: prepareEphemerals("/dubbo/"+serviceName(0)+"/providers", "/dubbo", "/dubbo/"+serviceName(0), "/dubbo/"+serviceName(0)+"/providers"),
		},
		{name: "register", what: "10,000 providers of 100 services from 1,000 sessions", prepare: prepareRegister, metrics: metrics([]Metric{
			{"all", "ms until all are registered", lower},
			{"rate", "providers/s", higher},
			{"CPU", "server ms for all", lower},
		}, latency("ms for each"))},
		{name: "fanout", what: "1,000 connections watch one directory: one change, then all list it again", prepare: prepareFanout, metrics: []Metric{
			{"last event", "ms after the change", lower},
			{"all lists", "ms until all have listed again", lower},
			{"CPU", "server ms for each change", lower},
		}},
		{name: "storm", what: "3,000 clients connect at the same moment", floor: true, prepare: prepareStorm, metrics: metrics([]Metric{
			{"rate", "sessions/s", higher},
			{"again", "attempts that were not answered", lower},
			{"CPU", "server ms for all", lower},
		}, latency("ms for each"))},
		{name: "restart", what: "100 services restart, one every 10 ms, under 200 consumers with 20 services each", prepare: prepareRestart, metrics: metrics([]Metric{
			{"CPU", "server ms for all", lower},
		}, latency("ms until a consumer is right"))},
		{name: "expiry", what: "40 silent sessions: how long after its timeout a session's node is seen to go", prepare: prepareExpiry, rounds: 3, metrics: metrics(
			[]Metric{{"earliest", "ms after the timeout (below 0: too early)", lower}}, latency("ms after the timeout"))},
		{name: "idle", what: "5,000 sessions that only ping", fresh: true, rounds: 3, prepare: prepareIdle, metrics: []Metric{
			{"per session", "bytes of resident memory", lower},
			{"resident", "MB with all sessions", lower},
		}},
	}
}
