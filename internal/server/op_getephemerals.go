package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// getEphemerals, opcode 103, since 3.5.6: the paths that the calling session
// owns and that start with a prefix, with no regard to slashes.
func (d *desk) getEphemerals(body []byte) error {
	if err := d.req.getEphemerals.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(false, (*desk).getEphemeralsAt)
}

func (d *desk) getEphemeralsAt(v *znode.View) {
	paths := v.Ephemerals(d.c.session.ID(), d.req.getEphemerals.Prefix)
	if paths == nil {
		paths = []string{}
	}
	d.head(v.Zxid(), zkproto.OK)
	m := zkproto.GetEphemeralsResponse{Paths: paths}
	d.out = m.AppendTo(d.out)
	d.send(v.Gate())
}
