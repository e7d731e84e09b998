package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"zkbridge/internal/binding/guard"
	"zkbridge/internal/znode"
)

func collectGuard(reg *prometheus.Registry, source func() guard.Stats) {
	table(reg, source,
		gauge("held", "Addresses that are held: shown and published although nobody vouches for them.", func(s guard.Stats) float64 { return float64(s.Held) }),
		counter("stalls_total", "Times that the bridge itself stood still for more than a second.", func(s guard.Stats) float64 { return float64(s.Stalls) }),
		counter("mass_silences_total", "Times that many sessions, or most of a service, were silent at once.", func(s guard.Stats) float64 { return float64(s.MassSilences) }),
		counter("deadlines_extended_total", "Silent sessions that got another timeout, because it was likelier that we did not hear.", func(s guard.Stats) float64 { return float64(s.Extensions) }),
		counter("probes_total", "Held addresses asked whether somebody is there.", func(s guard.Stats) float64 { return float64(s.Probes) }),
		counter("probes_answered_total", "Probes that somebody answered.", func(s guard.Stats) float64 { return float64(s.Answers) }),
		counter("probes_refused_total", "Probes where nobody listened.", func(s guard.Stats) float64 { return float64(s.Refusals) }),
		counter("imports_disk_errors_total", "Imports that could not be written or read.", func(s guard.Stats) float64 { return float64(s.DiskErrors) }),
	)
	if source == nil {
		return
	}
	held := newDesc("held_by_class", "Addresses that are held, by what would have taken them away.", "class")
	ended := newDesc("held_ended_total", "Held addresses that ended, by evidence.", "evidence")
	add(reg, func(out sink) {
		s := source()
		for class, n := range s.HeldBy {
			out.gauge(held, float64(n), class)
		}
		for evidence, n := range s.Ended {
			out.count(ended, float64(n), evidence)
		}
	}, held, ended)
}

func collectStore(reg *prometheus.Registry, source func() znode.StoreStats) {
	table(reg, source,
		gauge("log_failing", "1 while the disk takes no data: writes to persistent nodes are refused.", func(s znode.StoreStats) float64 { return flag(s.Failing) }),
		gauge("log_bytes", "Size of the log.", func(s znode.StoreStats) float64 { return float64(s.Size) }),
		counter("log_failures_total", "Times that the disk began to fail.", func(s znode.StoreStats) float64 { return float64(s.Failures) }),
		counter("log_writes_total", "Writes to the log.", func(s znode.StoreStats) float64 { return float64(s.Writes) }),
		counter("log_written_bytes_total", "Bytes written, snapshots included.", func(s znode.StoreStats) float64 { return float64(s.Bytes) }),
		counter("log_syncs_total", "Syncs of the log.", func(s znode.StoreStats) float64 { return float64(s.Syncs) }),
		counter("log_sync_seconds_total", "Time spent in syncs.", func(s znode.StoreStats) float64 { return s.SyncTime.Seconds() }),
		counter("log_snapshots_total", "Times that a new snapshot took the log's place.", func(s znode.StoreStats) float64 { return float64(s.Snapshots) }),
	)
}
