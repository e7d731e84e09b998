package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// createTTL, opcode 21, since 3.5.3. TTL nodes are refused with Unimplemented
// and the connection stays, as by a server without extended types, which is the
// default. Flags that are not those of a TTL node are bad arguments: the real
// server's apply stage dies of them.
func (d *desk) createTTL(body []byte) error {
	if err := d.req.createTTL.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.update((*desk).createTTLStage, (*desk).createReply)
}

func (d *desk) createTTLStage(*znode.Tx) error {
	if err := creatable(d.req.createTTL.Flags); err != nil {
		return err
	}
	return zkproto.BadArguments
}
