package znode

import (
	"bytes"
	"strings"

	"zkbridge/zkproto"
)

// OriginKind is the door a transaction came through.
type OriginKind uint8

// The origins.
const (
	Operation  OriginKind = iota // a client's request: ACLs are checked
	Binding                      // something outside, bound to the tree
	SessionEnd                   // clean-up of a session
	Log                          // replay, and the start
	Reaping                      // clean-up of containers and TTL nodes
)

// Identity is one authenticated identity of a connection, as addauth and the
// peer address make them. Scheme super passes every check.
type Identity struct{ Scheme, ID string }

// Origin says who changes the tree and why.
type Origin struct {
	Kind       OriginKind
	Session    int64
	Identities []Identity
	Why        string // for logs and explain
}

// Result is the outcome of an Update.
type Result struct {
	Zxid int64 // spent by the attempt, failed or not
	Time int64 // ms since 1970, the ctime and mtime of the transaction
	Err  error // what fn returned; a zkproto.Code for protocol outcomes
	Gate int64 // zxid that must be durable before bytes that show this outcome may leave; 0: none
}

// Tx is a transaction being staged. It is void once Update's fn (or
// Hook.Stage) returns. A call that fails leaves no trace, so a multi may return
// the first error, and a single operation may ignore one.
type Tx struct {
	tree   *Tree
	zxid   int64
	time   int64
	origin Origin
	replay bool // from a log: neither the Hook nor the Store is told
	hooked bool // the Hook is staging
	told   bool // the Hook was told
	stored bool // something in it is for the Store
	synced bool // something in it outlives sessions
	manned bool // sessions come, change or go in it
	gate   int64
	shown  int64 // gate of what errors and checks gave away
	old    int64 // gate of what the transaction has overwritten: a failure shows it again
	absent int64 // tree.deleteGate before

	view    View
	effects []Effect
	changes []Change
	undo    []undo
	steps   []step // events of operations, in order
	taken   []takeover
	bound   []owed // directories in which the Hook or a binding changed children
}

// undo puts one thing back.
type undo struct {
	kind undoKind
	n    *node
	was  state
}

type undoKind uint8

const (
	undoState undoKind = iota
	undoAttach
	undoDetach
)

// owed is one NodeChildrenChanged of a directory.
type owed struct {
	n    *node
	gate int64
}

// begin spends the next zxid.
func (t *Tree) begin(o Origin) *Tx {
	t.zxid++
	x := &t.tx
	x.tree, x.zxid, x.origin, x.absent = t, t.zxid, o, t.deleteGate
	x.time = t.now().UnixMilli()
	x.view = View{tree: t}
	if t.store != nil {
		t.store.last.Store(t.zxid)
		if t.zxid > t.askAt {
			t.askAt = t.store.extend(t.zxid)
		}
	}
	return x
}

// stage runs fn and then the Hook; if either panics, or fn returns an error,
// nothing of it stays.
func (x *Tx) stage(fn func(*Tx) error) (err error) {
	whole := false
	defer func() {
		if !whole {
			x.rollback()
		}
	}()
	if err := fn(x); err != nil {
		return err
	}
	if hook := x.tree.hook; hook != nil && !x.replay && len(x.changes) > 0 {
		x.hooked, x.told = true, true
		hook.Stage(x, x.changes)
	}
	whole = true
	return nil
}

func (x *Tx) rollback() {
	for i := len(x.undo) - 1; i >= 0; i-- {
		u := &x.undo[i]
		switch u.kind {
		case undoState:
			x.tree.restate(u.n, u.was)
		case undoAttach:
			x.tree.detach(u.n)
		case undoDetach:
			x.tree.attach(u.n)
		}
	}
	x.tree.deleteGate = x.absent
}

