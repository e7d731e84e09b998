// Package admin is the operator's HTTP listener: metrics, health, readiness,
// explain and stale consumers. It asks nobody who they are, so it belongs on loopback or behind
// something that does.
package admin
