package server

import "zkbridge/internal/znode"

// getChildren2, opcode 12, since 3.3: getChildren with the node's Stat. Nearly
// every client uses it.
func (d *desk) getChildren2(body []byte) error {
	m := &d.req.getChildren2
	if err := m.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(m.Watch, (*desk).getChildren2At)
}

func (d *desk) getChildren2At(v *znode.View) {
	m := &d.req.getChildren2
	d.list(v, m.Path, m.Watch, true)
}
