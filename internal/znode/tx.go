package znode

import "zkbridge/zkproto"

// OriginKind is the door a transaction came through.
type OriginKind uint8

// The origins.
const (
	Operation  OriginKind = iota // a client's request: ACLs are checked
	Binding                      // something outside, bound to the tree
	SessionEnd                   // clean-up of a session
	Log                          // replay; not written to the Store again
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
// Hook.Stage) returns. Failed calls leave no trace but the zxid, so a multi may
// return the first error, and a single operation may ignore one.
type Tx struct{}

// Zxid is the transaction's zxid.
func (x *Tx) Zxid() int64 { panic("not written yet") }

// Time is the transaction's time in ms since 1970.
func (x *Tx) Time() int64 { panic("not written yet") }

// Origin is what Update was given.
func (x *Tx) Origin() Origin { panic("not written yet") }

// View reads the tree as it stands with what is staged so far.
func (x *Tx) View() *View { panic("not written yet") }

// Create describes a node to make.
type Create struct {
	Path       string
	Data       []byte // kept, not copied: must not be changed afterwards; nil is jute's null
	ACL        []zkproto.ACL
	Kind       Kind
	Sequential bool  // the parent's counter is appended to Path
	Owner      int64 // session, for Ephemeral
}

// Create makes a node (spec 2.4, steps 5 to 11) and returns its final path and
// its Stat. A name that exists and is owned by Config.Reserved is adopted: it
// changes hands in place, without NodeChildrenChanged, and with NodeDataChanged
// only if the data differs.
//
// Errors, in this order: BadArguments, InvalidACL, NoNode, NoAuth,
// BadArguments, NodeExists, NoChildrenForEphemerals.
func (x *Tx) Create(c Create) (path string, st zkproto.Stat, err error) { panic("not written yet") }

// Delete removes a node. version -1 matches any.
//
// Errors, in this order: BadArguments, NoNode (parent), NoAuth (on the
// parent), NoNode, BadVersion, NotEmpty.
func (x *Tx) Delete(path string, version int32) error { panic("not written yet") }

// SetData replaces the data of a node and returns the Stat after it. data is
// kept, not copied. version -1 matches any.
//
// Errors, in this order: BadArguments, NoNode, NoAuth, BadVersion.
func (x *Tx) SetData(path string, data []byte, version int32) (zkproto.Stat, error) {
	panic("not written yet")
}

// SetACL replaces the ACL of a node and returns the Stat after it. version is
// compared with the aversion; -1 matches any.
//
// Errors, in this order: BadArguments, InvalidACL, NoNode, NoAuth, BadVersion.
func (x *Tx) SetACL(path string, acl []zkproto.ACL, version int32) (zkproto.Stat, error) {
	panic("not written yet")
}

// Check is multi's check of a data version.
//
// Errors, in this order: BadArguments, NoNode, NoAuth, BadVersion.
func (x *Tx) Check(path string, version int32) error { panic("not written yet") }

// OpenSession spends the zxid of a createSession and tells the Hook.
func (x *Tx) OpenSession(id int64) { panic("not written yet") }

// CloseSession deletes the ephemerals that session id still owns, one after
// another with all their events, and says how many there were.
func (x *Tx) CloseSession(id int64) int { panic("not written yet") }

// ReduceSession deletes at most max of the ephemerals of a session that is
// closing, and says how many it still owns. It is for sessions too large for one
// transaction; the last one is CloseSession. Between the two a create of a name
// that the session still owns removes that node first.
func (x *Tx) ReduceSession(id int64, max int) int { panic("not written yet") }

// Put shows an imported node: ephemeral, owned by Config.Reserved, world:anyone
// may do all, missing parents made persistent and empty. If it is imported
// already its data changes in place (version+1, NodeDataChanged), or nothing
// happens when the data is the same. A node that somebody else owns, an
// ephemeral parent and an illegal path are left alone.
func (x *Tx) Put(path string, data []byte) { panic("not written yet") }

// Remove takes an imported node away. Anybody else's node is left alone.
func (x *Tx) Remove(path string) { panic("not written yet") }

// Swap is Remove(old) and Put(new, data) with one NodeChildrenChanged.
func (x *Tx) Swap(old, new string, data []byte) { panic("not written yet") }
