package znode

import (
	"errors"
	"math"
	"strings"

	"zkbridge/zkproto"
)

// This file is the only place where the tree changes. Operations and Apply both
// arrive here with an Effect, so what a log repeats is what was done.

// fresh gives an effect the Stat of a node made now.
func (x *Tx) fresh(e *Effect) {
	e.Czxid, e.Mzxid = x.zxid, x.zxid
	e.Ctime, e.Mtime = x.time, x.time
}

// add makes a node under parent on behalf of an operation or, if bound, of a
// binding.
func (x *Tx) add(e *Effect, parent *node, acl *access, sequential, bound bool) *node {
	var gate int64
	if e.Node != Ephemeral {
		if !bound || !x.tree.failing() { // directories of imports need not wait for a disk that is full
			gate = x.zxid
		}
	} else if sequential {
		gate = x.reserveCounter(parent)
	}
	x.fresh(e)
	e.Creates, e.Pzxid = parent.creates, parent.pzxid
	if e.Creates != math.MaxInt32 { // DataTree moves both forward only, so the counter sticks at its end
		e.Creates, e.Pzxid = e.Creates+1, x.zxid
	}
	return x.create(e, parent, acl, gate, bound)
}

func (x *Tx) create(e *Effect, parent *node, acl *access, gate int64, bound bool) *node {
	n := &node{path: e.Path, parent: parent, state: x.born(e, acl, gate)}
	x.save(parent)
	parent.creates, parent.pzxid = e.Creates, e.Pzxid
	parent.childrenApplied = x.zxid
	parent.gate = max(parent.gate, gate)
	x.undo = append(x.undo, undo{kind: undoAttach, n: n})
	if strings.HasPrefix(n.path, quotaDir+"/") && !x.replay {
		if of, ok := quotaNode(n.path, statsEnd); ok {
			n.data = x.tree.counted(of)
			e.Data = n.data
		}
	}
	x.tree.attach(n)
	e.passing = x.tree.imported(n)
	if len(x.tree.quotas) > 0 {
		x.count(n.path, 1, int64(len(n.data)), gate)
	}
	x.record(e, gate)
	if e.passing {
		x.children(parent)
	}
	x.changed(Created, n)
	x.steps = append(x.steps, step{typ: zkproto.EventCreated, path: n.path, acl: acl, gate: gate})
	x.childrenChanged(parent, gate, bound)
	return n
}

// born is the state of a node that an effect makes.
func (x *Tx) born(e *Effect, acl *access, gate int64) state {
	return state{
		data: e.Data, acl: acl, owner: e.Owner, kind: e.Node,
		czxid: e.Czxid, mzxid: e.Mzxid, pzxid: e.Czxid, ctime: e.Ctime, mtime: e.Mtime,
		version: e.Version, aversion: e.Aversion,
		applied: x.zxid, childrenApplied: x.zxid, gate: gate,
	}
}

// adopt puts a node in the place of an imported one: its parent's list does
// not change, so nothing is said about it.
func (x *Tx) adopt(e *Effect, n *node, acl *access) {
	var gate int64
	if e.Node != Ephemeral {
		gate = x.zxid
		x.save(n.parent)
		n.parent.gate = gate
	}
	differs := !sameData(n.data, e.Data)
	more := len(e.Data) - len(n.data)
	x.save(n)
	x.tree.restate(n, x.born(e, acl, gate))
	if len(x.tree.quotas) > 0 {
		x.count(n.path, 0, int64(more), gate)
	}
	x.record(e, gate)
	x.changed(Adopted, n)
	if differs {
		x.steps = append(x.steps, step{typ: zkproto.EventDataChanged, path: n.path, acl: acl, gate: gate})
	}
}

// remove deletes a node that has no children.
func (x *Tx) remove(n *node, bound bool) {
	x.delete(&Effect{Kind: EffectDelete, Node: n.kind, Path: n.path, Creates: n.parent.creates, Pzxid: x.zxid}, n, bound)
}

