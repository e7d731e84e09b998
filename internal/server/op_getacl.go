package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// getACL, opcode 6, all versions. READ or ADMIN is enough; without ADMIN the
// hashes of digest ids are masked (since 3.5.5 for READ).
func (d *desk) getACL(body []byte) error {
	m := &d.req.getACL
	if err := m.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(false, (*desk).getACLAt)
}

func (d *desk) getACLAt(v *znode.View) {
	acl, stat, err := v.ACL(d.req.getACL.Path, d.identities())
	if d.refused(v, err) {
		return
	}
	d.head(v.Zxid(), zkproto.OK)
	m := zkproto.GetACLResponse{ACL: acl, Stat: stat}
	d.out = m.AppendTo(d.out)
	d.send(v.Gate())
}
