// Package bench measures ZooKeeper servers over the wire, with a raw client of
// its own, so that no client library's cost hides the servers'.
//
// A case is made ready on every server and then measured on one after the other,
// several times, each round beginning with another: what disturbs the machine
// disturbs all of them. The report has medians, and factors: how many times
// better the first server is than each of the others. One of the others may be a
// floor: canned replies, no tree and no sessions, the limit that no server on
// this client and machine can beat.
//
// Client and local servers share the processors, so a rate is a rate of the
// whole; what a local server spends by itself is read from /proc.
package bench
