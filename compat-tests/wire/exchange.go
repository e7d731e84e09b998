package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"zkbridge/zkproto"
)

// Send sends a request with the next xid and does not wait.
func (c *Conn) Send(op zkproto.OpCode, m zkproto.Message) {
	c.xid++
	c.SendXid(c.xid, op, m)
}

// SendXid sends a request and does not wait. m is nil for a request without a
// body.
func (c *Conn) SendXid(xid int32, op zkproto.OpCode, m zkproto.Message) {
	c.logf("> %s", describeRequest(xid, op, m))
	c.send(xid, op, func(dst []byte) []byte {
		if m == nil {
			return dst
		}
		return m.AppendTo(dst)
	})
}

// SendBody sends a request whose body is given as bytes.
func (c *Conn) SendBody(xid int32, op zkproto.OpCode, what string, body []byte) {
	c.logf("> %d %v %s", xid, op, what)
	c.send(xid, op, func(dst []byte) []byte { return append(dst, body...) })
}

func (c *Conn) send(xid int32, op zkproto.OpCode, build func([]byte) []byte) {
	if op == zkproto.OpPing {
		xid = zkproto.XidPing
	}
	c.pending = append(c.pending, sent{xid, op})
	c.SendRaw(zkproto.AppendFrame(nil, func(dst []byte) []byte {
		h := zkproto.RequestHeader{Xid: xid, Op: op}
		return append(h.AppendTo(dst), c.stage.moveBelow(build(nil))...)
	}))
}

// moveBelow puts what the nodes of the script are below in front of every path
// in the body of a request. Every path of a script begins with Root, and has its
// length in front.
func (s *Stage) moveBelow(body []byte) []byte {
	if s.server.Below == "" {
		return body
	}
	var out []byte
	for {
		i := bytes.Index(body, []byte(Root))
		if i < 4 {
			return append(out, body...)
		}
		out = append(out, body[:i-4]...)
		if n := int32(binary.BigEndian.Uint32(body[i-4:])); n >= int32(len(Root)) {
			out = append(append(out, int32s(n+int32(len(s.server.Below)))...), s.server.Below...)
		} else {
			out = append(out, body[i-4:i]...)
		}
		out = append(out, Root...)
		body = body[i+len(Root):]
	}
}

// Do sends a request and reads until it is answered; events that come before
// the answer are logged before it.
func (c *Conn) Do(op zkproto.OpCode, m zkproto.Message) Reply {
	c.Send(op, m)
	return c.Recv()
}

// DoXid is Do with an xid of the script's choice.
func (c *Conn) DoXid(xid int32, op zkproto.OpCode, m zkproto.Message) Reply {
	c.SendXid(xid, op, m)
	return c.Recv()
}

// DoBody is Do with a body given as bytes.
func (c *Conn) DoBody(op zkproto.OpCode, what string, body []byte) Reply {
	c.xid++
	c.SendBody(c.xid, op, what, body)
	return c.Recv()
}

// Recv reads until a reply or the end of the connection.
func (c *Conn) Recv() Reply {
	for {
		r, event := c.next(patience)
		if !event {
			return r
		}
	}
}

// RecvAll reads until every request is answered or the connection ends, and
// returns the last reply.
func (c *Conn) RecvAll() (last Reply) {
	for len(c.pending) > 0 && !c.gone {
		last = c.Recv()
	}
	return last
}

// Ping is the barrier of the scripts: when it is answered, every event of what
// was finished before has been read. Neither request nor answer are logged.
func (c *Conn) Ping() { c.ping() }

// ping says whether an event came before the answer.
func (c *Conn) ping() (event bool) {
	if c.gone {
		return false
	}
	c.send(zkproto.XidPing, zkproto.OpPing, func(dst []byte) []byte { return dst })
	for {
		frame := c.frame(patience)
		if frame == nil {
			return event
		}
		h, _, err := zkproto.DecodeReply(frame)
		if err == nil && h.Xid == zkproto.XidPing {
			c.last = max(c.last, h.Zxid)
			c.answered(h.Xid)
			return event
		}
		if _, e := c.handle(frame); e {
			event = true
		}
	}
}

// AwaitEvent sends pings, so that the session lives, until a notification has
// come; what is behind the notification is read up to the last ping. It says
// whether one came before the connection ended.
func (c *Conn) AwaitEvent() bool {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if c.ping() {
			return true
		}
		if c.gone {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	panic(stop{c.name + ": no event came"})
}

// awaitZxid pings until the server's last zxid is z.
func (c *Conn) awaitZxid(z int64) {
	c.stage.Until("zxid "+c.stage.zxid(z), func() bool {
		last := int64(0)
		c.Silently(func() { last = c.DoXid(zkproto.XidPing, zkproto.OpPing, nil).Zxid })
		return last >= z
	})
}

func (c *Conn) next(wait time.Duration) (Reply, bool) {
	frame := c.frame(wait)
	if frame == nil {
		return Reply{Closed: true}, false
	}
	return c.handle(frame)
}

func (c *Conn) answered(xid int32) (zkproto.OpCode, bool) {
	for i, p := range c.pending {
		if p.xid == xid {
			c.pending = append(c.pending[:i:i], c.pending[i+1:]...)
			return p.op, i == 0
		}
	}
	return zkproto.OpError, false
}

// handle logs a frame and says whether it was an event.
func (c *Conn) handle(frame []byte) (Reply, bool) {
	h, body, err := zkproto.DecodeReply(frame)
	if err != nil {
		c.logf("< not a reply: %x", frame)
		return Reply{}, false
	}
	c.last = max(c.last, h.Zxid)
	if h.Xid == zkproto.XidNotification {
		c.event(h, body)
		return Reply{}, true
	}
	op, first := c.answered(h.Xid)
	order := ""
	if !first {
		order = ", not the oldest request"
	}
	r := Reply{ReplyHeader: h}
	text := ""
	if h.Err == zkproto.OK {
		r.Body = response(op)
	}
	rest := body
	if r.Body != nil {
		if err := r.Body.Decode(body); err != nil {
			text = fmt.Sprintf(" undecodable: %v: %x", err, body)
			rest = nil
		} else {
			text = " " + c.stage.describe(r.Body)
			rest = body[min(len(body), len(r.Body.AppendTo(nil))):]
		}
	}
	if len(rest) > 0 {
		text += fmt.Sprintf(" and %d bytes more", len(rest))
	}
	c.logf("< %d %v zxid=%s %s%s%s", h.Xid, op, c.stage.zxid(h.Zxid), outcome(h.Err), text, order)
	return r, false
}

func (c *Conn) event(h zkproto.ReplyHeader, body []byte) {
	var e zkproto.WatcherEvent
	if err := e.Decode(body); err != nil {
		c.logf("! undecodable: %x", body)
		return
	}
	c.events = append(c.events, event{e, h.Zxid})
	state := ""
	if e.State != zkproto.StateSyncConnected {
		state = fmt.Sprintf(" state=%d", e.State)
	}
	failed := ""
	if h.Err != zkproto.OK {
		failed = " " + outcome(h.Err)
	}
	c.logf("! %v %q zxid=%s%s%s", e.Type, e.Path, c.stage.zxid(h.Zxid), state, failed)
}

func outcome(code zkproto.Code) string {
	if code == zkproto.OK {
		return "ok"
	}
	return fmt.Sprintf("%d (%v)", int32(code), code)
}