// commit hands the transaction to the Store and its events to the watchers.
func (x *Tx) commit() {
	t := x.tree
	if t.tap != nil {
		t.tap(Txn{Zxid: x.zxid, Time: x.time, Origin: x.origin, Effects: append([]Effect(nil), x.effects...)})
	}
	if x.manned {
		x.enroll()
	}
	if t.store != nil && !x.replay {
		if x.stored {
			t.store.append(x)
		}
		t.store.spent()
	}
	x.tellTakeovers()
	x.settleDirectories()
	if len(t.watches.spots) == 0 {
		return
	}
	floor := t.owing()
	for i := range x.steps {
		t.fire(&x.steps[i], x.zxid, floor)
	}
}

// settleDirectories adds the one NodeChildrenChanged of each directory that the
// Hook or a binding changed, unless the operation itself has caused one there.
func (x *Tx) settleDirectories() {
	if len(x.bound) == 0 {
		return
	}
	var had map[string]bool
	for i := range x.steps {
		if s := &x.steps[i]; s.typ == zkproto.EventChildrenChanged {
			if had == nil {
				had = make(map[string]bool)
			}
			had[s.path] = true
		}
	}
	for _, d := range x.bound {
		if !had[d.n.path] {
			x.steps = append(x.steps, step{typ: zkproto.EventChildrenChanged, path: d.n.path, acl: d.n.acl, gate: d.gate})
		}
	}
}

// outcomeGate is what must be durable before the outcome may be shown.
func (x *Tx) outcomeGate(err error) int64 {
	switch owing := x.tree.owing(); {
	case x.tree.store == nil:
		return 0
	case owing > 0:
		return owing
	case err == nil:
		return max(x.shown, x.gate)
	default:
		return max(x.shown, x.old)
	}
}

// end forgets the transaction but keeps its memory, unless it was huge. A zxid
// that is not reserved yet is asked for here, when all that belongs to it is
// with the Store: it becomes durable together with it.
func (x *Tx) end() {
	if owing := x.tree.owing(); owing > 0 {
		x.tree.store.mark(owing)
	}
	*x = Tx{
		effects: reuse(x.effects), changes: reuse(x.changes), undo: reuse(x.undo),
		steps: reuse(x.steps), bound: reuse(x.bound), taken: reuse(x.taken),
	}
}

func reuse[T any](s []T) []T {
	if cap(s) > 4096 {
		return nil
	}
	clear(s)
	return s[:0]
}

// Zxid is the transaction's zxid.
func (x *Tx) Zxid() int64 { return x.zxid }

// Time is the transaction's time in ms since 1970.
func (x *Tx) Time() int64 { return x.time }

// Origin is what Update was given.
func (x *Tx) Origin() Origin { return x.origin }

// View reads the tree as it stands with what is staged so far.
func (x *Tx) View() *View { return &x.view }

// Create describes a node to make.
type Create struct {
	Path       string
	Data       []byte // kept, not copied: must not be changed afterwards; nil is jute's null
	ACL        []zkproto.ACL
	Kind       Kind
	Sequential bool  // the parent's counter is appended to Path
	Owner      int64 // session, for Ephemeral
	TTL        int64 // for TTL: ms from the last change of the data, above 0
}

