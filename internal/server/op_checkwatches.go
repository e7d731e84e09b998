package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// checkWatches, opcode 17, since 3.5: whether this connection has such a watch
// on exactly this path. Curator sends it when it closes a cache.
func (d *desk) checkWatches(body []byte) error {
	if err := d.req.checkWatches.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(false, (*desk).checkWatchesAt)
}

func (d *desk) checkWatchesAt(v *znode.View) {
	m := &d.req.checkWatches
	switch {
	case !m.Type.Valid():
		d.refused(v, zkproto.MarshallingError)
	case !v.HasWatch(d.c, m.Path, m.Type):
		d.refused(v, zkproto.NoWatcher)
	default:
		d.header(v)
	}
}
