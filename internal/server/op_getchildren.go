package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// getChildren, opcode 8, all versions. The names are in no order; an empty list
// is a list, never null. A watch is set only if the node is there and may be
// read.
func (d *desk) getChildren(body []byte) error {
	m := &d.req.getChildren
	if err := m.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(m.Watch, (*desk).getChildrenAt)
}

func (d *desk) getChildrenAt(v *znode.View) {
	m := &d.req.getChildren
	d.list(v, m.Path, m.Watch, false)
}

// list answers getChildren and getChildren2. The list is encoded once for all
// who read it before it changes.
func (d *desk) list(v *znode.View, path string, watch, withStat bool) {
	names, stat, err := v.ChildrenBody(path, d.identities())
	if watch {
		d.srv.stale.listed(d.c, path, err)
	}
	if d.refused(v, err) {
		return
	}
	if watch {
		v.Watch(d.c, path, znode.WatchChild)
	}
	d.head(v.Zxid(), zkproto.OK)
	if withStat {
		d.sendShared(names, &stat, v.Gate())
	} else {
		d.sendShared(names, nil, v.Gate())
	}
}
