package server

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zkbridge/zkproto"
)

// Stats is a snapshot of the server's counters. All but the gauges only grow.
type Stats struct {
	Connections  int   // gauge: open now, with a session or not
	PendingBytes int64 // gauge: memory held for clients that have not taken their bytes yet
	Stale        int   // gauge: stale consumers, see StaleConsumer

	Accepted  int64               // connections accepted
	Rejected  map[Rejection]int64 // connections that the server closed, by reason; every reason is there
	Created   int64               // handshakes answered with a new session
	Resumed   int64               // with the client's own
	Expired   int64               // with zeros
	Requests  []RequestCount      // requests answered, by operation and outcome; without those that never occurred
	Latencies []Latency           // by operation, of a sample of the requests
	BytesIn   int64
	BytesOut  int64
	Events    int64 // events queued to connections
	Gated     int64 // replies that had to wait for the log
	Laggards  int64 // times that a full socket left the flushers
	Stalls    int64 // times that a client's requests had to wait because it did not read
	Dropped   int64 // requests of closing sessions, not answered
	Panics    int64 // connections closed by a panic
	Malformed int64 // frames and records that could not be decoded
	Words     int64 // four-letter words answered
}

// RequestCount is how many requests of one operation had one outcome.
type RequestCount struct {
	Op    zkproto.OpCode // OpError stands for all that ZooKeeper does not know
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
	Count   int64 // of the sample
	Sum     time.Duration
	Buckets [len(LatencyBounds) + 1]int64 // not cumulative; the last is above all bounds
}

// Rejection is why a connection was closed by the server.
type Rejection string

// The reasons.
const (
	RejectedNotReady         Rejection = "not_ready"         // Config.Ready said no
	RejectedPerAddress       Rejection = "per_address"       // too many from one address
	RejectedTotal            Rejection = "total"             // too many in all
	RejectedHandshakeTimeout Rejection = "handshake_timeout" // nothing to speak of came
	RejectedUnknownTruth     Rejection = "unknown_truth"     // it could not be said whether the session lives
	RejectedMalformed        Rejection = "malformed"         // a frame or handshake that cannot be read
	RejectedTLS              Rejection = "tls"               // the TLS handshake failed
	RejectedProxy            Rejection = "proxy_header"      // no PROXY protocol header, or not one that can be read
	RejectedUnknownOperation Rejection = "unknown_operation"
	RejectedLaggard          Rejection = "laggard"     // too many events waited for it
	RejectedBudget           Rejection = "budget"      // it held most when all together held too much
	RejectedNotDurable       Rejection = "not_durable" // what it did or saw could not be made durable in time
)

// rejections are all reasons, as indexes of counters.rejections.
var rejections = []Rejection{
	RejectedNotReady, RejectedPerAddress, RejectedTotal, RejectedHandshakeTimeout, RejectedUnknownTruth,
	RejectedMalformed, RejectedTLS, RejectedProxy, RejectedUnknownOperation, RejectedLaggard, RejectedBudget, RejectedNotDurable,
}

// counted are the operations that have counters of their own, and the last one
// for all others.
var counted = []zkproto.OpCode{
	zkproto.OpCreate, zkproto.OpDelete, zkproto.OpExists, zkproto.OpGetData, zkproto.OpSetData, zkproto.OpGetACL,
	zkproto.OpSetACL, zkproto.OpGetChildren, zkproto.OpSync, zkproto.OpPing, zkproto.OpGetChildren2, zkproto.OpMulti,
	zkproto.OpCreate2, zkproto.OpReconfig, zkproto.OpCheckWatches, zkproto.OpRemoveWatches, zkproto.OpCreateContainer,
	zkproto.OpDeleteContainer, zkproto.OpCreateTTL, zkproto.OpMultiRead, zkproto.OpAuth, zkproto.OpSetWatches,
	zkproto.OpSASL, zkproto.OpGetEphemerals, zkproto.OpGetAllChildrenNumber, zkproto.OpSetWatches2, zkproto.OpAddWatch,
	zkproto.OpWhoAmI, zkproto.OpCloseSession, zkproto.OpError,
}

// codesKept is how many codes of each hundred have counters.
const codesKept = 30

// counters are the running totals in Stats.
type counters struct {
	accepted, created, resumed, expired, bytesIn, bytesOut, events, gated, laggards, stalls,
	dropped, panics, malformed, words, authFailed atomic.Int64

	lost       atomic.Int64 // connections with a session that ended without closeSession
	eventBytes atomic.Int64 // of events queued
	oversized  atomic.Int64 // frames above the limit
	shaking    atomic.Int64 // gauge: TLS handshakes under way
	shakesLate atomic.Int64 // TLS handshakes not done in time

	rejections [16]atomic.Int64
	slots      [256]uint8 // operation, as a byte, to its index in requests
	requests   []operation
	mu         sync.Mutex // of min and max
	min, max   time.Duration
}

// operation counts one operation: codes 0 to -29 and -100 to -129.
type operation struct {
	codes   [2 * codesKept]atomic.Int64
	sum     atomic.Int64
	buckets [len(LatencyBounds) + 1]atomic.Int64
}

