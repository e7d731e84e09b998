package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/sessions"
)

func collectServer(reg *prometheus.Registry, source func() server.Stats) {
	table(reg, source,
		gauge("connections", "Client connections open.", func(s server.Stats) float64 { return float64(s.Connections) }),
		gauge("pending_bytes", "Bytes held for clients that have not taken them yet.", func(s server.Stats) float64 { return float64(s.PendingBytes) }),
		gauge("stale_consumers", "Pairs of session and bound directory: the session was told of a change and has not listed the directory again in time.", func(s server.Stats) float64 { return float64(s.Stale) }),
		counter("connections_accepted_total", "Client connections accepted.", func(s server.Stats) float64 { return float64(s.Accepted) }),
		counter("received_bytes_total", "Bytes read from clients.", func(s server.Stats) float64 { return float64(s.BytesIn) }),
		counter("sent_bytes_total", "Bytes written to clients.", func(s server.Stats) float64 { return float64(s.BytesOut) }),
		counter("events_total", "Watch events queued to connections.", func(s server.Stats) float64 { return float64(s.Events) }),
		counter("replies_gated_total", "Replies that waited for a sync of the data file.", func(s server.Stats) float64 { return float64(s.Gated) }),
		counter("connection_panics_total", "Connections closed by a fault of ours.", func(s server.Stats) float64 { return float64(s.Panics) }),
		counter("malformed_total", "Frames and records that could not be decoded.", func(s server.Stats) float64 { return float64(s.Malformed) }),
		counter("four_letter_words_total", "Four-letter words answered.", func(s server.Stats) float64 { return float64(s.Words) }),
	)
	if source == nil {
		return
	}
	requests := newDesc("requests_total", "Requests answered, by operation and ZooKeeper code.", "op", "code")
	rejected := newDesc("connections_closed_total", "Connections closed by the server, by reason.", "reason")
	latency := newDesc("request_duration_seconds", "Time from a request read to its reply queued, of a sample.", "op")
	add(reg, func(out sink) {
		s := source()
		for _, r := range s.Requests {
			out.count(requests, float64(r.Count), r.Op.String(), r.Code.Error())
		}
		for reason, n := range s.Rejected {
			out.count(rejected, float64(n), string(reason))
		}
		for _, l := range s.Latencies {
			buckets, sum := map[float64]uint64{}, uint64(0)
			for i, bound := range server.LatencyBounds {
				sum += uint64(l.Buckets[i])
				buckets[bound.Seconds()] = sum
			}
			out <- prometheus.MustNewConstHistogram(latency, uint64(l.Count), l.Sum.Seconds(), buckets, l.Op.String())
		}
	}, requests, rejected, latency)
}

func collectSessions(reg *prometheus.Registry, source func() sessions.Stats) {
	table(reg, source,
		gauge("sessions", "Sessions that can be resumed.", func(s sessions.Stats) float64 { return float64(s.Open) }),
		gauge("sessions_connected", "Sessions that a connection carries.", func(s sessions.Stats) float64 { return float64(s.Connected) }),
		gauge("sessions_closing", "Sessions whose nodes are being removed.", func(s sessions.Stats) float64 { return float64(s.Closing) }),
		counter("sessions_created_total", "Sessions made.", func(s sessions.Stats) float64 { return float64(s.Created) }),
		counter("sessions_resumed_total", "Sessions that came back on a new connection.", func(s sessions.Stats) float64 { return float64(s.Resumed) }),
		counter("sessions_refused_total", "Handshakes answered that the session has expired.", func(s sessions.Stats) float64 { return float64(s.Refused) }),
		counter("sessions_taken_over_total", "Connections closed because another took their session over.", func(s sessions.Stats) float64 { return float64(s.Kicked) }),
		counter("sessions_closed_total", "Sessions ended by their clients.", func(s sessions.Stats) float64 { return float64(s.Closed) }),
		counter("sessions_expired_total", "Sessions ended for their silence.", func(s sessions.Stats) float64 { return float64(s.Expired) }),
		counter("sessions_robbed_total", "Sessions without a connection that lost a node to whoever registered it again.", func(s sessions.Stats) float64 { return float64(s.Robbed) }),
		counter("sessions_spared_total", "Sessions that were due and then not ended.", func(s sessions.Stats) float64 { return float64(s.Spared) }),
	)
}

func collectTree(reg *prometheus.Registry, source func() znode.Stats) {
	table(reg, source,
		gauge("znodes", "Nodes in the tree.", func(s znode.Stats) float64 { return float64(s.Nodes) }),
		gauge("ephemerals", "Ephemeral nodes, imported ones included.", func(s znode.Stats) float64 { return float64(s.Ephemerals) }),
		counter("nodes_taken_over_total", "Providers registered again while their last session had no connection: the node changed hands.", func(s znode.Stats) float64 { return float64(s.TakenOver) }),
		gauge("watches", "Watches set.", func(s znode.Stats) float64 { return float64(s.Watches()) }),
		gauge("tree_bytes", "Bytes of paths and data.", func(s znode.Stats) float64 { return float64(s.DataSize) }),
		gauge("zxid", "Last zxid.", func(s znode.Stats) float64 { return float64(s.Zxid) }),
		gauge("zxid_behind_disk", "Zxids whose persistent changes are not synced yet.", func(s znode.Stats) float64 { return float64(max(0, s.Zxid-s.Durable)) }),
	)
}

func collectLink(reg *prometheus.Registry, source func() registryclient.LinkState) {
	table(reg, source, gauge("registry_link_up", "1 while the registry answers.", func(s registryclient.LinkState) float64 { return flag(s.Up) }))
}

func collectRegistry(reg *prometheus.Registry, source func() embedded.Stats) {
	table(reg, source,
		gauge("embedded_services", "Services of the embedded registry.", func(s embedded.Stats) float64 { return float64(s.Services) }),
		gauge("embedded_native_instances", "Instances registered natively.", func(s embedded.Stats) float64 { return float64(s.NativeInstances) }),
		gauge("embedded_owned_instances", "Instances published by bridges.", func(s embedded.Stats) float64 { return float64(s.OwnedInstances) }),
		gauge("embedded_watches", "Subscriptions.", func(s embedded.Stats) float64 { return float64(s.Watches) }),
		gauge("embedded_revision", "Revision of the registry.", func(s embedded.Stats) float64 { return float64(s.Revision) }),
		counter("embedded_registered_total", "Native instances that were new.", func(s embedded.Stats) float64 { return float64(s.Registered) }),
		counter("embedded_expired_total", "Instances whose time to live or lease ended.", func(s embedded.Stats) float64 { return float64(s.Expired) }),
		counter("embedded_published_total", "Lists accepted from bridges.", func(s embedded.Stats) float64 { return float64(s.Published) }),
		counter("embedded_refused_total", "Calls refused as invalid or over a limit.", func(s embedded.Stats) float64 { return float64(s.Refused) }),
		counter("embedded_snapshot_errors_total", "Snapshots that could not be written.", func(s embedded.Stats) float64 { return float64(s.SaveErrors) }),
	)
}
