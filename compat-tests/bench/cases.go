package main

import (
	"context"
	"time"
)

// server is one of the servers that are measured.
type server struct {
	name string
	addr string
	pid  int
}

// sample is one measurement: a value for each of its case's metrics.
type sample map[string]float64

// metric is one number of a case.
type metric struct {
	Name   string
	Unit   string
	Better string // "higher" or "lower"
}

const (
	higher = "higher"
	lower  = "lower"
)

// benchCase is one thing to measure on a server that stays up.
type benchCase struct {
	Name    string
	Metrics []metric
	noSync  bool // ZooKeeper without waiting for its disk takes part too
	// prepare makes ready what measure needs on a server.
	prepare func(ctx context.Context, s server, o options) (subject, error)
}

// subject is a case made ready on one server.
type subject interface {
	// measure takes one sample that lasts about d.
	measure(ctx context.Context, d time.Duration) (sample, error)
	close()
}

func cases() []benchCase {
	rate := []metric{
		{"rate", "requests/s", higher},
		{"per CPU", "requests per CPU second of the server", higher},
		{"p50", "µs", lower},
		{"p99", "µs", lower},
	}
	return []benchCase{
		{Name: "getdata1", Metrics: rate, prepare: prepareGetData(1)},
		{Name: "getdata16", Metrics: rate, prepare: prepareGetData(16)},
		{Name: "ephemerals", Metrics: rate, prepare: prepareEphemerals("/bench-write", ""), noSync: true},
		{Name: "providers", Metrics: rate, prepare: prepareEphemerals("/dubbo", "/com.example.demo.GreetService", "/com.example.demo.GreetService/providers")},
		{Name: "fanout", prepare: prepareFanout, Metrics: []metric{
			{"last event", "ms after the change", lower},
			{"all lists", "ms until all have listed again", lower},
			{"CPU", "server ms for each change", lower},
		}},
	}
}

// idleMetrics are those of the case idle, which needs a fresh process for each
// sample and is run apart.
var idleMetrics = []metric{
	{"per session", "bytes of resident memory", lower},
	{"resident", "MB with all sessions", lower},
	{"connect", "sessions/s", higher},
}
