package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// addWatch, opcode 106, since 3.6: a watch that stays. The node need not exist,
// and nothing is checked but the mode. The reply has a body of four bytes,
// without which Java clients drop the connection.
func (d *desk) addWatch(body []byte) error {
	m := &d.req.addWatch
	if err := m.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(true, (*desk).addWatchAt)
}

func (d *desk) addWatchAt(v *znode.View) {
	m := &d.req.addWatch
	switch m.Mode {
	case zkproto.WatchPersistent:
		v.Watch(d.c, m.Path, znode.WatchPersistent)
	case zkproto.WatchPersistentRecursive:
		v.Watch(d.c, m.Path, znode.WatchRecursive)
	default:
		d.refused(v, zkproto.MarshallingError)
		return
	}
	d.srv.stale.watched(d.c, m.Path, m.Mode)
	d.head(v.Zxid(), zkproto.OK)
	ok := zkproto.AddWatchResponse{}
	d.out = ok.AppendTo(d.out)
	d.send(v.Gate())
}
