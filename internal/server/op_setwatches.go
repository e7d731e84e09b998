package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// setWatches, opcode 101, all versions: restores a client's one-shot watches
// after a reconnect; what it missed is told before the reply.
// setWatches2, opcode 105, since 3.6: the same with the watches of addWatch.
//
// Java and C send them with xid -8, go-zookeeper with an ordinary one; it is
// echoed. Old clients put everything into one frame, so the limit is higher than
// that of other requests (ZOOKEEPER-706). A client that has seen a later zxid
// than this tree's gets an event for everything.
func (d *desk) setWatches(body []byte) error {
	m := &d.req.setWatches
	*m = zkproto.SetWatches2Request{}
	if d.op == zkproto.OpSetWatches2 {
		if err := m.Decode(body); err != nil {
			return d.malformed(err)
		}
	} else {
		var plain zkproto.SetWatchesRequest
		if err := plain.Decode(body); err != nil {
			return d.malformed(err)
		}
		m.RelativeZxid, m.Data, m.Exist, m.Child = plain.RelativeZxid, plain.Data, plain.Exist, plain.Child
	}
	err := d.read(true, (*desk).setWatchesAt)
	*m = zkproto.SetWatches2Request{} // it may be large
	return err
}

func (d *desk) setWatchesAt(v *znode.View) {
	m := &d.req.setWatches
	relative := m.RelativeZxid
	if d.c.ahead || relative > v.Zxid() {
		relative = -1
	}
	d.c.asked = true
	defer func() { d.c.asked = false }()
	d.srv.stale.restored(d.c, m)
	v.SetWatches(d.c, relative, znode.WatchLists{
		Data: m.Data, Exist: m.Exist, Child: m.Child,
		Persistent: m.Persistent, Recursive: m.PersistentRecursive,
	})
	d.header(v)
}
