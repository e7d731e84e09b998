package znode

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"zkbridge/zkproto"
)

// Config is what a Tree is made of.
type Config struct {
	Reserved int64            // owner of imported nodes: the bridge's id in the top byte, all else zero. Needed by Put, Remove, Swap and adopt only
	Now      func() time.Time // nil: time.Now
	Store    *Store           // nil: memory only, the clock starts at 0 and nothing waits for a disk
	Hook     Hook             // nil: nobody listens

	// IgnoreACL names the paths at which ACLs are kept but refuse nobody. It is
	// asked under the lock, and only where one would refuse. Nil: none.
	IgnoreACL func(path string) bool

	// Abandoned reports whether owner, a session, has lost path to whoever creates an
	// ephemeral of that name: the node then changes hands, as an imported one does,
	// instead of NodeExists. So told, owner must never be resumed: it would not know
	// that a node of its own belongs to somebody else. It is asked under the lock and
	// must not block. Nil: nobody ever has, as in ZooKeeper.
	Abandoned func(path string, owner int64) bool
	// TakenOver is told of each node that changed hands for it, under the lock; it
	// must not block. Nil: nobody is told.
	TakenOver func(path string, from, to int64)

	// X509 says that clients may show certificates: x509 is then a scheme of ACLs.
	X509 bool

	// EnforceQuota refuses clients what the hard limits of a quota do not allow.
	// Usage is counted in any case.
	EnforceQuota bool
	// OverQuota is told of each change by a client that exceeds a limit of the
	// quota on path, where quotas are enforced: it is refused if the limit is hard.
	// It is called under the lock and must not block. Nil: nobody is told.
	OverQuota func(path string, hard bool)
}

// Tree is the tree of znodes.
type Tree struct {
	// set at construction
	reserved int64
	now      func() time.Time
	store    *Store
	hook     Hook
	lenient  func(path string) bool // Config.IgnoreACL
	enforce  bool                   // quotas
	x509     bool                   // Config.X509
	over     func(path string, hard bool)
	forsaken func(path string, owner int64) bool // Config.Abandoned
	taken    func(path string, from, to int64)   // Config.TakenOver
	open     *access                             // world:anyone:cdrwa
	readOnly *access                             // world:anyone:r
	root     *node

	mu sync.RWMutex

	// guarded by mu
	zxid       int64 // last processed
	nodes      map[string]*node
	owners     map[int64][]*node  // ephemerals by owner
	ending     map[int64]struct{} // sessions that ReduceSession has begun to clean up
	passing    []*node            // containers and TTL nodes: what a Reaper looks at
	sessions   map[int64]tenancy  // the open ones
	reasons    reasons            // of held nodes
	deleteGate int64              // newest delete of a persistent node: what an absence shows
	quotas     map[string]*quota  // by the path that they are about
	dataSize   int64
	ephemerals int
	takeovers  uint64
	watches    watchTable
	tx         Tx    // the transaction being staged, its memory reused
	askAt      int64 // zxid at which the Store is asked to reserve more
	tap        func(Txn)
}

// New makes the tree: the four system nodes and what the Store holds. After a
// restart it spends one zxid on the start itself (Origin Log): every node counts
// as changed then, so that setWatches fires everything, and the Hook is shown
// every node that was loaded as Created, parents first.
func New(cfg Config) (*Tree, error) {
	t := bare()
	if cfg.Store != nil {
		loaded, err := cfg.Store.take()
		if err != nil {
			return nil, err
		}
		t = loaded
	}
	t.reserved = cfg.Reserved
	t.hook = cfg.Hook
	t.lenient, t.x509, t.enforce, t.over = cfg.IgnoreACL, cfg.X509, cfg.EnforceQuota, cfg.OverQuota
	t.forsaken, t.taken = cfg.Abandoned, cfg.TakenOver
	t.store = cfg.Store
	t.now = cfg.Now
	if t.now == nil {
		t.now = time.Now
	}
	if t.store != nil {
		t.claimHeld()
		t.store.tree = t
		t.zxid = t.store.start
		t.store.last.Store(t.zxid)
		t.askAt = t.store.limit.Load() - t.store.reserve/2
		if t.zxid > 0 {
			t.restarted()
		}
	}
	return t, nil
}

