package znode

import (
	"strings"

	"zkbridge/zkproto"
)

// View reads the tree under its lock. All byte slices it returns are shared and
// read-only. The empty path is another name of the root, and paths are not
// validated, as in ZooKeeper's reads.
type View struct {
	tree  *Tree
	armed bool // the lock is held alone
	gate  int64
}

// Zxid is the last processed zxid.
func (v *View) Zxid() int64 { return v.tree.zxid }

// Gate is the zxid that must be durable before bytes may leave that show what
// was read through v so far. 0: none.
func (v *View) Gate() int64 {
	if v.tree.store == nil {
		return 0
	}
	return max(v.gate, v.tree.owing())
}

// node finds a node and notes what finding it, or not, gives away.
func (v *View) node(path string) *node {
	n := v.tree.lookup(path)
	if n == nil {
		v.gate = max(v.gate, v.tree.deleteGate)
	} else {
		v.gate = max(v.gate, n.gate)
	}
	return n
}

// readable is node for a client.
func (v *View) readable(path string, ids []Identity) (*node, error) {
	n := v.node(path)
	if n == nil {
		return nil, zkproto.NoNode
	}
	if !v.tree.permits(n.path, n.acl, zkproto.PermRead, ids) {
		return nil, zkproto.NoAuth
	}
	return n, nil
}

// Lookup is a node without ACL checks, for bindings and the Hook.
func (v *View) Lookup(path string) (Info, bool) {
	n := v.node(path)
	if n == nil {
		return Info{}, false
	}
	return Info{
		Path: n.path, Kind: n.kind, Owner: n.session(), Imported: v.tree.imported(n), Held: v.tree.reasons.text(n.held),
		Data: n.data, Stat: n.stat(),
	}, true
}

// Exists answers exists. Errors: BadArguments (NUL), NoAuth (leave no watch),
// NoNode (leave one).
func (v *View) Exists(path string, ids []Identity) (zkproto.Stat, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return zkproto.Stat{}, zkproto.BadArguments
	}
	n, err := v.readable(path, ids)
	if err != nil {
		return zkproto.Stat{}, err
	}
	return n.stat(), nil
}

// Data answers getData. Errors: NoNode, NoAuth.
func (v *View) Data(path string, ids []Identity) ([]byte, zkproto.Stat, error) {
	n, err := v.readable(path, ids)
	if err != nil {
		return nil, zkproto.Stat{}, err
	}
	return n.data, n.stat(), nil
}

// Children lists the names of the children, in no particular order; never nil
// on success. Errors: NoNode, NoAuth.
func (v *View) Children(path string, ids []Identity) ([]string, zkproto.Stat, error) {
	n, err := v.readable(path, ids)
	if err != nil {
		return nil, zkproto.Stat{}, err
	}
	return n.names(), n.stat(), nil
}

// ChildrenBody is Children as it stands on the wire (vector<ustring>), one
// body for all readers until a child comes or goes.
func (v *View) ChildrenBody(path string, ids []Identity) ([]byte, zkproto.Stat, error) {
	n, err := v.readable(path, ids)
	if err != nil {
		return nil, zkproto.Stat{}, err
	}
	return n.body(), n.stat(), nil
}

// ACL answers getACL: without ADMIN digest ids are masked. Errors: NoNode,
// NoAuth (neither READ nor ADMIN). The list is shared and read-only.
func (v *View) ACL(path string, ids []Identity) ([]zkproto.ACL, zkproto.Stat, error) {
	n := v.node(path)
	switch {
	case n == nil:
		return nil, zkproto.Stat{}, zkproto.NoNode
	case v.tree.permits(n.path, n.acl, zkproto.PermAdmin, ids):
		return n.acl.list, n.stat(), nil
	case n.acl.allows(zkproto.PermRead, ids):
		return n.acl.masked(), n.stat(), nil
	}
	return nil, zkproto.Stat{}, zkproto.NoAuth
}

