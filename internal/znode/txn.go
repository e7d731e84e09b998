package znode

import "zkbridge/zkproto"

// Txn is a finished transaction as a value: final names, final Stat fields.
type Txn struct {
	Zxid    int64
	Time    int64 // ms since 1970
	Origin  Origin
	Effects []Effect
}

// EffectKind is what an Effect does.
type EffectKind uint8

// The effects. Their numbers are part of the Store's format.
const (
	EffectCreate   EffectKind = 1  // Path appears, with Data, ACL, Owner and its Stat
	EffectDelete   EffectKind = 2  // Path goes
	EffectData     EffectKind = 3  // Data, Version, Mzxid, Mtime
	EffectACL      EffectKind = 4  // ACL, Aversion
	EffectAdopt    EffectKind = 5  // Path, an imported node so far, is as all fields say
	EffectCounter  EffectKind = 6  // after a restart Path's create counter starts at Reserved or above
	EffectNode     EffectKind = 7  // snapshot: Path is as all fields say, its parent is not touched
	EffectSession  EffectKind = 8  // session Owner is open: since Czxid, with a timeout of Version ms, in its epoch Reserved
	EffectEnd      EffectKind = 9  // session Owner is over
	EffectHold     EffectKind = 10 // Path belongs to the reserved session from now on, because of Why
	EffectChildren EffectKind = 11 // a child of Path that is not kept came or went: Creates, Pzxid
)

// Effect is one change of one node. Of the fields only those count that its
// kind names.
type Effect struct {
	Kind     EffectKind
	Node     Kind // of the node, in every effect; Ephemeral in those of sessions
	Path     string
	Data     []byte
	ACL      []zkproto.ACL
	Owner    int64 // session, or session of an ephemeral, ms that a TTL node lives
	Czxid    int64
	Mzxid    int64
	Pzxid    int64 // EffectCreate, EffectDelete: of the parent afterwards; else of the node
	Ctime    int64 // ms since 1970
	Mtime    int64 // ms since 1970
	Version  int32
	Aversion int32
	Creates  int32 // create counter, as Pzxid
	Reserved int32 // EffectCounter, EffectNode
	Why      string

	passing bool // of an imported node: it is not kept
}
