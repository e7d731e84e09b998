package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// removeWatches, opcode 18, since 3.5: drops this connection's watches of a type
// on exactly this path. No event tells of it.
func (d *desk) removeWatches(body []byte) error {
	if err := d.req.removeWatches.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(true, (*desk).removeWatchesAt)
}

func (d *desk) removeWatchesAt(v *znode.View) {
	m := &d.req.removeWatches
	switch {
	case !m.Type.Valid():
		d.refused(v, zkproto.MarshallingError)
	case !v.RemoveWatches(d.c, m.Path, m.Type):
		d.refused(v, zkproto.NoWatcher)
	default:
		d.srv.stale.unwatched(d.c, m.Path, m.Type)
		d.header(v)
	}
}