// bare is a tree in memory with the nodes that always exist. They were made by
// no transaction; their Stat is that of a fresh standalone server (spec 10).
func bare() *Tree {
	t := &Tree{
		now:      time.Now,
		open:     newAccess(zkproto.WorldAnyone()),
		readOnly: newAccess([]zkproto.ACL{{Perms: zkproto.PermRead, Scheme: "world", ID: "anyone"}}),
		nodes:    make(map[string]*node),
		owners:   make(map[int64][]*node),
		ending:   make(map[int64]struct{}),
		sessions: make(map[int64]tenancy),
		watches:  newWatchTable(),
	}
	t.root = &node{path: "/", state: state{data: []byte{}, acl: t.open}}
	t.nodes["/"] = t.root
	t.dataSize = 1
	zookeeper := &node{path: "/zookeeper", parent: t.root, state: state{data: []byte{}, acl: t.open}}
	t.attach(zookeeper)
	t.attach(&node{path: "/zookeeper/config", parent: zookeeper, state: state{data: []byte{}, acl: t.readOnly, aversion: -1}})
	t.attach(&node{path: "/zookeeper/quota", parent: zookeeper, state: state{data: []byte{}, acl: t.open}})
	return t
}

// restarted is the transaction of the start: what clients saw before it is
// not known, so every node counts as changed.
func (t *Tree) restarted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.begin(Origin{Kind: Log, Why: "start"})
	defer x.end()
	t.recount()
	paths := make([]string, 0, len(t.nodes))
	t.deleteGate = 0
	for path, n := range t.nodes {
		n.applied, n.childrenApplied = x.zxid, x.zxid
		n.gate, n.counterGate = 0, 0 // it was read from the disk
		if !systemPath(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths) // a parent sorts before its children
	for id, s := range t.sessions {
		x.changes = append(x.changes, Change{Kind: SessionOpened, Owner: id, Zxid: s.zxid})
	}
	for _, path := range paths {
		n := t.nodes[path]
		x.changes = append(x.changes, Change{
			Kind: Created, Path: path, Data: n.data, Owner: n.session(), Czxid: n.czxid, Zxid: x.zxid, Why: t.reasons.text(n.held),
		})
	}
	if err := x.stage(func(*Tx) error { return nil }); err != nil {
		panic(err) // nothing in it can fail
	}
	x.commit()
	if t.hook != nil && len(x.changes) > 0 {
		t.hook.Committed(x.zxid)
	}
}

// claimHeld gives the held nodes that were loaded to the reserved session.
func (t *Tree) claimHeld() {
	for _, n := range t.nodes {
		if n.held != 0 {
			s := n.state
			s.owner = t.reserved
			t.restate(n, s)
		}
	}
}

// Update is one write attempt: one transaction and one zxid, spent whether it
// succeeds or not. fn stages changes; an error from it undoes all of them and
// comes back in Result.Err. done (may be nil) runs under the same lock, after
// the transaction's events were handed to their watchers, so the reply that it
// queues leaves behind them. fn, done and the Hook must not block and must not
// call the Tree. A panic in fn undoes the transaction and goes on to the caller.
func (t *Tree) Update(o Origin, fn func(*Tx) error, done func(Result)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.begin(o)
	defer x.end()
	err := x.stage(fn)
	if err == nil {
		x.commit()
	} else if t.store != nil {
		t.store.spent()
	}
	if done != nil {
		done(Result{Zxid: x.zxid, Time: x.time, Err: err, Gate: x.outcomeGate(err)})
	}
	if t.hook != nil && err == nil && x.told {
		t.hook.Committed(x.zxid)
	}
}

// Apply is the second door: a finished transaction, from a log or later from
// elsewhere. Its zxid must be above the clock, which it moves (of a log: not
// below). All its effects are applied and fire their events, or none and the
// error says which does not fit. The Hook and the Store are told unless the
// origin is Log.
func (t *Tree) Apply(txn Txn) error { return t.do(txn, (*Tx).apply) }

// repeat is Apply for the Store's own log, which may hold what its snapshot shows
// already.
func (t *Tree) repeat(txn Txn) error {
	txn.Zxid = max(txn.Zxid, t.zxid)
	return t.do(txn, (*Tx).repeat)
}

