package server

import "zkbridge/internal/znode"

// setData, opcode 5, all versions. Version -1 matches any.
func (d *desk) setData(body []byte) error {
	if err := d.req.setData.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.update((*desk).setDataStage, (*desk).statReply)
}

func (d *desk) setDataStage(x *znode.Tx) (err error) {
	m := &d.req.setData
	if err := d.alive(); err != nil {
		return err
	}
	d.stat, err = x.SetData(m.Path, m.Data, m.Version)
	return err
}
