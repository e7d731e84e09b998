package server

import (
	"encoding/binary"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// getData, opcode 4, all versions. The path is not validated. A watch is set
// only if the node is there and may be read.
func (d *desk) getData(body []byte) error {
	m := &d.req.getData
	if err := m.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(m.Watch, (*desk).getDataAt)
}

func (d *desk) getDataAt(v *znode.View) {
	m := &d.req.getData
	data, stat, err := v.Data(m.Path, d.identities())
	if d.refused(v, err) {
		return
	}
	if m.Watch {
		v.Watch(d.c, m.Path, znode.WatchData)
	}
	d.head(v.Zxid(), zkproto.OK)
	length := int32(len(data))
	if data == nil {
		length = -1
	}
	d.out = binary.BigEndian.AppendUint32(d.out, uint32(length))
	d.sendShared(data, &stat, v.Gate())
}
