package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"zkbridge/zkproto"
)

const (
	sessionTimeout = 40 * time.Second // what clients ask for
	leastTimeout   = 15 * time.Second // and must be granted: they do not ping while another server is measured
	dialTimeout    = 60 * time.Second // until a session is there, in a storm too
)

// client is one connection with a session of its own. One goroutine uses it.
type client struct {
	net.Conn
	in      *bufio.Reader
	out     []byte // frames to send
	frame   []byte // the last frame read
	xid     int32
	timeout time.Duration // granted
	forget  func() bool   // undoes what ends the connection with the context
}

// dial connects and opens a session. inputSize is the size of the read buffer in
// bytes. The connection fails once ctx ends.
func dial(ctx context.Context, addr string, inputSize int) (*client, error) {
	c, err := dialWithin(ctx, addr, inputSize, sessionTimeout, dialTimeout)
	if err == nil && c.timeout < leastTimeout {
		_ = c.Close()
		return nil, fmt.Errorf("%s grants sessions of %v, and at least %v are needed", addr, c.timeout, leastTimeout)
	}
	return c, err
}

// dialWithin is dial for a session of another timeout, however much is granted,
// and with another limit until it is there.
func dialWithin(ctx context.Context, addr string, inputSize int, timeout, limit time.Duration) (*client, error) {
	d := net.Dialer{Timeout: limit}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, hinted(err)
	}
	c := &client{Conn: conn, in: bufio.NewReaderSize(conn, inputSize)}
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	if err := c.handshake(timeout); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("handshake with %s: %w", addr, hinted(err))
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	c.forget = context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return c, nil
}

// hinted says what usually is behind a connection that a server closes at once.
func hinted(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("%w (does it limit connections per address? maxClientCnxns=0, or --server.maxConnectionsPerAddress 0, lifts that)", err)
	}
	return err
}

func (c *client) handshake(timeout time.Duration) error {
	req := zkproto.ConnectRequest{Timeout: int32(timeout.Milliseconds()), Passwd: make([]byte, zkproto.PasswdSize), HasReadOnly: true}
	if _, err := c.Write(zkproto.AppendFrame(nil, req.AppendTo)); err != nil {
		return err
	}
	if err := c.read(); err != nil {
		return err
	}
	var res zkproto.ConnectResponse
	if err := res.Decode(c.frame); err != nil {
		return err
	}
	c.timeout = time.Duration(res.Timeout) * time.Millisecond
	return nil
}

// queue appends a request to what flush sends. body may be nil.
func (c *client) queue(op zkproto.OpCode, body func([]byte) []byte) {
	c.xid++
	xid := c.xid
	if op == zkproto.OpPing {
		xid = zkproto.XidPing
	}
	h := zkproto.RequestHeader{Xid: xid, Op: op}
	c.out = zkproto.AppendFrame(c.out, func(dst []byte) []byte {
		dst = h.AppendTo(dst)
		if body != nil {
			dst = body(dst)
		}
		return dst
	})
}

func (c *client) flush() error {
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return err
}

// read reads one frame into c.frame.
func (c *client) read() (err error) {
	c.frame, err = zkproto.ReadFrame(c.in, c.frame, 64<<20)
	return err
}

// reply reads one frame, which must be a reply without an error. It returns the
// reply's body.
func (c *client) reply() ([]byte, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	h, body, err := zkproto.DecodeReply(c.frame)
	switch {
	case err != nil:
		return nil, err
	case h.Xid == zkproto.XidNotification:
		return nil, errors.New("an event where a reply was expected")
	case h.Err != zkproto.OK:
		return nil, h.Err
	}
	return body, nil
}

// event reads one frame, which must be an event, and returns its path.
func (c *client) event() (string, error) {
	if err := c.read(); err != nil {
		return "", err
	}
	h, body, err := zkproto.DecodeReply(c.frame)
	if err != nil {
		return "", err
	}
	if h.Xid != zkproto.XidNotification {
		return "", errors.New("a reply where an event was expected")
	}
	var e zkproto.WatcherEvent
	err = e.Decode(body)
	return e.Path, err
}

// call sends one request and waits for its reply.
func (c *client) call(op zkproto.OpCode, body func([]byte) []byte) ([]byte, error) {
	c.queue(op, body)
	if err := c.flush(); err != nil {
		return nil, err
	}
	return c.reply()
}

func (c *client) create(path string, data []byte, flags zkproto.CreateFlags) error {
	req := zkproto.CreateRequest{Path: path, Data: data, ACL: zkproto.WorldAnyone(), Flags: flags}
	if _, err := c.call(zkproto.OpCreate, req.AppendTo); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

func (c *client) delete(path string) error {
	req := zkproto.DeleteRequest{Path: path, Version: -1}
	if _, err := c.call(zkproto.OpDelete, req.AppendTo); err != nil {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}

// list asks for the children of a directory and leaves a watch.
func (c *client) list(path string) error {
	req := zkproto.GetChildren2Request{Path: path, Watch: true}
	if _, err := c.call(zkproto.OpGetChildren2, req.AppendTo); err != nil {
		return fmt.Errorf("list %s: %w", path, err)
	}
	return nil
}

// end ends the session properly, so that it does not weigh on what is measured
// next, and closes the connection.
func (c *client) end() error {
	c.forget()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	c.queue(zkproto.OpCloseSession, nil)
	err := c.flush()
	for xid := int32(0); err == nil && xid != c.xid; { // events may come first
		if err = c.read(); err == nil {
			var h zkproto.ReplyHeader
			h, _, err = zkproto.DecodeReply(c.frame)
			xid = h.Xid
		}
	}
	return errors.Join(err, c.Close())
}
