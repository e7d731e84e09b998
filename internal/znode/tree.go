package znode

import (
	"time"

	"zkbridge/zkproto"
)

// Config is what a Tree is made of.
type Config struct {
	Reserved int64            // owner of imported nodes: the bridge's id in the top byte, all else zero. Needed by Put, Remove, Swap and adopt only
	Now      func() time.Time // nil: time.Now
	Store    *Store           // nil: memory only, the clock starts at 0 and nothing waits for a disk
	Hook     Hook             // nil: nobody listens
}

// Tree is the tree of znodes.
type Tree struct{}

// New makes the tree: the four system nodes and what the Store holds. After a
// restart it spends one zxid on the start itself (Origin Log): every node counts
// as changed then, so that setWatches fires everything, and the Hook is shown
// every node that was loaded as Created, parents first.
func New(cfg Config) (*Tree, error) { panic("not written yet") }

// Update is one write attempt: one transaction and one zxid, spent whether it
// succeeds or not. fn stages changes; an error from it undoes all of them and
// comes back in Result.Err. done (may be nil) runs under the same lock, after
// the transaction's events were handed to their watchers, so the reply that it
// queues leaves behind them. fn, done and the Hook must not block and must not
// call the Tree. A panic in fn undoes the transaction and goes on to the caller.
func (t *Tree) Update(o Origin, fn func(*Tx) error, done func(Result)) { panic("not written yet") }

// View runs fn under the shared lock. v is void once fn returns.
func (t *Tree) View(fn func(v *View)) { panic("not written yet") }

// Arm runs fn with the lock alone: fn may also set and remove watches. v is
// void once fn returns.
func (t *Tree) Arm(fn func(v *View)) { panic("not written yet") }

// Apply is the second door: a finished transaction, from a log or later from
// elsewhere. Its zxid must be above the clock, which it moves. All its effects
// are applied and fire their events, or none and the error says which does not
// fit. The Hook and the Store are told unless the origin is Log.
func (t *Tree) Apply(txn Txn) error { panic("not written yet") }

// Forget drops every watch of w: its socket is closed.
func (t *Tree) Forget(w Watcher) { panic("not written yet") }

// Zxid is the last processed zxid.
func (t *Tree) Zxid() int64 { panic("not written yet") }

// Durable is the highest zxid of which everything persistent is on disk.
func (t *Tree) Durable() int64 { panic("not written yet") }

// WhenDurable calls fn once, as soon as Durable has reached gate: at once on
// the caller's goroutine if it has already, else on the Store's, which fn must
// not hold up. Never under the tree's lock unless the caller holds it. After a
// failure of the Store fn is never called.
func (t *Tree) WhenDurable(gate int64, fn func()) { panic("not written yet") }

// Stats is a snapshot for mntr, srvr and metrics.
func (t *Tree) Stats() Stats { panic("not written yet") }

// Stats are numbers of a Tree.
type Stats struct {
	Zxid                  int64 // last processed
	Durable               int64
	Nodes                 int // real nodes, the four system nodes included; ZooKeeper shows one more (spec trap 36)
	Ephemerals            int // imported nodes included
	SessionsWithEphemeral int
	DataSize              int64 // bytes of paths and data: approximate_data_size
	DataWatches           int   // (connection, path) pairs in the data table
	ChildWatches          int   // the same in the child table
	DataWatchPaths        int   // paths with a watch in the data table
	DataWatchers          int   // connections with a watch in the data table
}

// Watches is mntr's watch_count: both tables.
func (s Stats) Watches() int { return s.DataWatches + s.ChildWatches }

// Kind says how a node ends.
type Kind uint8

// The kinds of nodes.
const (
	Persistent Kind = iota
	Ephemeral       // with its session
	Container       // persistent; may be removed when it has lost its last child
)

// Info is a node as bindings and the Hook see it: without ACL checks.
type Info struct {
	Path     string
	Kind     Kind
	Owner    int64 // session of an ephemeral, Config.Reserved of an imported node, else 0
	Imported bool  // Owner is Config.Reserved
	Data     []byte // shared, read-only; nil is jute's null
	Stat     zkproto.Stat
}
