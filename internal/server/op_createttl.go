package server

import (
	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// longestTTL is the most that a TTL node may live without a change, in ms
// (EphemeralType.TTL: 40 bits).
const longestTTL = 1<<40 - 1

// createTTL, opcode 21, since 3.5.3: as create2, and the node is removed once it
// has no children and its data has not changed for the TTL. Without extended
// types, which is the default, it is refused with Unimplemented and the connection
// stays. Flags that are not those of a TTL node are bad arguments whatever the
// TTL: the real server's apply stage dies of one that is negative.
func (d *desk) createTTL(body []byte) error {
	if err := d.req.createTTL.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.update((*desk).createTTLStage, (*desk).createReply)
}

func (d *desk) createTTLStage(x *znode.Tx) (err error) {
	m := &d.req.createTTL
	if err := d.lasting(m.Flags, m.TTL); err != nil {
		return err
	}
	if err := d.alive(); err != nil {
		return err
	}
	d.made.Path, d.made.Stat, err = d.make(x, znode.TTL, m.Path, m.Data, m.ACL, m.Flags, m.TTL)
	return err
}

// lasting checks flags and TTL (in ms) of a TTL node.
func (d *desk) lasting(flags zkproto.CreateFlags, ttl int64) error {
	switch {
	case !flags.TTL():
		return zkproto.BadArguments
	case !d.srv.cfg.ExtendedTypes:
		return zkproto.Unimplemented
	case ttl < 1 || ttl > longestTTL:
		return zkproto.BadArguments
	}
	return nil
}
