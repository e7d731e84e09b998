// Package znode is the tree: nodes with exact ZooKeeper semantics, the clock
// that gives out zxids, watches, ACL evaluation, and the log that keeps all but what
// imports made.
//
// A Tree has one lock. Everything that changes it is one transaction
// (Tree.Update), which takes one zxid whether it succeeds or not. Reads share
// the lock (Tree.View); reads that leave a watch hold it alone (Tree.Arm), so
// that the watch is set and the reply queued in one step. Under the lock nothing
// waits: watchers only mark their outbox, the Hook only computes, the Store only
// appends to memory. What must be on disk before a client may see it is said by
// a gate: a zxid to be compared with Tree.Durable.
//
// Rules and check orders are those of ZooKeeper 3.9.5 (DataTree,
// PrepRequestProcessor, FinalRequestProcessor, WatchManager).
package znode
