// Command bench measures the bridge beside a real ZooKeeper, in one run, on the
// same machine.
//
//	go run ./compat-tests/bench [--quick] [--cases a,b] [--rounds n] [--json file]
//
// It starts the servers on loopback addresses (`zkbridge serve` on its defaults, a
// ZooKeeper 3.9.5 fetched with Maven with the heap that its own start script gives
// it, and `zkbridge bench floor`, which answers with canned replies) and has
// zkbridge's own engine measure them: the cases are those of `zkbridge bench`,
// whose help lists them. Memory of idle sessions is read on fresh processes.
//
// Nothing here fails because something was slow.
//
// In the cases that write ZooKeeper waits for its disk each time, and the bridge
// does not for an ephemeral node (it outlives no power cut). To keep that apart a
// second ZooKeeper that does not wait either (forceSync=no) takes part in those.
package main
