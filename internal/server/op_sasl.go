package server

import "zkbridge/zkproto"

// sasl, opcode 102, since 3.4. A server without SASL answers a null token, and
// every client goes on without. The header's zxid is 0, and it does not count as
// a sign of life of the session.
func (d *desk) sasl(body []byte) error {
	var m zkproto.SASLRequest
	if err := m.Decode(body); err != nil {
		return err // closes the connection, as ZooKeeper does
	}
	d.head(0, zkproto.OK)
	none := zkproto.SASLResponse{}
	d.out = none.AppendTo(d.out)
	d.send(0)
	return nil
}
