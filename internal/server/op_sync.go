package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// sync, opcode 9, all versions. The path is echoed and neither checked nor
// needed. Everything that was done before it is done: it is answered in its
// turn, like a standalone server does.
func (d *desk) sync(body []byte) error {
	if err := d.req.sync.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(false, (*desk).syncAt)
}

func (d *desk) syncAt(v *znode.View) {
	d.head(v.Zxid(), zkproto.OK)
	m := zkproto.SyncResponse{Path: d.req.sync.Path}
	d.out = m.AppendTo(d.out)
	d.send(v.Gate())
}
