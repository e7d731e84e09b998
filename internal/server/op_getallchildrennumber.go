package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// getAllChildrenNumber, opcode 104, since 3.6: how many nodes are below a node.
func (d *desk) getAllChildrenNumber(body []byte) error {
	if err := d.req.childrenNumber.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(false, (*desk).getAllChildrenNumberAt)
}

func (d *desk) getAllChildrenNumberAt(v *znode.View) {
	n, err := v.CountBelow(d.req.childrenNumber.Path, d.identities())
	if d.refused(v, err) {
		return
	}
	d.head(v.Zxid(), zkproto.OK)
	m := zkproto.GetAllChildrenNumberResponse{Count: n}
	d.out = m.AppendTo(d.out)
	d.send(v.Gate())
}
