package server

import (
	"time"

	"zkbridge/zkproto"
)

// Stats is a snapshot of the server's counters. All but the gauges only grow.
type Stats struct {
	Connections  int   // gauge: open now, handshake or not
	PendingBytes int64 // gauge: held for clients that have not taken them yet

	Accepted  int64               // connections accepted
	Rejected  map[Rejection]int64 // connections closed by us, by reason
	Requests  []RequestCount      // requests answered, by operation and outcome
	Latencies []Latency           // by operation, of a sample of the requests
	BytesIn   int64
	BytesOut  int64
	Events    int64 // events queued to connections
	Gated     int64 // replies that had to wait for the log
	Panics    int64 // connections closed by a panic
	Malformed int64 // frames or records that could not be decoded
	Words     int64 // four-letter words answered
}

// RequestCount is how many requests of one operation had one outcome.
type RequestCount struct {
	Op    zkproto.OpCode
	Code  zkproto.Code
	Count int64
}

// LatencyBounds are the upper bounds of the buckets of a Latency.
var LatencyBounds = [...]time.Duration{
	10 * time.Microsecond, 25 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond,
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond,
	time.Second,
}

// Latency is how long requests of one operation took, from the frame read to
// the reply queued.
type Latency struct {
	Op      zkproto.OpCode
	Count   int64 // sampled
	Sum     time.Duration
	Buckets [len(LatencyBounds) + 1]int64 // not cumulative; the last is above all bounds
}

// Rejection is why a connection was closed by the server.
type Rejection string