// Ephemerals answers getEphemerals: the paths that session owns and that start
// with prefix, slash or not; a blank prefix and "/" mean all. Never nil.
func (v *View) Ephemerals(session int64, prefix string) []string {
	if strings.TrimSpace(prefix) == "" || strings.TrimSpace(prefix) == "/" {
		prefix = ""
	}
	paths := make([]string, 0, len(v.tree.owners[session]))
	for _, n := range v.tree.owners[session] {
		if strings.HasPrefix(n.path, prefix) {
			v.gate = max(v.gate, n.gate)
			paths = append(paths, n.path)
		}
	}
	return paths
}

// Owned is how many ephemerals session owns.
func (v *View) Owned(session int64) int { return len(v.tree.owners[session]) }

// CountBelow answers getAllChildrenNumber: all descendants. Errors: NoNode,
// NoAuth. The root's other name counts the root too, as there.
func (v *View) CountBelow(path string, ids []Identity) (int32, error) {
	n, err := v.readable(path, ids)
	if err != nil {
		return 0, err
	}
	v.gate = max(v.gate, v.tree.deleteGate)
	switch path {
	case "":
		return v.countBelow(n) + 1, nil
	default:
		return v.countBelow(n), nil
	}
}

func (v *View) countBelow(n *node) int32 {
	total := int32(len(n.children()))
	for _, c := range n.children() {
		v.gate = max(v.gate, c.gate)
		total += v.countBelow(c)
	}
	return total
}

// Owner is the owner of a node, 0 if it is not ephemeral or not there.
func (v *View) Owner(path string) int64 {
	if n := v.node(path); n != nil {
		return n.session()
	}
	return 0
}

// Watch sets a watch of w (Tree.Arm only). Setting it again changes nothing.
func (v *View) Watch(w Watcher, path string, k WatchKind) {
	v.mustBeArmed()
	v.tree.watches.set(w, path, k)
}

// RemoveWatches drops the watches of w on exactly path that typ means, and
// reports whether there were any (Tree.Arm only).
func (v *View) RemoveWatches(w Watcher, path string, typ zkproto.WatcherType) bool {
	v.mustBeArmed()
	return v.tree.watches.remove(w, path, typ)
}

// HasWatch reports whether w has a watch on exactly path that typ means.
func (v *View) HasWatch(w Watcher, path string, typ zkproto.WatcherType) bool {
	return v.tree.watches.has(w, path, typ)
}

// SetWatches restores the watches of w after a reconnect, list by list
// (DataTree.setWatches): what changed after relative is told at once, with zxid
// -1 and without ACL filtering, the rest is set (Tree.Arm only). Compared are
// the local stamps of when this tree changed, not the zxids in Stat: those need
// not be in the order in which this server showed things.
func (v *View) SetWatches(w Watcher, relative int64, l WatchLists) {
	v.mustBeArmed()
	table := &v.tree.watches
	tell := func(typ zkproto.EventType, path string, n *node) {
		gate := v.tree.owing()
		if n == nil {
			gate = max(gate, v.tree.deleteGate)
		} else {
			gate = max(gate, n.gate)
		}
		if v.tree.store == nil {
			gate = 0
		}
		w.Notify(newEvent(typ, path, -1, gate))
	}
	for _, path := range l.Data {
		switch n := v.tree.lookup(path); {
		case n == nil:
			tell(zkproto.EventDeleted, path, n)
		case n.applied > relative:
			tell(zkproto.EventDataChanged, path, n)
		default:
			table.set(w, path, WatchData)
		}
	}
	for _, path := range l.Exist {
		if n := v.tree.lookup(path); n != nil {
			tell(zkproto.EventCreated, path, n)
		} else {
			table.set(w, path, WatchExist)
		}
	}
	for _, path := range l.Child {
		switch n := v.tree.lookup(path); {
		case n == nil:
			tell(zkproto.EventDeleted, path, n)
		case n.childrenApplied > relative:
			tell(zkproto.EventChildrenChanged, path, n)
		default:
			table.set(w, path, WatchChild)
		}
	}
	for _, path := range l.Persistent {
		table.set(w, path, WatchPersistent)
	}
	for _, path := range l.Recursive {
		table.set(w, path, WatchRecursive)
	}
}

func (v *View) mustBeArmed() {
	if !v.armed {
		panic("znode: watches are set and removed in Tree.Arm only")
	}
}
