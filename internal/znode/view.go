package znode

import "zkbridge/zkproto"

// View reads the tree under its lock. All byte slices it returns are shared and
// read-only. The empty path is another name of the root, and paths are not
// validated, as in ZooKeeper's reads.
type View struct{}

// Zxid is the last processed zxid.
func (v *View) Zxid() int64 { panic("not written yet") }

// Gate is the zxid that must be durable before bytes may leave that show what
// was read through v so far. 0: none.
func (v *View) Gate() int64 { panic("not written yet") }

// Lookup is a node without ACL checks, for bindings and the Hook.
func (v *View) Lookup(path string) (Info, bool) { panic("not written yet") }

// Exists answers exists. Errors: BadArguments (NUL), NoAuth (leave no watch),
// NoNode (leave one).
func (v *View) Exists(path string, ids []Identity) (zkproto.Stat, error) { panic("not written yet") }

// Data answers getData. Errors: NoNode, NoAuth.
func (v *View) Data(path string, ids []Identity) ([]byte, zkproto.Stat, error) {
	panic("not written yet")
}

// Children lists the names of the children, in no particular order; never nil
// on success. Errors: NoNode, NoAuth.
func (v *View) Children(path string, ids []Identity) ([]string, zkproto.Stat, error) {
	panic("not written yet")
}

// ChildrenBody is Children as it stands on the wire (vector<ustring>), one
// body for all readers until a child comes or goes.
func (v *View) ChildrenBody(path string, ids []Identity) ([]byte, zkproto.Stat, error) {
	panic("not written yet")
}

// ACL answers getACL: without ADMIN digest ids are masked. Errors: NoNode,
// NoAuth (neither READ nor ADMIN).
func (v *View) ACL(path string, ids []Identity) ([]zkproto.ACL, zkproto.Stat, error) {
	panic("not written yet")
}

// Ephemerals answers getEphemerals: the paths that session owns and that start
// with prefix; a blank prefix and "/" mean all.
func (v *View) Ephemerals(session int64, prefix string) []string { panic("not written yet") }

// Owned is how many ephemerals session owns.
func (v *View) Owned(session int64) int { panic("not written yet") }

// CountBelow answers getAllChildrenNumber: all descendants. Errors: NoNode,
// NoAuth.
func (v *View) CountBelow(path string, ids []Identity) (int32, error) { panic("not written yet") }

// Owner is the owner of a node, 0 if it is not ephemeral or not there.
func (v *View) Owner(path string) int64 { panic("not written yet") }

// Watch sets a watch of w (Tree.Arm only). Setting it again changes nothing.
func (v *View) Watch(w Watcher, path string, k WatchKind) { panic("not written yet") }

// RemoveWatches drops the watches of w on exactly path that typ means, and
// reports whether there were any (Tree.Arm only).
func (v *View) RemoveWatches(w Watcher, path string, typ zkproto.WatcherType) bool {
	panic("not written yet")
}

// HasWatch reports whether w has a watch on exactly path that typ means.
func (v *View) HasWatch(w Watcher, path string, typ zkproto.WatcherType) bool {
	panic("not written yet")
}

// SetWatches restores the watches of w after a reconnect, list by list (spec
// 4.4): what changed after relative is told at once, with zxid -1 and without
// ACL filtering, the rest is set (Tree.Arm only). Compared are the local stamps
// of when this tree changed, not the zxids in Stat.
func (v *View) SetWatches(w Watcher, relative int64, l WatchLists) { panic("not written yet") }
