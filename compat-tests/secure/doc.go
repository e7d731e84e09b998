// Package secure starts the control and the bridge with a TLS listener, and runs
// ZooKeeper's own Java client (3.9, ClientCnxnSocketNetty) through it: what it sees
// must be the same.
package secure
