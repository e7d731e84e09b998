package server

import (
	"errors"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// multi, opcode 14, since 3.4: several writes and checks, all or none, with one
// zxid. If one fails the header still says OK, and the body lists an error for
// each: OK in front of the one that failed, its code, RuntimeInconsistency behind
// it. A body that cannot be decoded spends a zxid, unlike that of other writes,
// unless it is a null ACL that it fails on (PrepRequestProcessor). A null in an ACL
// that an operation stumbles over is taken for such a body, too.
//
// Inside multi the flags may make a container of a plain create, and every
// create but opcode 1 is answered as create2. Of a createTTL the flags alone say
// what it makes; without TTL flags it is a plain create, also in its answer
// (MultiOperationRecord, Op.create).
func (d *desk) multiWrite(body []byte) error {
	if err := d.req.multi.Decode(body); errors.Is(err, zkproto.ErrNullACL) {
		return d.malformed(err)
	} else if err != nil {
		d.srv.count.malformed.Add(1)
		d.c.accuse(err)
		return d.update((*desk).multiMalformed, (*desk).headerReply)
	}
	return d.update((*desk).multiStage, (*desk).multiReply)
}

func (d *desk) multiMalformed(*znode.Tx) error { return zkproto.MarshallingError }

func (d *desk) multiStage(x *znode.Tx) error {
	results := d.results.Results[:0]
	for i := range d.req.multi.Ops {
		r, err := d.part(x, &d.req.multi.Ops[i])
		if errors.Is(err, zkproto.MarshallingError) {
			return err
		}
		if err != nil {
			return d.multiFail(i, err)
		}
		results = append(results, r)
	}
	d.results.Results = results
	return nil
}

// part stages one operation of a multi.
func (d *desk) part(x *znode.Tx, o *zkproto.MultiOp) (r zkproto.MultiResult, err error) {
	if err := d.alive(); err != nil {
		return r, err
	}
	r.Op = o.Op
	if o.Op == zkproto.OpCreateTTL && !o.Flags.TTL() {
		if !o.Flags.Valid() {
			return r, zkproto.BadArguments
		}
		r.Op = zkproto.OpCreate
	}
	switch r.Op {
	case zkproto.OpCreate, zkproto.OpCreate2, zkproto.OpCreateContainer:
		kind := znode.Persistent
		switch {
		case r.Op == zkproto.OpCreateContainer, o.Flags.Container():
			kind = znode.Container
		case o.Flags.Ephemeral():
			kind = znode.Ephemeral
		}
		if r.Op != zkproto.OpCreate || kind == znode.Container {
			r.Op = zkproto.OpCreate2
		}
		r.Path, r.Stat, err = d.make(x, kind, o.Path, o.Data, o.ACL, o.Flags, 0)
	case zkproto.OpCreateTTL:
		r.Op = zkproto.OpCreate2
		if err = d.lasting(o.Flags, o.TTL); err == nil {
			r.Path, r.Stat, err = d.make(x, znode.TTL, o.Path, o.Data, o.ACL, o.Flags, o.TTL)
		}
	case zkproto.OpDelete:
		err = x.Delete(o.Path, o.Version)
	case zkproto.OpSetData:
		r.Stat, err = x.SetData(o.Path, o.Data, o.Version)
	case zkproto.OpCheck:
		err = x.Check(o.Path, o.Version)
	default: // Decode lets no other pass
		err = zkproto.Unimplemented
	}
	return r, err
}

// multiFail lists the errors of a multi whose part i failed.
func (d *desk) multiFail(i int, err error) error {
	var code zkproto.Code
	if !errors.As(err, &code) {
		return err
	}
	results := d.results.Results[:0]
	for k := range d.req.multi.Ops {
		r := zkproto.MultiResult{Op: zkproto.OpError}
		switch {
		case k == i:
			r.Err = code
		case k > i:
			r.Err = zkproto.RuntimeInconsistency
		}
		results = append(results, r)
	}
	d.results.Results = results
	return code
}

func (d *desk) multiReply(r znode.Result) {
	if errors.Is(r.Err, zkproto.MarshallingError) {
		d.headerReply(r)
		return
	}
	if r.Err != nil {
		if _, ok := d.outcome(r.Err); !ok {
			return
		}
	}
	d.head(r.Zxid, zkproto.OK)
	d.out = d.results.AppendTo(d.out)
	clear(d.results.Results)
	d.send(r.Gate)
}
