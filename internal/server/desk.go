package server

import (
	"encoding/binary"
	"errors"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// sampleEvery is how many requests of a connection go by for one whose time is
// taken. The first is always taken.
const sampleEvery = 16

// desk is the workplace of a connection that is handling requests. A connection
// that waits for its client has none. A desk serves one request at a time.
type desk struct {
	// Set at construction. The functions are bound once, so that a request
	// allocates none.
	srv     *Server
	onView  func(*znode.View)
	onTx    func(*znode.Tx) error
	onAfter func(znode.Result)
	w       writer

	// Of the connection.
	c *conn

	// Of the request.
	xid      int32
	op       zkproto.OpCode
	zxid     int64        // of the reply
	code     zkproto.Code // of the reply
	answered bool         // a reply is queued
	fatal    error        // closes the connection instead of a reply
	looking  func(*desk, *znode.View)
	staging  func(*desk, *znode.Tx) error
	replying func(*desk, znode.Result)
	out      []byte // the reply being made
	req      requests
	made     zkproto.Create2Response // result of a create
	stat     zkproto.Stat            // result of a setData or setACL
	results  zkproto.MultiResponse   // of the parts of a multi

	// Of the last request that a four-letter word tells of.
	noted     zkproto.OpCode // 0: none
	notedXid  int32
	notedZxid int64
}

// requests holds the request being handled, decoded: one of these at a time.
type requests struct {
	create         zkproto.CreateRequest
	createTTL      zkproto.CreateTTLRequest
	delete         zkproto.DeleteRequest
	exists         zkproto.ExistsRequest
	getData        zkproto.GetDataRequest
	setData        zkproto.SetDataRequest
	getACL         zkproto.GetACLRequest
	setACL         zkproto.SetACLRequest
	getChildren    zkproto.GetChildrenRequest
	getChildren2   zkproto.GetChildren2Request
	sync           zkproto.SyncRequest
	multi          zkproto.MultiRequest
	multiRead      zkproto.MultiReadRequest
	auth           zkproto.AuthRequest
	setWatches     zkproto.SetWatches2Request
	addWatch       zkproto.AddWatchRequest
	checkWatches   zkproto.CheckWatchesRequest
	removeWatches  zkproto.RemoveWatchesRequest
	getEphemerals  zkproto.GetEphemeralsRequest
	childrenNumber zkproto.GetAllChildrenNumberRequest
}

// takeDesk gives c a desk.
func (s *Server) takeDesk(c *conn) *desk {
	d, ok := s.desks.Get().(*desk)
	if !ok {
		d = &desk{srv: s, out: make([]byte, 0, smallChunk)}
		d.onView = func(v *znode.View) { d.looking(d, v) }
		d.onTx = func(x *znode.Tx) error { return d.staging(d, x) }
		d.onAfter = func(r znode.Result) { d.replying(d, r) }
	}
	d.c, d.noted, d.notedXid = c, 0, -1
	return d
}

// putDesk takes a desk back.
func (s *Server) putDesk(d *desk) {
	d.c, d.req, d.made = nil, requests{}, zkproto.Create2Response{}
	if cap(d.out) > mediumChunk {
		d.out = make([]byte, 0, smallChunk)
	}
	s.desks.Put(d)
}

// handle carries out one request and queues its reply.
func (d *desk) handle(h zkproto.RequestHeader, body []byte) error {
	d.xid, d.op, d.answered, d.fatal = h.Xid, h.Op, false, nil
	var began time.Time
	sampled := d.c.requests%sampleEvery == 0
	d.c.requests++
	if sampled {
		began = time.Now()
	}
	err := d.dispatch(body)
	if d.answered {
		d.srv.count.answered(d.op, d.code)
		if sampled {
			took := time.Since(began)
			d.srv.count.took(d.op, took)
			d.c.record.took(took)
		}
		if d.op != zkproto.OpAuth && d.op != zkproto.OpSASL {
			d.noted, d.notedZxid = d.op, d.zxid
			if d.xid >= 0 {
				d.notedXid = d.xid
			}
		}
	}
	return err
}

// record notes the last of the requests that were handled together.
func (d *desk) record() {
	if d.noted != 0 {
		d.c.record.answered(operationNames[d.noted], d.notedXid, d.notedZxid)
		d.noted, d.notedXid = 0, -1
	}
}

// read runs fn under the tree's lock. With watch it holds the lock alone, so
// that fn may set watches. fn queues the reply, so that no event of a later
// change gets in front of it.
func (d *desk) read(watch bool, fn func(*desk, *znode.View)) error {
	d.looking = fn
	if watch {
		d.srv.cfg.Tree.Arm(d.onView)
	} else {
		d.srv.cfg.Tree.View(d.onView)
	}
	return d.fatal
}

// update runs a write as one transaction. stage makes its changes, and reply
// queues the reply, behind the events that they caused.
func (d *desk) update(stage func(*desk, *znode.Tx) error, reply func(*desk, znode.Result)) error {
	d.staging, d.replying = stage, reply
	d.srv.cfg.Tree.Update(znode.Origin{
		Kind:       znode.Operation,
		Session:    d.c.session.ID(),
		Identities: d.identities(),
		Why:        d.op.String(),
	}, d.onTx, d.onAfter)
	return d.fatal
}

// identities are those of the connection when the request came.
func (d *desk) identities() []znode.Identity { return d.c.Identities() }

// alive refuses a write of a session that is closing. It is asked under the
// tree's lock, so that nothing is made behind the transaction that ends the
// session.
func (d *desk) alive() error {
	if d.c.session.Closing() {
		return zkproto.SessionExpired
	}
	return nil
}

// head begins a reply.
func (d *desk) head(zxid int64, code zkproto.Code) {
	d.zxid, d.code = zxid, code
	h := zkproto.ReplyHeader{Xid: d.xid, Zxid: zxid, Err: code}
	d.out = h.AppendTo(append(d.out[:0], 0, 0, 0, 0))
}

// send queues the reply that head began. It may leave when the log is durable up
// to gate.
func (d *desk) send(gate int64) {
	binary.BigEndian.PutUint32(d.out, uint32(len(d.out)-4))
	d.sent(d.c.out.reply(d.out, gate))
}

// sendShared queues the reply that head began, with shared behind it, and behind
// that the Stat if there is one. A long shared is not copied.
func (d *desk) sendShared(shared []byte, stat *zkproto.Stat, gate int64) {
	long := len(shared) >= shareFrom
	if !long {
		d.out = append(d.out, shared...)
	}
	at := len(d.out)
	if stat != nil {
		d.out = stat.AppendTo(d.out)
	}
	if !long {
		d.send(gate)
		return
	}
	binary.BigEndian.PutUint32(d.out, uint32(len(d.out)-4+len(shared)))
	d.sent(d.c.out.replyShared(d.out[:at], shared, d.out[at:], gate))
}

func (d *desk) sent(gated bool) {
	d.answered = true
	if gated {
		d.srv.count.gated.Add(1)
	}
}

// refused queues the reply to a read that failed. Without an error it does
// nothing and returns false.
func (d *desk) refused(v *znode.View, err error) bool {
	if err == nil {
		return false
	}
	if code, ok := d.outcome(err); ok {
		d.head(v.Zxid(), code)
		d.send(v.Gate())
	}
	return true
}

// failed queues the reply to a write that failed: its code, and the zxid that
// the attempt spent. Of a write that succeeded it returns false.
func (d *desk) failed(r znode.Result) bool {
	if r.Err == nil {
		return false
	}
	if code, ok := d.outcome(r.Err); ok {
		d.head(r.Zxid, code)
		d.send(r.Gate)
	}
	return true
}

// outcome is the code of err on the wire. Errors without a code close the
// connection: the truth is not known.
func (d *desk) outcome(err error) (zkproto.Code, bool) {
	if code, ok := err.(zkproto.Code); ok { //nolint:errorlint // nearly all are bare, and errors.As allocates
		return code, true
	}
	var code zkproto.Code
	if errors.As(err, &code) {
		return code, true
	}
	d.fatal = err
	return 0, false
}

// malformed answers a request whose body cannot be decoded. A write does not
// spend a zxid on that (3.9; multi does).
func (d *desk) malformed(err error) error {
	d.srv.count.malformed.Add(1)
	d.c.accuse(err)
	return d.read(false, func(d *desk, v *znode.View) { d.refused(v, zkproto.MarshallingError) })
}

// header answers with a header alone, as of now.
func (d *desk) header(v *znode.View) {
	d.head(v.Zxid(), zkproto.OK)
	d.send(v.Gate())
}

// headerReply answers a write with a header alone.
func (d *desk) headerReply(r znode.Result) {
	if d.failed(r) {
		return
	}
	d.head(r.Zxid, zkproto.OK)
	d.send(r.Gate)
}

// statReply answers a write with the Stat after it.
func (d *desk) statReply(r znode.Result) {
	if d.failed(r) {
		return
	}
	d.head(r.Zxid, zkproto.OK)
	d.out = d.stat.AppendTo(d.out)
	d.send(r.Gate)
}
