package server

import "zkbridge/internal/znode"

// setACL, opcode 7, all versions. The version is the aversion. A bad list is
// refused before the node's existence is looked at. No watch fires.
func (d *desk) setACL(body []byte) error {
	if err := d.req.setACL.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.update((*desk).setACLStage, (*desk).statReply)
}

func (d *desk) setACLStage(x *znode.Tx) (err error) {
	m := &d.req.setACL
	if err := d.alive(); err != nil {
		return err
	}
	d.stat, err = x.SetACL(m.Path, m.ACL, m.Version)
	return err
}
