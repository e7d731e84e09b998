package server

import (
	"errors"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// exists, opcode 3, all versions. The path is not validated beyond a NUL. The
// watch is set also if the node is missing, but not if it may not be read (since
// 3.9.2).
func (d *desk) exists(body []byte) error {
	m := &d.req.exists
	if err := m.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(m.Watch, (*desk).existsAt)
}

func (d *desk) existsAt(v *znode.View) {
	m := &d.req.exists
	stat, err := v.Exists(m.Path, d.identities())
	if m.Watch && (err == nil || errors.Is(err, zkproto.NoNode)) {
		v.Watch(d.c, m.Path, znode.WatchExist)
	}
	if d.refused(v, err) {
		return
	}
	d.head(v.Zxid(), zkproto.OK)
	d.out = stat.AppendTo(d.out)
	d.send(v.Gate())
}
