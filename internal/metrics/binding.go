package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"zkbridge/internal/binding/registry"
)

func collectBinding(reg *prometheus.Registry, source func() registry.Stats) {
	table(reg, source,
		counter("published_total", "Lists that the registry accepted.", func(s registry.Stats) float64 { return float64(s.Published) }),
		counter("publish_failures_total", "Publications that failed for now and are repeated.", func(s registry.Stats) float64 { return float64(s.PublishFailures) }),
		counter("publish_refusals_total", "Publications that the registry refused for good.", func(s registry.Stats) float64 { return float64(s.PublishRefusals) }),
		counter("publish_seconds_total", "Time spent in publications.", func(s registry.Stats) float64 { return s.PublishTime.Seconds() }),
		gauge("publish_pending_services", "Services whose list is waiting or under way.", func(s registry.Stats) float64 { return float64(s.PublishPending) }),
		gauge("publish_pending_seconds", "Age of the oldest list that is waiting.", func(s registry.Stats) float64 { return s.OldestPendingAge.Seconds() }),
		gauge("published_instances", "Instances that the registry has accepted from this bridge.", func(s registry.Stats) float64 { return float64(s.PublishedNow) }),
		gauge("refused_instances", "Instances that the registry does not take; their znodes work.", func(s registry.Stats) float64 { return float64(s.RefusedNow) }),
		counter("snapshots_total", "Lists that arrived from the registry.", func(s registry.Stats) float64 { return float64(s.Snapshots) }),
		counter("imports_total", "Arrived lists that changed the tree.", func(s registry.Stats) float64 { return float64(s.Imports) }),
		counter("echoes_total", "Arrived instances that were this bridge's own.", func(s registry.Stats) float64 { return float64(s.Echoes) }),
		gauge("subscribed_services", "Services followed in the registry.", func(s registry.Stats) float64 { return float64(s.Subscribed) }),
		counter("subscribe_errors_total", "Subscriptions that failed.", func(s registry.Stats) float64 { return float64(s.SubscribeErrors) }),
		counter("published_table_errors_total", "Records of what is published that could not be written to disk.", func(s registry.Stats) float64 { return float64(s.TableErrors) }),
		counter("registry_link_changes_total", "Times that the link to the registry came or went.", func(s registry.Stats) float64 { return float64(s.LinkChanges) }),
		counter("reconciliations_total", "Times that what the registry holds of this bridge was compared.", func(s registry.Stats) float64 { return float64(s.Reconciliations) }),
	)
	if source == nil {
		return
	}
	unpublished := newDesc("not_translated_total", "Znodes that cannot be instances because of their name or data.", "reason")
	unshown := newDesc("not_shown_total", "Instances that no znode can stand for.", "reason")
	add(reg, func(out sink) {
		s := source()
		for reason, n := range s.NotTranslated {
			out.count(unpublished, float64(n), reason)
		}
		for reason, n := range s.NotShown {
			out.count(unshown, float64(n), reason)
		}
	}, unpublished, unshown)
}
