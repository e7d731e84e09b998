package server

import "zkbridge/zkproto"

// ping, opcode 11, all versions. It keeps the session alive like any other
// request and is answered in its turn. The reply's xid is -2 whatever the
// request's was (FinalRequestProcessor).
func (d *desk) ping() error {
	d.xid = zkproto.XidPing
	return d.read(false, (*desk).header)
}
