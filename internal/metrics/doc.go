// Package metrics shows the rooms' own counters to Prometheus. It is the only
// package that knows Prometheus: a room keeps plain counters and gives a
// snapshot, and a collector here reads it at each scrape.
//
// Labels are closed sets (operation, result, reason, state), never a path, a
// session or an address.
package metrics