// Create makes a node (spec 2.4, steps 5 to 11) and returns its final path and
// its Stat. A name that exists and is owned by Config.Reserved is adopted: it
// changes hands in place, without NodeChildrenChanged, and with NodeDataChanged
// only if the data differs. So is, by an ephemeral, one whose session has lost it
// (Config.Abandoned).
//
// Errors, in this order: BadArguments (null: MarshallingError), InvalidACL,
// NoNode, NoAuth, BadArguments, NodeExists, NoChildrenForEphemerals,
// QuotaExceeded; of every write to what is not ephemeral last of all
// OperationTimeout, while the Store's disk fails.
func (x *Tx) Create(c Create) (path string, st zkproto.Stat, err error) {
	t := x.tree
	slash := strings.LastIndexByte(c.Path, '/')
	if slash < 0 || strings.IndexByte(c.Path, 0) >= 0 {
		return "", st, unsound(c.Path)
	}
	acl, err := t.settle(c.ACL, x.origin.Identities)
	if err != nil {
		return "", st, err
	}
	parent := t.lookup(c.Path[:slash])
	if parent == nil {
		return "", st, x.missing()
	}
	if !x.may(parent, zkproto.PermCreate) {
		return "", st, x.refuse(parent, zkproto.NoAuth)
	}
	path = c.Path
	if c.Sequential {
		path = sequenced(path, parent.creates)
	}
	if !validPath(path) {
		return "", st, zkproto.BadArguments
	}
	e := Effect{Kind: EffectCreate, Node: c.Kind, Path: path, Data: c.Data, ACL: acl.list}
	switch c.Kind {
	case Ephemeral:
		e.Owner = c.Owner
	case TTL:
		e.Owner = c.TTL
	}
	if old := t.nodes[path]; old != nil {
		switch {
		case t.reserves(old) && !c.Sequential:
			if len(t.quotas) > 0 {
				if err := x.within(path, 0, int64(len(c.Data)-len(old.data))); err != nil {
					return "", st, err
				}
			}
			if err := x.storable(c.Kind); err != nil {
				return "", st, err
			}
			x.inherit(&e, old, acl)
			return path, old.stat(), nil
		case x.abandoned(old, &c):
			if len(t.quotas) > 0 {
				if err := x.within(path, 0, int64(len(c.Data)-len(old.data))); err != nil {
					return "", st, err
				}
			}
			x.takeOver(&e, old, acl)
			return path, old.stat(), nil
		case x.leaving(old):
			x.remove(old, false)
		default:
			return "", st, x.refuse(old, zkproto.NodeExists)
		}
	}
	if parent.kind == Ephemeral {
		return "", st, x.refuse(parent, zkproto.NoChildrenForEphemerals)
	}
	if len(t.quotas) > 0 {
		if err := x.within(path, 1, int64(len(c.Data))); err != nil {
			return "", st, err
		}
	}
	if err := x.storable(c.Kind); err != nil {
		return "", st, err
	}
	st = x.add(&e, parent, acl, c.Sequential, false).stat()
	st.DataLength = int32(len(c.Data)) // that of new stats of a quota are others
	return path, st, nil
}

// unsound is why create and delete do not take path: of a null they do not
// find out before they use it.
func unsound(path string) zkproto.Code {
	if path == zkproto.Null {
		return zkproto.MarshallingError
	}
	return zkproto.BadArguments
}

// leaving reports whether n belongs to a session that is being cleaned up.
func (x *Tx) leaving(n *node) bool {
	if n.kind != Ephemeral {
		return false
	}
	_, ok := x.tree.ending[n.owner]
	return ok
}

// Delete removes a node. version -1 matches any.
//
// Errors, in this order: BadArguments, NoNode (parent), NoAuth (on the
// parent), NoNode, BadVersion, NotEmpty.
func (x *Tx) Delete(path string, version int32) error {
	t := x.tree
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 || strings.IndexByte(path, 0) >= 0 || systemPath(path) {
		return unsound(path)
	}
	parent := t.lookup(path[:slash])
	if parent == nil {
		return x.missing()
	}
	if !x.may(parent, zkproto.PermDelete) {
		return x.refuse(parent, zkproto.NoAuth)
	}
	n := t.lookup(path)
	if n == nil {
		return x.missing()
	}
	if version != -1 && version != n.version {
		return x.refuse(n, zkproto.BadVersion)
	}
	if len(n.children()) > 0 {
		return x.refuse(n, zkproto.NotEmpty)
	}
	if err := x.storable(n.kind); err != nil {
		return err
	}
	x.remove(n, false)
	return nil
}

