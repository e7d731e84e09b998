package server

import (
	"math"
	"time"

	"zkbridge/zkproto"
)

// MeasureKind says how a Measure behaves.
type MeasureKind uint8

// The kinds of measures.
const (
	Gauge   MeasureKind = iota
	Counter             // only grows, but for ResetStats
	Summary             // Measure.Times
)

// Measure is one number under ZooKeeper's own name, without the prefix that mntr
// puts in front of it. Agents and dashboards know the names.
type Measure struct {
	Name     string
	Kind     MeasureKind
	Value    float64
	Fraction bool // written with decimals even where it is whole, as Java writes a double
	Times    Times
}

// Times is how long requests of one sort took, of a sample. The quantiles are
// upper bounds: they come from a histogram.
type Times struct {
	Count                 int64
	Sum                   time.Duration
	Min, Max              time.Duration
	Median, P90, P95, P99 time.Duration
	P999                  time.Duration
	buckets               [len(LatencyBounds) + 1]int64
}

// Average is 0 of nothing.
func (t *Times) Average() time.Duration {
	if t.Count == 0 {
		return 0
	}
	return t.Sum / time.Duration(t.Count)
}

// Version is what srvr and mntr say.
func (s *Server) Version() string { return s.cfg.About.Version }

// Uptime is how long ago the server was made.
func (s *Server) Uptime() time.Duration { return time.Since(s.started) }

// Monitor is what mntr tells of a standalone server: its gauges, all its counters,
// and of its summaries those that mean something here. A counter of something
// that cannot happen here (elections, proposals, a queue that we do not have) is 0,
// as on a standalone server where it did not happen.
func (s *Server) Monitor() []Measure {
	list := s.gauges()
	now, base := s.totals(), s.base.Load()
	for _, name := range counterNames {
		list = append(list, Measure{Name: name, Kind: Counter, Value: float64(now.counters[name] - base.counters[name])})
	}
	return append(list,
		Measure{Name: "readlatency", Kind: Summary, Times: since(now.reads, base.reads)},
		Measure{Name: "updatelatency", Kind: Summary, Times: since(now.writes, base.writes)})
}

func (s *Server) gauges() []Measure {
	lat := s.latency()
	tree := s.cfg.Tree.Stats()
	open, limit := descriptors()
	sess := s.cfg.Sessions.Stats()
	local, remote := s.withoutCertificate()
	gauge := func(name string, value int64) Measure { return Measure{Name: name, Value: float64(value)} }
	return []Measure{
		{Name: "avg_latency", Value: float64(lat.average()) / float64(time.Millisecond), Fraction: true},
		gauge("max_latency", lat.max.Milliseconds()),
		gauge("min_latency", lat.min.Milliseconds()),
		gauge("packets_received", s.received()),
		gauge("packets_sent", s.sent()),
		gauge("num_alive_connections", int64(s.connected())),
		gauge("outstanding_requests", 0),
		gauge("uptime", s.Uptime().Milliseconds()),
		gauge("znode_count", int64(tree.Nodes)+1),
		gauge("watch_count", int64(tree.Watches())),
		gauge("ephemerals_count", int64(tree.Ephemerals)),
		gauge("approximate_data_size", tree.DataSize),
		gauge("global_sessions", int64(sess.Open+sess.Closing)),
		gauge("local_sessions", 0),
		gauge("open_file_descriptor_count", open),
		gauge("max_file_descriptor_count", limit),
		{Name: "connection_drop_probability", Fraction: true},
		gauge("last_client_response_size", -1), // not measured
		gauge("max_client_response_size", -1),
		gauge("min_client_response_size", -1),
		gauge("outstanding_tls_handshake", s.count.shaking.Load()),
		gauge("auth_failed_count", s.count.authFailed.Load()-s.base.Load().authFailed),
		gauge("non_mtls_remote_conn_count", remote),
		gauge("non_mtls_local_conn_count", local),
	}
}

// counterNames are the counters of a standalone 3.9.5 (ServerMetrics).
var counterNames = []string{
	"connection_request_count", "connection_rejected", "connection_drop_count", "connection_revalidate_count", "revalidate_count",
	"bytes_received_count", "response_bytes", "watch_bytes",
	"stale_sessions_expired", "sessionless_connections_expired", "cnxn_closed_without_zk_server_running",
	"unsuccessful_handshake", "tls_handshake_exceeded", "insecure_admin_count",
	"large_requests_rejected", "throttled_ops", "request_throttle_wait_count",
	"stale_requests", "stale_requests_dropped", "stale_replies",
	"commit_count", "request_commit_queued", "proposal_count", "learner_proposal_received_count", "learner_commit_received_count",
	"prep_processor_request_queued", "sync_processor_request_queued", "outstanding_changes_queued", "outstanding_changes_removed",
	"requests_not_forwarded_to_commit_processor", "skip_learner_request_to_next_processor_count",
	"snapshot_error_count", "snapshot_rate_limited_count", "restore_error_count", "restore_rate_limited_count",
	"snap_count", "diff_count", "looking_count", "quit_leading_due_to_disloyal_voter", "unrecoverable_error_count",
	"digest_mismatches_count", "add_dead_watcher_stall_time", "dead_watchers_queued", "dead_watchers_cleared",
	"response_packet_cache_hits", "response_packet_cache_misses",
	"response_packet_get_children_cache_hits", "response_packet_get_children_cache_misses",
	"ensemble_auth_success", "ensemble_auth_fail", "ensemble_auth_skip",
}

