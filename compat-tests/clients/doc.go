// Package clients runs unmodified client libraries against a real ZooKeeper and
// against the bridge, and compares what they see, line by line.
//
// The clients are go-zookeeper/zk, the ZooKeeper Java client 3.4, 3.6, 3.8 and
// 3.9, Curator 2.12, 4.3 and 5.9 (framework, caches, recipes, x-discovery), the
// C client in its shell cli_mt, ZooKeeper's own shell, and
// node-zookeeper-client. Each is a program that goes through its scenarios and
// says what it sees; nothing in a transcript differs from run to run on one
// server, so every difference between two servers counts. One process of a
// client goes through all scenarios, against both servers side by side.
//
// A program prints lines, of which these mean something:
//
//	S> scenario: text   the client sees this on server S
//	S DO fault          do this to the network between me and S; answered "done"
//	END                 all scenarios are over
//
// It is told where the servers are by arguments S=relay,direct: two addresses,
// of which the first can be cut.
package clients
