package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"zkbridge/zkproto"
)

// patience is how long a script waits for what must come.
const patience = 15 * time.Second

// maxReply is the longest frame that scripts expect, in bytes.
const maxReply = 64 << 20

// Conn is one connection of a script. It reads only when the script waits for
// something, so that its log is in the order of the bytes.
type Conn struct {
	stage   *Stage
	name    string
	nc      net.Conn
	in      *bufio.Reader
	toSend  chan []byte   // to write, which ends when it is closed
	written chan struct{} // closed when write has ended
	log     []string
	xid     int32
	events  []event
	pending []sent // requests without an answer, oldest first
	gone    bool
	ended   bool // toSend is closed
	silent  bool // what happens is not logged

	ID     int64  // of the session
	Passwd []byte // of the session
}

type event struct {
	zkproto.WatcherEvent
	zxid int64
}

type sent struct {
	xid int32
	op  zkproto.OpCode
}

// Reply is what a request was answered with. Body is nil for an error and for
// operations whose reply has none.
type Reply struct {
	zkproto.ReplyHeader
	Body   zkproto.Message
	Closed bool // there was no reply: the server closed the connection
}

// Dial opens a connection without a handshake. The name is that of its section
// in the transcript.
func (s *Stage) Dial(name string) *Conn {
	d := net.Dialer{Timeout: patience}
	nc, err := d.DialContext(s.ctx, "tcp", s.server.Addr)
	if err != nil {
		panic(stop{err.Error()})
	}
	c := &Conn{stage: s, name: name, nc: nc, in: bufio.NewReaderSize(nc, 64<<10), toSend: make(chan []byte, 4096), written: make(chan struct{})}
	s.conns = append(s.conns, c)
	go c.write()
	return c
}

// Connect opens a connection with a new session of 30 s.
func (s *Stage) Connect(name string) *Conn {
	c := s.Dial(name)
	c.Handshake(zkproto.ConnectRequest{Timeout: 30000, Passwd: make([]byte, zkproto.PasswdSize), HasReadOnly: true})
	return c
}

// Resume opens a connection that takes over the session of c.
func (s *Stage) Resume(name string, old *Conn) *Conn {
	c := s.Dial(name)
	c.Handshake(zkproto.ConnectRequest{Timeout: 30000, SessionID: old.ID, Passwd: old.Passwd, HasReadOnly: true})
	return c
}

// logf adds a line to the connection's section.
func (c *Conn) logf(format string, args ...any) {
	if !c.silent {
		line := fmt.Sprintf(format, args...)
		if c.stage.server.Below != "" {
			line = strings.ReplaceAll(line, c.stage.server.Below+Root, Root)
		}
		c.log = append(c.log, line)
	}
}

// Silently runs fn without writing to the transcript.
func (c *Conn) Silently(fn func()) {
	c.silent = true
	defer func() { c.silent = false }()
	fn()
}

// SendRaw sends bytes as they are. It does not wait until they are gone: like a
// real client's, the connection reads meanwhile.
func (c *Conn) SendRaw(b []byte) {
	if !c.ended {
		c.toSend <- b
	}
}

// write is the connection's writer. An error means that the server closed: what
// it sent before is still to be read.
func (c *Conn) write() {
	defer close(c.written)
	for b := range c.toSend {
		if _, err := c.nc.Write(b); err != nil {
			for range c.toSend { // let the script go on
			}
		}
	}
}

// SendHandshake sends a connect request and does not wait.
func (c *Conn) SendHandshake(m zkproto.ConnectRequest) {
	passwd := "none"
	switch {
	case m.SessionID != 0 && bytes.Equal(m.Passwd, c.stage.passwd(m.SessionID)):
		passwd = "its own"
	case m.SessionID != 0:
		passwd = "wrong"
	}
	c.logf("> connect timeout=%d session=%s passwd=%s readOnly=%s", m.Timeout, c.stage.session(m.SessionID), passwd, flag(m.HasReadOnly, m.ReadOnly))
	c.SendRaw(zkproto.AppendFrame(nil, m.AppendTo))
}

// Handshake sends a connect request and reads the answer. The answer is zero if
// the server closes instead.
func (c *Conn) Handshake(m zkproto.ConnectRequest) zkproto.ConnectResponse {
	c.SendHandshake(m)
	return c.ReadHandshake()
}

