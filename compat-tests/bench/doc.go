// Command bench measures the bridge beside a real ZooKeeper, in one run, on the
// same machine, with the same client: a raw one on zkproto, so that no client
// library's cost hides the servers'.
//
//	go run ./compat-tests/bench [--quick] [--cases a,b] [--rounds n] [--json file]
//
// It starts both servers on loopback addresses (a ZooKeeper 3.9.5 fetched with
// Maven, with the heap its own start script gives it, and `zkbridge serve` on its
// defaults), measures each case on one and the other in turn, several times, and
// prints medians and factors: how many times better the bridge is. Client and
// servers share the machine's processors, so a rate is a rate of the whole; what
// a server spends by itself stands beside it, as requests per second of its CPU.
//
// Nothing here fails because something was slow. The cases:
//
//	getdata1    32 connections, each waits for one reply before it asks again
//	getdata16   32 connections with 16 requests under way each
//	ephemerals  64 connections, each creates and deletes one ephemeral node
//	providers   the same below a Dubbo service, so that the bridge also publishes it
//	fanout      1,000 connections watch one directory: one change, then all list it
//	idle        5,000 sessions that only ping, on a fresh server process
//
// In the case ephemerals ZooKeeper waits for its disk at each write, and the
// bridge does not (an ephemeral node outlives no power cut). To keep that apart a
// second ZooKeeper that does not wait either (forceSync=no) takes part.
package main
