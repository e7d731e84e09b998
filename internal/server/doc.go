// Package server speaks the ZooKeeper wire protocol to clients: it accepts
// connections, does the handshake, carries out each request on the tree, and
// sends replies and events in the order that ZooKeeper promises.
//
// A connection has one goroutine at a time, which reads (attend says why it is not
// the same one for ever). It carries out a request under the
// tree's lock and queues the reply there, so that replies and events stand in
// the connection's outbox in the order of the changes they show. It writes the
// outbox when its input is drained. Events of other clients' changes only mark
// the outbox, and a small pool of flushers writes it; a socket that cannot take
// more leaves the pool and is written by a goroutine of its own until it can.
//
// Each operation has a file, op_*.go; unsupported.md says what is not done.
package server