// ReadHandshake reads the answer to a connect request.
func (c *Conn) ReadHandshake() zkproto.ConnectResponse {
	var r zkproto.ConnectResponse
	frame := c.frame(patience)
	if frame == nil {
		return r
	}
	if err := r.Decode(frame); err != nil {
		panic(stop{err.Error()})
	}
	passwd := fmt.Sprintf("%d bytes", len(r.Passwd))
	if bytes.Equal(r.Passwd, make([]byte, len(r.Passwd))) {
		passwd += ", all zero"
	}
	if r.SessionID != 0 {
		if _, known := c.stage.sessions[r.SessionID]; !known {
			c.stage.sessions[r.SessionID] = c.name
			c.stage.opened = append(c.stage.opened, opened{r.SessionID, r.Passwd})
		} else if !bytes.Equal(r.Passwd, c.stage.passwd(r.SessionID)) {
			passwd += ", changed"
			c.stage.setPasswd(r.SessionID, r.Passwd)
		}
	}
	c.ID, c.Passwd = r.SessionID, r.Passwd
	c.logf("< connected %d bytes version=%d timeout=%d session=%s passwd=%s readOnly=%s",
		len(frame), r.ProtocolVersion, r.Timeout, c.stage.session(r.SessionID), passwd, flag(r.HasReadOnly, r.ReadOnly))
	return r
}

func (s *Stage) passwd(id int64) []byte {
	for _, o := range s.opened {
		if o.id == id {
			return o.passwd
		}
	}
	return nil
}

func (s *Stage) setPasswd(id int64, passwd []byte) {
	for i := range s.opened {
		if s.opened[i].id == id {
			s.opened[i].passwd = passwd
		}
	}
}

func flag(has, value bool) string {
	if !has {
		return "absent"
	}
	return fmt.Sprint(value)
}

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

// RecvAll reads until every request is answered or the connection ends.
func (c *Conn) RecvAll() {
	for len(c.pending) > 0 && !c.gone {
		c.Recv()
	}
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

// ExpectClose reads until the server closes, and logs it if it does not.
func (c *Conn) ExpectClose() {
	for !c.gone {
		frame, err := c.read(3 * time.Second)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.logf("< still open")
			return
		}
		if err != nil {
			return
		}
		c.handle(frame)
	}
}

// Drop cuts the connection, after what was sent, and leaves the session.
func (c *Conn) Drop() {
	c.logf("> cut")
	c.sendRest()
	c.hangUp()
}

// HalfClose closes the client's side, after what was sent.
func (c *Conn) HalfClose() {
	c.sendRest()
	if tcp, ok := c.nc.(*net.TCPConn); ok {
		if err := tcp.CloseWrite(); err != nil {
			panic(stop{err.Error()})
		}
	}
}

func (c *Conn) sendRest() {
	if !c.ended {
		c.ended = true
		close(c.toSend)
	}
	<-c.written
}

func (c *Conn) hangUp() {
	c.gone = true
	c.nc.Close()
	c.sendRest()
}

// CloseSession ends the session and reads until the server closes.
func (c *Conn) CloseSession() Reply {
	r := c.Do(zkproto.OpCloseSession, nil)
	c.ExpectClose()
	return r
}

func (c *Conn) next(wait time.Duration) (Reply, bool) {
	frame := c.frame(wait)
	if frame == nil {
		return Reply{Closed: true}, false
	}
	return c.handle(frame)
}

// awaitZxid pings until the server's last zxid is z.
func (c *Conn) awaitZxid(z int64) {
	c.stage.Until("zxid "+c.stage.zxid(z), func() bool {
		last := int64(0)
		c.Silently(func() { last = c.DoXid(zkproto.XidPing, zkproto.OpPing, nil).Zxid })
		return last >= z
	})
}

// frame reads a frame; nil means that the connection is over.
func (c *Conn) frame(wait time.Duration) []byte {
	frame, err := c.read(wait)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		panic(stop{c.name + ": no answer"})
	}
	return frame
}

func (c *Conn) read(wait time.Duration) ([]byte, error) {
	if c.gone {
		return nil, net.ErrClosed
	}
	if err := c.nc.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	frame, err := zkproto.ReadFrame(c.in, nil, maxReply)
	switch {
	case err == nil:
		return frame, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zkproto.ErrFrameLength):
		c.logf("< bad frame: %v", err)
	default: // a reset says the same as an end of file
		c.logf("< closed")
	}
	c.hangUp()
	return nil, err
}

// ReadText reads everything until the server closes.
func (c *Conn) ReadText() string {
	if err := c.nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		panic(stop{err.Error()})
	}
	b, err := io.ReadAll(c.in)
	if err != nil && len(b) == 0 {
		c.logf("< closed")
	}
	c.hangUp()
	return string(b)
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

// int32s is the raw form of some ints, for bodies made by hand.
func int32s(list ...int32) []byte {
	var b []byte
	for _, v := range list {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func quote(path string) string { return fmt.Sprintf("%q", path) }

func ustring(s string) []byte { return append(int32s(int32(len(s))), s...) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