func (t *Tree) do(txn Txn, apply func(*Tx, *Effect) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if txn.Zxid < t.zxid || txn.Zxid == t.zxid && txn.Origin.Kind != Log {
		return fmt.Errorf("apply transaction 0x%x: the clock stands at 0x%x", txn.Zxid, t.zxid)
	}
	t.zxid = txn.Zxid - 1
	x := t.begin(txn.Origin)
	defer x.end()
	x.time = txn.Time
	x.replay = txn.Origin.Kind == Log
	err := x.stage(func(x *Tx) error {
		for i := range txn.Effects {
			if err := apply(x, &txn.Effects[i]); err != nil {
				return fmt.Errorf("apply transaction 0x%x, effect %d on %s: %w", txn.Zxid, i, txn.Effects[i].Path, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.commit()
	if t.hook != nil && x.told {
		t.hook.Committed(x.zxid)
	}
	return nil
}

// View runs fn under the shared lock. v is void once fn returns.
func (t *Tree) View(fn func(v *View)) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	fn(&View{tree: t})
}

// Arm runs fn with the lock alone: fn may also set and remove watches. v is
// void once fn returns.
func (t *Tree) Arm(fn func(v *View)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn(&View{tree: t, armed: true})
}

// Forget drops every watch of w: its socket is closed, and it will set none any
// more. A connection without
// watches costs one look under the shared lock; many watches are dropped a
// thousand at a time, so that nobody waits for them.
func (t *Tree) Forget(w Watcher) {
	t.mu.RLock()
	_, known := t.watches.holders[w]
	t.mu.RUnlock()
	for known {
		t.mu.Lock()
		known = t.watches.drop(w, 1000)
		t.mu.Unlock()
	}
}

// Zxid is the last processed zxid.
func (t *Tree) Zxid() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.zxid
}

// Durable is the highest zxid of which everything persistent is on disk.
func (t *Tree) Durable() int64 {
	if t.store == nil {
		return math.MaxInt64
	}
	return t.store.durable.Load()
}

// EnsureWritten returns when everything that was done before it was called has
// been handed to the operating system, so that it outlives the process: it comes
// before bytes that show any of it leave. With nothing to write it costs two
// loads. While the disk fails it does nothing.
func (t *Tree) EnsureWritten() {
	if t.store != nil {
		t.store.ensureWritten()
	}
}

// Trouble is why the Store's disk takes nothing at the moment; nil: it does, or
// there is none.
func (t *Tree) Trouble() error {
	if t.store == nil {
		return nil
	}
	return t.store.Trouble()
}

// Behind reports whether somebody may be waiting for the disk.
func (t *Tree) Behind() bool { return t.store != nil && t.store.behind() }

// failing reports whether what has to be on disk cannot get there.
func (t *Tree) failing() bool { return t.store != nil && t.store.failing.Load() }

// WhenDurable calls fn once, as soon as Durable has reached gate: at once on
// the caller's goroutine if it has already, else on the Store's, which fn must
// not hold up. Never under the tree's lock unless the caller holds it. While the
// disk fails fn waits.
func (t *Tree) WhenDurable(gate int64, fn func()) {
	if t.store == nil {
		fn()
		return
	}
	t.store.whenDurable(gate, fn)
}

// owing is the gate that everything has while the clock runs ahead of what is
// reserved on disk: nothing may leave then that shows a zxid which a restart
// could give out again. 0: the usual case.
func (t *Tree) owing() int64 {
	if t.store != nil && t.zxid > t.store.limit.Load() {
		return t.zxid
	}
	return 0
}

// Stats is a snapshot for mntr, srvr and metrics.
func (t *Tree) Stats() Stats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return Stats{
		Zxid: t.zxid, Durable: t.Durable(), Nodes: len(t.nodes), Ephemerals: t.ephemerals,
		TakenOver: t.takeovers, SessionsWithEphemeral: len(t.owners), DataSize: t.dataSize,
		DataWatches: t.watches.data.watches, DataWatchPaths: t.watches.data.spots, DataWatchers: t.watches.data.holders,
		ChildWatches: t.watches.child.watches,
	}
}

// Stats are numbers of a Tree.
type Stats struct {
	Zxid                  int64 // last processed
	Durable               int64
	Nodes                 int    // real nodes, the four system nodes included; ZooKeeper shows one more (the root's alias)
	Ephemerals            int    // imported nodes included
	TakenOver             uint64 // nodes of sessions that lost them to a create: Config.Abandoned
	SessionsWithEphemeral int    // the bridge itself included while it has imported nodes
	DataSize              int64  // bytes of paths and data: approximate_data_size
	DataWatches           int    // (connection, path) pairs in the data table
	ChildWatches          int    // the same in the child table
	DataWatchPaths        int    // paths with a watch in the data table
	DataWatchers          int    // connections with a watch in the data table
}

// Watches is mntr's watch_count: both tables.
func (s Stats) Watches() int { return s.DataWatches + s.ChildWatches }

// Kind says how a node ends.
type Kind uint8

// The kinds of nodes. Their numbers are part of the Store's format.
const (
	Persistent Kind = iota
	Ephemeral       // with its session
	Container       // persistent; removed when it has lost its last child
	TTL             // persistent; removed when it has no child and has not changed for a time
)

// String is the kind in a word.
func (k Kind) String() string {
	switch k {
	case Ephemeral:
		return "ephemeral"
	case Container:
		return "container"
	case TTL:
		return "ttl"
	}
	return "persistent"
}

// Info is a node as bindings and the Hook see it: without ACL checks.
type Info struct {
	Path     string
	Kind     Kind
	Owner    int64  // session of an ephemeral, Config.Reserved of an imported or held node, else 0
	Imported bool   // made by Tx.Put
	Held     string // why the node outlives its session; "" if it does not
	Data     []byte // shared, read-only; nil is jute's null
	Stat     zkproto.Stat
}
