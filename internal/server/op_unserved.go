package server

import (
	"fmt"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// unserved answers deleteContainer (20), which the real server takes from
// clients without any check. The connection stays.
func (d *desk) unserved() error { return d.read(false, (*desk).unservedAt) }

func (d *desk) unservedAt(v *znode.View) { d.refused(v, zkproto.Unimplemented) }

// unknown answers an opcode that no client may send, check (13) outside multi
// included: header zxid -1, then the connection is closed
// (ZooKeeperServer.processPacket, Request.isValid).
func (d *desk) unknown() error {
	d.c.accuse(badOp(d.op))
	d.srv.rejected(RejectedUnknownOperation)
	d.head(-1, zkproto.Unimplemented)
	d.send(0)
	return errGoodbye
}

func badOp(op zkproto.OpCode) error {
	return fmt.Errorf("operation %d cannot be asked for by a client", int32(op))
}
