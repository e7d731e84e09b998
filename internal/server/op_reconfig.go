package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// reconfig, opcode 16, since 3.5. It is off by default in ZooKeeper, and there is
// no ensemble here to change: the attempt spends a zxid and is answered
// ReconfigDisabled, and the connection stays.
func (d *desk) reconfig(body []byte) error {
	var m zkproto.ReconfigRequest
	if err := m.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.update((*desk).reconfigStage, (*desk).headerReply)
}

func (d *desk) reconfigStage(*znode.Tx) error { return zkproto.ReconfigDisabled }
