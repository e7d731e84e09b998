package znode

import (
	"strings"
	"sync/atomic"

	"zkbridge/zkproto"
)

// node is one znode. A tree holds hundreds of thousands: what only directories
// need stands in a directory of its own.
type node struct {
	path   string
	parent *node      // nil: the root
	dir    *directory // nil until the first child
	slot   int32      // place in parent.dir.children
	own    int32      // place among its owner's ephemerals, or among what may be reaped
	state
}

// state is what a transaction may change and has to put back if it fails.
type state struct {
	data            []byte // immutable; nil is jute's null
	acl             *access
	owner           int64 // session of an ephemeral, ms that a TTL node lives, else 0; see session
	czxid           int64
	mzxid           int64
	pzxid           int64
	ctime           int64
	mtime           int64
	applied         int64 // zxid at which this tree last changed the node's data (or made it): what setWatches compares
	childrenApplied int64 // the same for its children
	gate            int64 // newest zxid that must be durable before this node, its Stat or the names of its children may be shown
	counterGate     int64 // zxid of the record that reserved the create counter
	version         int32
	aversion        int32
	creates         int32 // creates ever under this node: the sequence counter
	reserved        int32 // the Store starts the counter here after a restart
	kind            Kind
	held            reason // why an ephemeral of the reserved session outlives its own; 0: it does not
}

// directory is the children of a node.
type directory struct {
	children []*node
	body     atomic.Pointer[[]byte] // encoded names, nil when a child came or went
}

func (n *node) children() []*node {
	if n.dir == nil {
		return nil
	}
	return n.dir.children
}

// name is the last component of the path.
func (n *node) name() string {
	if n.parent == nil {
		return ""
	}
	if n.parent.parent == nil {
		return n.path[1:]
	}
	return n.path[len(n.parent.path)+1:]
}

// stat is the node's Stat as the wire shows it: the wire's cversion counts
// creates and deletes, the node only creates (DataNode.copyStat).
func (n *node) stat() zkproto.Stat {
	children := int32(len(n.children()))
	return zkproto.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.creates - children, Aversion: n.aversion,
		EphemeralOwner: n.session(), DataLength: int32(len(n.data)), NumChildren: children, Pzxid: n.pzxid,
	}
}

// session is the owner of an ephemeral, else 0.
func (n *node) session() int64 {
	if n.kind == TTL {
		return 0
	}
	return n.owner
}

// body is the encoded list of the children's names, made once for all readers:
// readers that share the lock may make it twice, which does no harm.
func (n *node) body() []byte {
	if len(n.children()) == 0 {
		return zkproto.AppendStrings(nil, []string{})
	}
	if b := n.dir.body.Load(); b != nil {
		return *b
	}
	b := zkproto.AppendStrings(nil, n.names())
	n.dir.body.Store(&b)
	return b
}

func (n *node) names() []string {
	names := make([]string, len(n.children()))
	for i, c := range n.children() {
		names[i] = c.name()
	}
	return names
}

func (n *node) size() int64 { return int64(len(n.path) + len(n.data)) }

// attach puts n under its parent.
func (t *Tree) attach(n *node) {
	if n.parent.dir == nil {
		n.parent.dir = &directory{}
	}
	d := n.parent.dir
	n.slot = int32(len(d.children))
	d.children = append(d.children, n)
	d.body.Store(nil)
	t.nodes[n.path] = n
	t.dataSize += n.size()
	t.own(n)
	if strings.HasPrefix(n.path, quotaDir+"/") {
		t.arm(n)
	}
}

// detach takes n, which has no children, from its parent.
func (t *Tree) detach(n *node) {
	d := n.parent.dir
	last := len(d.children) - 1
	d.children[n.slot] = d.children[last]
	d.children[n.slot].slot = n.slot
	d.children[last] = nil
	d.children = d.children[:last]
	if c := cap(d.children); c > 64 && last < c/4 { // a directory that was large once
		d.children = append(make([]*node, 0, c/2), d.children...)
	}
	d.body.Store(nil)
	delete(t.nodes, n.path)
	t.dataSize -= n.size()
	t.disown(n)
	if strings.HasPrefix(n.path, quotaDir+"/") {
		t.disarm(n)
	}
}

// restate gives n another state, its owner and the sums included.
func (t *Tree) restate(n *node, s state) {
	t.dataSize += int64(len(s.data) - len(n.data))
	if n.kind == s.kind && n.owner == s.owner {
		n.state = s
		return
	}
	t.disown(n)
	n.state = s
	t.own(n)
}

// own enters an ephemeral under its owner, and what may be reaped among that.
func (t *Tree) own(n *node) {
	switch n.kind {
	case Ephemeral:
	case Container, TTL:
		n.own = int32(len(t.passing))
		t.passing = append(t.passing, n)
		return
	default:
		return
	}
	list := t.owners[n.owner]
	n.own = int32(len(list))
	t.owners[n.owner] = append(list, n)
	t.ephemerals++
}

func (t *Tree) disown(n *node) {
	switch n.kind {
	case Ephemeral:
	case Container, TTL:
		last := len(t.passing) - 1
		t.passing[n.own] = t.passing[last]
		t.passing[n.own].own = n.own
		t.passing[last] = nil
		t.passing = t.passing[:last]
		return
	default:
		return
	}
	list := t.owners[n.owner]
	last := len(list) - 1
	list[n.own] = list[last]
	list[n.own].own = n.own
	list[last] = nil
	if last == 0 {
		delete(t.owners, n.owner)
	} else {
		t.owners[n.owner] = list[:last]
	}
	t.ephemerals--
}

// lookup finds a node; the empty path is the root, as in ZooKeeper's DataTree.
func (t *Tree) lookup(path string) *node {
	if path == "" {
		return t.root
	}
	return t.nodes[path]
}

// reserves reports whether n belongs to the bridge itself: imported or held.
func (t *Tree) reserves(n *node) bool {
	return n.kind == Ephemeral && t.reserved != 0 && n.owner == t.reserved
}

// imported reports whether n was made by Put: a binding makes it again after a
// restart, so it is not kept.
func (t *Tree) imported(n *node) bool { return n.held == 0 && t.reserves(n) }
