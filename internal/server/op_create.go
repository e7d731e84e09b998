package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// create, opcode 1, all versions: answers the path.
// create2, opcode 15, since 3.5: answers the path and the Stat.
// createContainer, opcode 19, since 3.5.3: as create2, and the node is a
// container.
//
// Outside multi the opcode says whether the node is a container, and the flags
// say whether it is ephemeral or sequential; a container is never ephemeral. TTL
// flags are refused: with Unimplemented by a server without extended types, which
// is the default, else with BadArguments (EphemeralType.validateTTL).
func (d *desk) create(body []byte) error {
	if err := d.req.create.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.update((*desk).createStage, (*desk).createReply)
}

func (d *desk) createStage(x *znode.Tx) (err error) {
	m := &d.req.create
	if err := d.creatable(m.Flags); err != nil {
		return err
	}
	if err := d.alive(); err != nil {
		return err
	}
	kind := znode.Persistent
	switch {
	case d.op == zkproto.OpCreateContainer:
		kind = znode.Container
	case m.Flags.Ephemeral():
		kind = znode.Ephemeral
	}
	d.made.Path, d.made.Stat, err = d.make(x, kind, m.Path, m.Data, m.ACL, m.Flags, 0)
	return err
}

// creatable checks the flags of a create that brings no TTL.
func (d *desk) creatable(flags zkproto.CreateFlags) error {
	switch {
	case !flags.Valid():
		return zkproto.BadArguments
	case flags.TTL() && d.srv.cfg.ExtendedTypes:
		return zkproto.BadArguments
	case flags.TTL():
		return zkproto.Unimplemented
	}
	return nil
}

// make stages one create. ttl, in ms, is for kind TTL.
func (d *desk) make(x *znode.Tx, kind znode.Kind, path string, data []byte, acl []zkproto.ACL, flags zkproto.CreateFlags, ttl int64) (string, zkproto.Stat, error) {
	c := znode.Create{Path: path, Data: data, ACL: acl, Kind: kind, Sequential: flags.Sequential(), TTL: ttl}
	if kind == znode.Ephemeral {
		c.Owner = d.c.session.ID()
	}
	return x.Create(c)
}

func (d *desk) createReply(r znode.Result) {
	if d.failed(r) {
		return
	}
	d.head(r.Zxid, zkproto.OK)
	if d.op == zkproto.OpCreate {
		m := zkproto.CreateResponse{Path: d.made.Path}
		d.out = m.AppendTo(d.out)
	} else {
		d.out = d.made.AppendTo(d.out)
	}
	d.send(r.Gate)
}