func (x *Tx) delete(e *Effect, n *node, bound bool) {
	e.passing = x.tree.imported(n)
	parent := n.parent
	var gate int64
	if n.kind != Ephemeral {
		gate = x.zxid
		x.tree.deleteGate = x.zxid
	}
	x.save(parent)
	parent.creates, parent.pzxid = e.Creates, e.Pzxid
	parent.childrenApplied = x.zxid
	parent.gate = max(parent.gate, gate)
	x.before(n)
	x.undo = append(x.undo, undo{kind: undoDetach, n: n})
	x.tree.detach(n)
	if len(x.tree.quotas) > 0 {
		x.count(n.path, -1, -int64(len(n.data)), gate)
	}
	x.record(e, gate)
	if e.passing {
		x.children(parent)
	}
	x.changed(Deleted, n)
	x.steps = append(x.steps, step{typ: zkproto.EventDeleted, path: n.path, acl: n.acl, gate: gate})
	x.childrenChanged(parent, gate, bound)
}

// write replaces a node's data.
func (x *Tx) write(n *node, data []byte) {
	x.setData(&Effect{Kind: EffectData, Node: n.kind, Path: n.path, Data: data, Version: n.version + 1, Mzxid: x.zxid, Mtime: x.time}, n)
}

func (x *Tx) setData(e *Effect, n *node) {
	e.passing = x.tree.imported(n)
	gate := x.touch(n)
	more := int64(len(e.Data) - len(n.data))
	x.tree.dataSize += more
	n.data, n.version, n.mzxid, n.mtime = e.Data, e.Version, e.Mzxid, e.Mtime
	n.applied = x.zxid
	if len(x.tree.quotas) > 0 {
		x.count(n.path, 0, more, gate)
	}
	x.record(e, gate)
	x.changed(DataSet, n)
	x.steps = append(x.steps, step{typ: zkproto.EventDataChanged, path: n.path, acl: n.acl, gate: gate})
}

func (x *Tx) setACL(e *Effect, n *node, acl *access) {
	e.passing = x.tree.imported(n)
	gate := x.touch(n)
	n.acl, n.aversion = acl, e.Aversion
	x.record(e, gate)
	x.changed(ACLSet, n)
}

// counter reserves create numbers; nobody sees it.
func (x *Tx) counter(e *Effect, n *node) {
	x.save(n)
	n.reserved, n.counterGate = e.Reserved, x.zxid
	x.effects = append(x.effects, *e)
	x.stored, x.synced = true, true
}

// touch saves a node that is about to change, and returns the gate of the
// change.
func (x *Tx) touch(n *node) int64 {
	x.save(n)
	if n.kind == Ephemeral {
		return 0
	}
	n.gate = x.zxid
	return x.zxid
}

// save remembers how n stands, in case the transaction fails.
func (x *Tx) save(n *node) {
	x.before(n)
	x.undo = append(x.undo, undo{kind: undoState, n: n, was: n.state})
}

// before notes the gate of what a failure would show again.
func (x *Tx) before(n *node) {
	if n.gate < x.zxid {
		x.old = max(x.old, n.gate)
	}
}

func (x *Tx) record(e *Effect, gate int64) {
	x.effects = append(x.effects, *e)
	x.gate = max(x.gate, gate)
	x.stored = x.stored || !e.passing
	x.synced = x.synced || e.persistent()
}

// changed tells the Hook about n, if it was not the Hook itself.
func (x *Tx) changed(kind ChangeKind, n *node) {
	x.change(Change{Kind: kind, Path: n.path, Data: n.data, Owner: n.session(), Czxid: n.czxid, Zxid: x.zxid, Imported: x.tree.imported(n)})
}

func (x *Tx) change(c Change) {
	if !x.hooked {
		x.changes = append(x.changes, c)
	}
}

// childrenChanged fires for the directory n at once for an operation, as
// ZooKeeper does for every child, and once at the end for a binding.
func (x *Tx) childrenChanged(n *node, gate int64, bound bool) {
	if !bound {
		x.steps = append(x.steps, step{typ: zkproto.EventChildrenChanged, path: n.path, acl: n.acl, gate: gate})
		return
	}
	for i := len(x.bound) - 1; i >= 0; i-- {
		if x.bound[i].n == n {
			x.bound[i].gate = max(x.bound[i].gate, gate)
			return
		}
	}
	x.bound = append(x.bound, owed{n: n, gate: gate})
}

// children keeps what an imported node has done to its parent.
func (x *Tx) children(parent *node) {
	x.effects = append(x.effects, Effect{Kind: EffectChildren, Node: Ephemeral, Path: parent.path, Creates: parent.creates, Pzxid: parent.pzxid})
	x.stored = true
}

