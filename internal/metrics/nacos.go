package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"zkbridge/registryclient/nacos"
)

func collectNacos(reg *prometheus.Registry, source func() nacos.Stats) {
	table(reg, source,
		gauge("nacos_connections", "Connections to Nacos that hold everything they are to hold.", func(s nacos.Stats) float64 { return float64(s.Connections) }),
		gauge("nacos_connections_wanted", "Connections to Nacos that there are to be.", func(s nacos.Stats) float64 { return float64(s.ConnectionsWant) }),
		gauge("nacos_published_services", "Services that Nacos has accepted from this bridge.", func(s nacos.Stats) float64 { return float64(s.Services) }),
		gauge("nacos_published_instances", "Instances that Nacos has accepted from this bridge.", func(s nacos.Stats) float64 { return float64(s.Instances) }),
		gauge("nacos_subscriptions", "Services followed at Nacos.", func(s nacos.Stats) float64 { return float64(s.Subscriptions) }),
		gauge("nacos_unsettled_services", "Services shown with instances that a server does not list since a connection was made.", func(s nacos.Stats) float64 { return float64(s.Unsettled) }),
		counter("nacos_connects_total", "Connections made.", func(s nacos.Stats) float64 { return float64(s.Connects) }),
		counter("nacos_connect_failures_total", "Connections that could not be made.", func(s nacos.Stats) float64 { return float64(s.ConnectFailures) }),
		counter("nacos_connection_losses_total", "Connections lost.", func(s nacos.Stats) float64 { return float64(s.Losses) }),
		counter("nacos_moves_total", "Times that a server asked for a move to another.", func(s nacos.Stats) float64 { return float64(s.Resets) }),
		counter("nacos_health_failures_total", "Connections given up because the server did not answer.", func(s nacos.Stats) float64 { return float64(s.HealthFailures) }),
		counter("nacos_publishes_total", "Lists sent.", func(s nacos.Stats) float64 { return float64(s.Publishes) }),
		counter("nacos_publishes_unchanged_total", "Lists not sent because the server has the same.", func(s nacos.Stats) float64 { return float64(s.Unchanged) }),
		counter("nacos_refusals_total", "Lists that a server refused.", func(s nacos.Stats) float64 { return float64(s.Refusals) }),
		counter("nacos_republished_total", "Lists sent again on a new connection.", func(s nacos.Stats) float64 { return float64(s.Redone) }),
		counter("nacos_pushes_total", "Lists that servers sent.", func(s nacos.Stats) float64 { return float64(s.Pushes) }),
		counter("nacos_name_lists_total", "Lists of service names read.", func(s nacos.Stats) float64 { return float64(s.NamesLists) }),
		counter("nacos_kept_lists_total", "Lists shown with instances that a server did not list after a connection was made.", func(s nacos.Stats) float64 { return float64(s.Kept) }),
		counter("nacos_verified_total", "Services compared with what a server has.", func(s nacos.Stats) float64 { return float64(s.Verified) }),
		counter("nacos_mended_total", "Services of these that differed and were published or subscribed again.", func(s nacos.Stats) float64 { return float64(s.Mended) }),
		counter("nacos_metadata_dropped_total", "Instances published without some of their metadata.", func(s nacos.Stats) float64 { return float64(s.MetadataDropped) }),
		counter("nacos_logins_total", "Log-ins.", func(s nacos.Stats) float64 { return float64(s.Logins) }),
		counter("nacos_login_failures_total", "Log-ins that failed.", func(s nacos.Stats) float64 { return float64(s.LoginFailures) }),
		counter("nacos_requests_total", "Requests made.", func(s nacos.Stats) float64 { return float64(s.RequestsTotal) }),
		counter("nacos_request_failures_total", "Requests that were not answered, or refused.", func(s nacos.Stats) float64 { return float64(s.RequestsFailed) }),
		counter("nacos_request_timeouts_total", "Requests that were not answered in time.", func(s nacos.Stats) float64 { return float64(s.RequestsTimedOut) }),
	)
}
