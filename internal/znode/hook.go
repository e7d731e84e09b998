package znode

// Hook follows the tree under its lock: claims. It must not block and must not
// call the Tree.
type Hook interface {
	// Stage sees an operation's changes once they are legal and staged, in
	// order. It may Put, Remove and Swap imported nodes in the same transaction,
	// and read through x.View. What it stages itself is not shown to it.
	Stage(x *Tx, changes []Change)
	// Committed says that the last staged transaction stands; its events and
	// its reply are queued. It only marks things dirty.
	Committed(zxid int64)
}

// ChangeKind is what a Change did.
type ChangeKind uint8

// The kinds of changes.
const (
	Created ChangeKind = iota + 1
	Deleted
	DataSet
	ACLSet
	Adopted // a create took the place of an imported node
	SessionOpened
	SessionClosed
	Held // an ephemeral has gone from its session to Config.Reserved
)

// Change is one step of a transaction, as the Hook sees it.
type Change struct {
	Kind     ChangeKind
	Path     string // "" for sessions
	Data     []byte // afterwards; of a deleted node its last. Shared, read-only
	Owner    int64  // session of an ephemeral (Adopted: the new one; Held: the one that had it), or the session opened or closed
	Czxid    int64  // of the node
	Zxid     int64  // of the transaction
	Imported bool   // the node was made by Tx.Put; of Adopted: always false
	Why      string // of Held, and of a held node that was loaded at the start
}
