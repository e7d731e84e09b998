package znode

import "zkbridge/zkproto"

// Event is one notification, shared by all who get it.
type Event struct {
	Type zkproto.EventType
	Path string
	Zxid int64 // of the transaction; -1 from SetWatches
	Gate int64 // zxid that must be durable before the event may leave; 0: none

	frame []byte
}

// Frame is the event on the wire, length included: encoded once, shared,
// read-only.
func (e *Event) Frame() []byte { return e.frame }
