package wire

import (
	"bufio"
	"bytes"
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
	ended   bool  // toSend is closed
	silent  bool  // what happens is not logged
	last    int64 // highest zxid in a header

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
