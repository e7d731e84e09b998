// Package embedded is the registry that zkbridge brings along, and the
// reference implementation of registryclient.
//
// Registry is the registry itself: services with native instances, each kept by
// a heart-beat, and with the lists that bridges publish, kept by the lease of
// their owner; revisions, subscriptions, and a snapshot on disk. It is an AP
// registry of one node: always there for reads and writes, never asked for a
// majority, and what it lost in a crash comes back with the next heart-beats
// and renewals.
//
// Two clients speak to it: Local in the same process, Remote over the HTTP API
// (NewHandler, ServeHTTP, Serve) when the registry is a process of its own. HTTPClient is the
// typed form of that API for command lines and native applications.
//
// Locks: Registry.mu guards all of its state and is never held across I/O, a
// channel wait or a callback. In Remote a publication's own lock is held across
// its request, so that publications of one service leave in order; stream.mu,
// Remote.mu and health.mu are taken one at a time.
package embedded