func (n *counters) init() {
	n.requests = make([]operation, len(counted))
	for i := range n.slots {
		n.slots[i] = uint8(len(counted) - 1)
	}
	for i, op := range counted {
		n.slots[uint8(op)] = uint8(i)
	}
	n.min = math.MaxInt64
}

// operation finds the counters of op. No two known operations are equal modulo
// 256.
func (n *counters) operation(op zkproto.OpCode) *operation {
	i := n.slots[uint8(op)]
	if counted[i] != op {
		i = uint8(len(counted) - 1)
	}
	return &n.requests[i]
}

// answered counts a reply.
func (n *counters) answered(op zkproto.OpCode, code zkproto.Code) {
	i := -int(code)
	if i >= 100 {
		i += codesKept - 100
	}
	n.operation(op).codes[min(max(i, 0), 2*codesKept-1)].Add(1)
}

// took counts the time of a sampled request.
func (n *counters) took(op zkproto.OpCode, d time.Duration) {
	o := n.operation(op)
	o.sum.Add(int64(d))
	i := 0
	for i < len(LatencyBounds) && d > LatencyBounds[i] {
		i++
	}
	o.buckets[i].Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.min, n.max = min(n.min, d), max(n.max, d)
}

// latency is what four-letter words tell about the time requests take.
type latency struct {
	min, max, sum time.Duration
	count         int64
}

func (l latency) average() time.Duration {
	if l.count == 0 {
		return 0
	}
	return l.sum / time.Duration(l.count)
}

func (n *counters) latency() (l latency) {
	for i := range n.requests {
		l.sum += time.Duration(n.requests[i].sum.Load())
		for k := range n.requests[i].buckets {
			l.count += n.requests[i].buckets[k].Load()
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.count > 0 {
		l.min, l.max = n.min, n.max
	}
	return l
}

// rejection is the count for one reason.
func (n *counters) rejection(r Rejection) int64 {
	return n.rejections[slices.Index(rejections, r)].Load()
}

// rejected counts a connection that the server closes.
func (s *Server) rejected(r Rejection) {
	for i := range rejections {
		if rejections[i] == r {
			s.count.rejections[i].Add(1)
		}
	}
}

// answers is the number of requests answered.
func (n *counters) answers() (sum int64) {
	for i := range n.requests {
		for k := range n.requests[i].codes {
			sum += n.requests[i].codes[k].Load()
		}
	}
	return sum
}

// received and sent count packets as ZooKeeper's four-letter words do.
func (n *counters) received() int64 {
	return n.answers() + n.dropped.Load() + n.created.Load() + n.resumed.Load() + n.expired.Load() + n.words.Load()
}

func (n *counters) sent() int64 {
	return n.answers() + n.created.Load() + n.resumed.Load() + n.expired.Load() + n.events.Load()
}

// Stats returns a snapshot of the server's counters.
func (s *Server) Stats() Stats {
	n := &s.count
	st := Stats{
		Connections:  s.connected(),
		PendingBytes: s.outlet.budget.used.Load(),
		Stale:        s.staleConsumers(),
		Accepted:     n.accepted.Load(),
		Rejected:     make(map[Rejection]int64, len(rejections)),
		Created:      n.created.Load(),
		Resumed:      n.resumed.Load(),
		Expired:      n.expired.Load(),
		BytesIn:      n.bytesIn.Load(),
		BytesOut:     n.bytesOut.Load(),
		Events:       n.events.Load(),
		Gated:        n.gated.Load(),
		Laggards:     n.laggards.Load(),
		Stalls:       n.stalls.Load(),
		Dropped:      n.dropped.Load(),
		Panics:       n.panics.Load(),
		Malformed:    n.malformed.Load(),
		Words:        n.words.Load(),
	}
	for i, r := range rejections {
		st.Rejected[r] = n.rejections[i].Load()
	}
	for i, op := range counted {
		o := &n.requests[i]
		for k := range o.codes {
			if count := o.codes[k].Load(); count > 0 {
				st.Requests = append(st.Requests, RequestCount{Op: op, Code: codeAt(k), Count: count})
			}
		}
		l := Latency{Op: op, Sum: time.Duration(o.sum.Load())}
		for k := range o.buckets {
			l.Buckets[k] = o.buckets[k].Load()
			l.Count += l.Buckets[k]
		}
		if l.Count > 0 {
			st.Latencies = append(st.Latencies, l)
		}
	}
	return st
}

// codeAt is the code counted at index k of operation.codes.
func codeAt(k int) zkproto.Code {
	if k >= codesKept {
		k += 100 - codesKept
	}
	return zkproto.Code(-k)
}

// accusers remembers whose bad input was logged lately, so that a client that
// sends it again and again fills no log.
type accusers struct {
	mu   sync.Mutex
	last map[string]time.Time
}

const (
	accuseEvery = time.Minute
	accusedMax  = 1024
)

// may reports whether bad input from this address is to be logged now.
func (a *accusers) may(from string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if last, ok := a.last[from]; ok && now.Sub(last) < accuseEvery {
		return false
	}
	if len(a.last) >= accusedMax {
		maps.DeleteFunc(a.last, func(_ string, t time.Time) bool { return now.Sub(t) >= accuseEvery })
	}
	if len(a.last) >= accusedMax {
		return false // they are counted all the same
	}
	if a.last == nil {
		a.last = make(map[string]time.Time)
	}
	a.last[from] = now
	return true
}
