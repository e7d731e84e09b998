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

func newEvent(typ zkproto.EventType, path string, zxid, gate int64) *Event {
	header := zkproto.ReplyHeader{Xid: zkproto.XidNotification, Zxid: zxid}
	body := zkproto.WatcherEvent{Type: typ, State: zkproto.StateSyncConnected, Path: path}
	frame := make([]byte, 0, 4+zkproto.ReplyHeaderSize+12+len(path))
	return &Event{
		Type: typ, Path: path, Zxid: zxid, Gate: gate,
		frame: zkproto.AppendFrame(frame, func(dst []byte) []byte { return body.AppendTo(header.AppendTo(dst)) }),
	}
}

// Frame is the event on the wire, length included: encoded once, shared,
// read-only.
func (e *Event) Frame() []byte { return e.frame }

// step is one change as far as watchers care (spec 4.2).
type step struct {
	typ  zkproto.EventType
	path string
	acl  *access // of the node that a receiver must be allowed to read
	gate int64
}

// fire tells the watchers of one step. A connection hears of it once, whatever
// watches of it match; a one-shot watch is spent even if the ACL keeps the event
// back.
func (t *Tree) fire(s *step, zxid, floor int64) {
	w := &t.watches
	if len(w.spots) == 0 {
		return
	}
	w.round++
	var e *Event
	deliver := func(h *holder) {
		if h.round == w.round {
			return
		}
		h.round = w.round
		if s.acl.world&zkproto.PermRead == 0 {
			var ids []Identity
			if h.identified != nil {
				ids = h.identified.Identities()
			}
			if !t.permits(s.path, s.acl, zkproto.PermRead, ids) {
				return
			}
		}
		if e == nil {
			e = newEvent(s.typ, s.path, zxid, max(s.gate, floor))
		}
		h.watcher.Notify(e)
	}
	at := w.spots[s.path]
	if s.typ == zkproto.EventChildrenChanged {
		w.trigger(at, &w.child, deliver)
		return
	}
	w.trigger(at, &w.data, deliver)
	if w.recursive > 0 {
		for path := s.path; path != "/"; {
			path = parentPath(path)
			if up := w.spots[path]; up != nil && up.recursive > 0 {
				for _, held := range up.held {
					if held.modes[dataTable]&recursive != 0 {
						deliver(held.by)
					}
				}
			}
		}
	}
	if s.typ == zkproto.EventDeleted {
		w.trigger(at, &w.child, deliver)
	}
}