// persistent reports whether the effect outlives sessions.
func (e *Effect) persistent() bool { return e.Node != Ephemeral }

var errMisfit = errors.New("does not fit the tree")

// apply does an effect that was decided elsewhere.
func (x *Tx) apply(e *Effect) error {
	t := x.tree
	if e.Kind == EffectSession || e.Kind == EffectEnd {
		x.session(*e)
		return nil
	}
	n := t.nodes[e.Path]
	var gate int64
	if e.persistent() {
		gate = x.zxid
	}
	switch e.Kind {
	case EffectCreate:
		if n != nil || !validPath(e.Path) {
			return errMisfit
		}
		parent := t.nodes[parentPath(e.Path)]
		if parent == nil || parent.kind == Ephemeral {
			return errMisfit
		}
		x.create(e, parent, t.intern(e.ACL), gate, false)
		return nil
	case EffectNode:
		return x.restore(e)
	}
	if n == nil {
		return errMisfit
	}
	switch e.Kind {
	case EffectDelete:
		if len(n.children()) > 0 || systemPath(e.Path) {
			return errMisfit
		}
		x.delete(e, n, false)
	case EffectData:
		x.setData(e, n)
	case EffectACL:
		x.setACL(e, n, t.intern(e.ACL))
	case EffectAdopt:
		if n.kind != Ephemeral {
			return errMisfit
		}
		x.adopt(e, n, t.intern(e.ACL))
	case EffectHold:
		if n.kind != Ephemeral {
			return errMisfit
		}
		x.hold(e, n)
	case EffectCounter:
		x.counter(e, n)
	case EffectChildren:
		x.save(n)
		n.creates, n.pzxid = e.Creates, e.Pzxid
		x.effects = append(x.effects, *e)
		x.stored = true
	default:
		return errMisfit
	}
	return nil
}

// repeat does an effect of the log once more. A snapshot is written while the tree
// goes on, so it may show already what the log has to say: what an effect changes
// is in it whole, so the last one is right, and one whose node is gone comes before
// the one that says so.
func (x *Tx) repeat(e *Effect) error {
	t := x.tree
	switch e.Kind {
	case EffectSession, EffectEnd, EffectNode, EffectCounter:
	case EffectCreate:
		parent := t.nodes[parentPath(e.Path)]
		if parent == nil {
			return nil
		}
		if t.nodes[e.Path] != nil {
			x.save(parent)
			parent.creates, parent.pzxid = e.Creates, e.Pzxid
			return x.restore(&Effect{
				Node: e.Node, Path: e.Path, Data: e.Data, ACL: e.ACL, Owner: e.Owner,
				Czxid: e.Czxid, Mzxid: e.Mzxid, Pzxid: e.Czxid, Ctime: e.Ctime, Mtime: e.Mtime, Version: e.Version, Aversion: e.Aversion,
			})
		}
	case EffectDelete:
		n := t.nodes[e.Path]
		if n == nil {
			if parent := t.nodes[parentPath(e.Path)]; parent != nil {
				x.save(parent)
				parent.creates, parent.pzxid = e.Creates, e.Pzxid
			}
			return nil
		}
		if len(n.children()) > 0 {
			return nil
		}
	default:
		if t.nodes[e.Path] == nil {
			return nil
		}
	}
	if e.Kind == EffectCounter && t.nodes[e.Path] == nil {
		return nil
	}
	return x.apply(e)
}

// restore makes or completes a node from a snapshot.
func (x *Tx) restore(e *Effect) error {
	t := x.tree
	s := x.born(e, t.intern(e.ACL), 0)
	s.pzxid, s.creates, s.reserved = e.Pzxid, e.Creates, e.Reserved
	if n := t.nodes[e.Path]; n != nil {
		x.save(n)
		t.restate(n, s)
		return nil
	}
	if !validPath(e.Path) {
		return errMisfit
	}
	parent := t.nodes[parentPath(e.Path)]
	if parent == nil || parent.kind == Ephemeral {
		return errMisfit
	}
	n := &node{path: e.Path, parent: parent, state: s}
	x.undo = append(x.undo, undo{kind: undoAttach, n: n})
	t.attach(n)
	return nil
}