// totals are numbers that only grow, and that ResetStats takes as the new zero.
type totals struct {
	counters                   map[string]int64
	reads, writes              Times
	received, sent, authFailed int64
	latency                    latency // sum and count
}

func (s *Server) totals() *totals {
	n := &s.count
	t := &totals{
		received: n.received(), sent: n.sent(), authFailed: n.authFailed.Load(), latency: n.latency(),
		counters: map[string]int64{
			"connection_request_count":              n.created.Load() + n.resumed.Load() + n.expired.Load(),
			"connection_rejected":                   n.rejection(RejectedPerAddress) + n.rejection(RejectedTotal),
			"connection_drop_count":                 n.lost.Load(),
			"bytes_received_count":                  n.bytesIn.Load(),
			"response_bytes":                        max(0, n.bytesOut.Load()-n.eventBytes.Load()),
			"watch_bytes":                           n.eventBytes.Load(),
			"stale_sessions_expired":                int64(s.cfg.Sessions.Stats().Expired),
			"sessionless_connections_expired":       n.rejection(RejectedHandshakeTimeout),
			"cnxn_closed_without_zk_server_running": n.rejection(RejectedNotReady),
			"unsuccessful_handshake":                n.rejection(RejectedTLS),
			"tls_handshake_exceeded":                n.shakesLate.Load(),
			"large_requests_rejected":               n.oversized.Load(),
			"stale_requests_dropped":                n.dropped.Load(),
		},
	}
	for i, op := range counted {
		into := &t.reads
		switch op {
		case zkproto.OpPing, zkproto.OpAuth, zkproto.OpSASL, zkproto.OpError:
			continue
		case zkproto.OpCreate, zkproto.OpCreate2, zkproto.OpCreateContainer, zkproto.OpCreateTTL, zkproto.OpDelete, zkproto.OpDeleteContainer,
			zkproto.OpSetData, zkproto.OpSetACL, zkproto.OpMulti, zkproto.OpReconfig, zkproto.OpCloseSession:
			into = &t.writes
		}
		o := &n.requests[i]
		into.Sum += time.Duration(o.sum.Load())
		for k := range o.buckets {
			into.buckets[k] += o.buckets[k].Load()
		}
	}
	return t
}

// since is what came after base.
func since(t, base Times) Times {
	t.Sum -= base.Sum
	for k := range t.buckets {
		t.buckets[k] -= base.buckets[k]
		t.Count += t.buckets[k]
	}
	for k, n := range t.buckets {
		if n > 0 {
			t.Min = 0
			if k > 0 {
				t.Min = LatencyBounds[k-1]
			}
			break
		}
	}
	t.Max = t.quantile(1)
	t.Median, t.P90, t.P95, t.P99, t.P999 = t.quantile(0.5), t.quantile(0.9), t.quantile(0.95), t.quantile(0.99), t.quantile(0.999)
	return t
}

// quantile is the upper bound of the bucket that holds the quantile.
func (t *Times) quantile(q float64) time.Duration {
	want, sum := int64(math.Ceil(q*float64(t.Count))), int64(0)
	if want == 0 {
		return 0
	}
	for k, n := range t.buckets {
		if sum += n; sum >= want && k < len(LatencyBounds) {
			return LatencyBounds[k]
		}
	}
	return LatencyBounds[len(LatencyBounds)-1]
}

// ResetStats begins the counting of ZooKeeper's numbers anew (srst). The
// counters in Stats go on.
func (s *Server) ResetStats() {
	s.base.Store(s.totals())
	s.count.mu.Lock()
	defer s.count.mu.Unlock()
	s.count.min, s.count.max = math.MaxInt64, 0
}

// received and sent count packets as ZooKeeper's four-letter words do.
func (s *Server) received() int64 { return s.count.received() - s.base.Load().received }

func (s *Server) sent() int64 { return s.count.sent() - s.base.Load().sent }

// latency is that of all requests since the last ResetStats.
func (s *Server) latency() latency {
	l, base := s.count.latency(), s.base.Load().latency
	l.sum -= base.sum
	if l.count -= base.count; l.count == 0 {
		l.min, l.max = 0, 0
	}
	return l
}

// withoutCertificate counts the connections through TLS whose client showed no
// certificate: those of this machine, and others.
func (s *Server) withoutCertificate() (local, remote int64) {
	for _, c := range s.connections() {
		if !c.secure() || c.certified.Load() {
			continue
		}
		if c.peer.Addr().IsLoopback() {
			local++
		} else {
			remote++
		}
	}
	return local, remote
}

// Zxid is the last one processed.
func (s *Server) Zxid() int64 { return s.cfg.Tree.Stats().Zxid }
