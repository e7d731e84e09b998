package server

import "zkbridge/internal/znode"

// delete, opcode 2, all versions. The version is that of the data; -1 matches
// any.
func (d *desk) delete(body []byte) error {
	if err := d.req.delete.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.update((*desk).deleteStage, (*desk).headerReply)
}

func (d *desk) deleteStage(x *znode.Tx) error {
	m := &d.req.delete
	if err := d.alive(); err != nil {
		return err
	}
	return x.Delete(m.Path, m.Version)
}
