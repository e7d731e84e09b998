package server

import (
	"errors"
	"fmt"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// multiRead, opcode 22, since 3.6: several getData and getChildren, each with an
// answer of its own. The header says OK, the watch flags are ignored, and all of
// them see the tree at one zxid. At a write or a null path it ends:
// MarshallingError in the header, and behind it the results so far, which are none
// if there is a write (FinalRequestProcessor).
func (d *desk) multiRead(body []byte) error {
	if err := d.req.multiRead.Decode(body); err != nil {
		return d.malformed(err)
	}
	return d.read(false, (*desk).multiReadAt)
}

func (d *desk) multiReadAt(v *znode.View) {
	m := &d.req.multiRead
	results := d.results.Results[:0]
	code := zkproto.OK
	if m.Writes() {
		code = zkproto.MarshallingError
	} else {
		room := d.srv.cfg.MaxPendingBytes // one small request may ask for a large node many times over
		for i := range m.Ops {
			if m.Ops[i].Path == zkproto.Null {
				code = zkproto.MarshallingError
				break
			}
			r := d.readPart(v, &m.Ops[i])
			if room -= resultSize(&r); room < 0 {
				d.fatal = fmt.Errorf("multiRead of %d parts: the reply would be longer than %d bytes", len(m.Ops), d.srv.cfg.MaxPendingBytes)
				return
			}
			results = append(results, r)
		}
	}
	d.head(v.Zxid(), code)
	d.results.Results = results
	d.out = d.results.AppendTo(d.out)
	clear(results)
	d.send(v.Gate())
}

// readPart answers one read of a multiRead.
func (d *desk) readPart(v *znode.View, o *zkproto.MultiOp) zkproto.MultiResult {
	r := zkproto.MultiResult{Op: o.Op}
	var err error
	if o.Op == zkproto.OpGetData {
		r.Data, r.Stat, err = v.Data(o.Path, d.identities())
	} else {
		r.Children, _, err = v.Children(o.Path, d.identities())
	}
	var code zkproto.Code
	if errors.As(err, &code) {
		return zkproto.MultiResult{Op: zkproto.OpError, Err: code}
	}
	return r
}

// resultSize is about what a result takes on the wire.
func resultSize(r *zkproto.MultiResult) int {
	size := 16 + zkproto.StatSize + len(r.Data)
	for _, name := range r.Children {
		size += 4 + len(name)
	}
	return size
}
