// Package adminserver compares the AdminServer commands of a real ZooKeeper with
// the bridge's, key by key: scripts and agents read them by name. What the real
// server answered is kept in testdata, so that the bridge can be tested without
// Java (ZKBRIDGE_COMPAT_TARGETS=bridge).
package adminserver
