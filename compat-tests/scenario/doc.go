// Package scenario is the life of two providers and a consumer, told once and
// run for every client family through every kind of target: a call, a second
// provider, a graceful end, a cut of three seconds, a restart of the server, a
// kill -9. What the consumer shows at each step, and what stands in the znode
// tree after it, is recorded, and the record of the bridge is compared with that
// of the control.
package scenario
