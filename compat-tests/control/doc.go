// Package control starts, kills and restarts the servers that the compat tests
// run against: a real ZooKeeper 3.9.5 fetched with Maven (the control), the
// bridge, and the bridge with its registry as a process of its own.
//
// A test is written once against [Target] and run through every [Kind] with
// [Each]. What a client sees on the control is right by definition; what it sees
// on the bridge is compared with that.
//
// The package also holds what such tests need around a server: a TCP [Relay]
// that can cut, refuse, stall and half-open connections, a network namespace of
// the test's own ([Isolate]), ports that no other test takes ([Ports]), and a
// cache for what is built or downloaded once.
//
// Everything a test needs and does not find (Java, Maven, a registry that serves
// the jars, the right to make a network namespace) is a failure with a sentence
// that says what is missing, never a skip. Processes are ended by their own pid
// and die with the test binary, however that ends.
package control