// SetData replaces the data of a node and returns the Stat after it. data is
// kept, not copied. version -1 matches any.
//
// Errors, in this order: BadArguments, NoNode, NoAuth, QuotaExceeded,
// BadVersion.
func (x *Tx) SetData(path string, data []byte, version int32) (zkproto.Stat, error) {
	n, err := x.target(path, zkproto.PermWrite)
	if err != nil {
		return zkproto.Stat{}, err
	}
	if len(x.tree.quotas) > 0 {
		if err := x.within(path, 0, int64(len(data)-len(n.data))); err != nil {
			return zkproto.Stat{}, err
		}
	}
	if version != -1 && version != n.version {
		return zkproto.Stat{}, x.refuse(n, zkproto.BadVersion)
	}
	if err := x.storable(n.kind); err != nil {
		return zkproto.Stat{}, err
	}
	x.write(n, data)
	return n.stat(), nil
}

// SetACL replaces the ACL of a node and returns the Stat after it. version is
// compared with the aversion; -1 matches any.
//
// Errors, in this order: BadArguments, InvalidACL, NoNode, NoAuth, BadVersion.
func (x *Tx) SetACL(path string, acl []zkproto.ACL, version int32) (zkproto.Stat, error) {
	if !validPath(path) {
		return zkproto.Stat{}, zkproto.BadArguments
	}
	settled, err := x.tree.settle(acl, x.origin.Identities)
	if err != nil {
		return zkproto.Stat{}, err
	}
	n, err := x.target(path, zkproto.PermAdmin)
	if err != nil {
		return zkproto.Stat{}, err
	}
	if version != -1 && version != n.aversion {
		return zkproto.Stat{}, x.refuse(n, zkproto.BadVersion)
	}
	if err := x.storable(n.kind); err != nil {
		return zkproto.Stat{}, err
	}
	x.setACL(&Effect{Kind: EffectACL, Node: n.kind, Path: path, ACL: settled.list, Aversion: n.aversion + 1}, n, settled)
	return n.stat(), nil
}

// Check is multi's check of a data version.
//
// Errors, in this order: BadArguments, NoNode, NoAuth, BadVersion.
func (x *Tx) Check(path string, version int32) error {
	n, err := x.target(path, zkproto.PermRead)
	if err != nil {
		return err
	}
	x.saw(n) // that it passes shows the version
	if version != -1 && version != n.version {
		return zkproto.BadVersion
	}
	return nil
}

// storable refuses clients what has to be on disk while the disk takes nothing.
// Nothing is done then, and OperationTimeout says so in a way that clients try
// again (Curator's RetryLoop does); a real server ends itself.
func (x *Tx) storable(k Kind) error {
	if k != Ephemeral && x.origin.Kind == Operation && x.tree.failing() {
		return zkproto.OperationTimeout
	}
	return nil
}

// target finds the node of setData, setACL and check.
func (x *Tx) target(path string, want int32) (*node, error) {
	if !validPath(path) {
		return nil, zkproto.BadArguments
	}
	n := x.tree.nodes[path]
	if n == nil {
		return nil, x.missing()
	}
	if !x.may(n, want) {
		return nil, x.refuse(n, zkproto.NoAuth)
	}
	return n, nil
}

// may checks the ACL for clients; what the bridge does itself is not checked.
func (x *Tx) may(n *node, want int32) bool {
	return x.origin.Kind != Operation || x.tree.permits(n.path, n.acl, want, x.origin.Identities)
}

// saw notes that the outcome gives away how n stands.
func (x *Tx) saw(n *node) {
	if n.gate < x.zxid { // else the transaction changed it itself; see before
		x.shown = max(x.shown, n.gate)
	}
}

func (x *Tx) refuse(n *node, code zkproto.Code) error {
	x.saw(n)
	return code
}

func (x *Tx) missing() error {
	x.shown = max(x.shown, x.absent)
	return zkproto.NoNode
}

// sameData tells jute's null from no bytes.
func sameData(a, b []byte) bool {
	return bytes.Equal(a, b) && (a == nil) == (b == nil)
}
