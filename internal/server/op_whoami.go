package server

import (
	"strings"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// whoAmI, opcode 107, since 3.7: the identities of this connection. Of a digest
// the part before the colon is told.
func (d *desk) whoAmI() error { return d.read(false, (*desk).whoAmIAt) }

func (d *desk) whoAmIAt(v *znode.View) {
	m := zkproto.WhoAmIResponse{Identities: []zkproto.ClientInfo{}}
	for _, id := range d.identities() {
		user := id.ID
		if id.Scheme == "digest" {
			user, _, _ = strings.Cut(user, ":")
		}
		m.Identities = append(m.Identities, zkproto.ClientInfo{Scheme: id.Scheme, User: user})
	}
	d.head(v.Zxid(), zkproto.OK)
	d.out = m.AppendTo(d.out)
	d.send(v.Gate())
}
