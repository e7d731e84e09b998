package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"zkbridge/zkproto"
)

// sessionTimeout is what the clients ask for; both servers grant it.
const sessionTimeout = 40 * time.Second

// client is one connection with a session of its own. One goroutine uses it.
type client struct {
	net.Conn
	in    *bufio.Reader
	out   []byte // frames to send
	frame []byte // the last frame read
	xid   int32
}

// dial connects and opens a session. inputSize is the size of the read buffer in
// bytes.
func dial(ctx context.Context, addr string, inputSize int) (*client, error) {
	var d net.Dialer
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &client{Conn: conn, in: bufio.NewReaderSize(conn, inputSize)}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if err := c.handshake(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("handshake with %s: %w", addr, err)
	}
	return c, conn.SetDeadline(time.Time{})
}

func (c *client) handshake() error {
	req := zkproto.ConnectRequest{Timeout: int32(sessionTimeout.Milliseconds()), Passwd: make([]byte, zkproto.PasswdSize), HasReadOnly: true}
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
	if granted := time.Duration(res.Timeout) * time.Millisecond; granted != sessionTimeout {
		return fmt.Errorf("granted %v of %v", granted, sessionTimeout)
	}
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
		return nil, fmt.Errorf("an event where a reply was expected")
	case h.Err != zkproto.OK:
		return nil, h.Err
	}
	return body, nil
}

// event reads one frame, which must be an event.
func (c *client) event() error {
	if err := c.read(); err != nil {
		return err
	}
	h, _, err := zkproto.DecodeReply(c.frame)
	if err == nil && h.Xid != zkproto.XidNotification {
		err = fmt.Errorf("a reply where an event was expected")
	}
	return err
}

// call sends one request and waits for its reply.
func (c *client) call(op zkproto.OpCode, body func([]byte) []byte) ([]byte, error) {
	c.queue(op, body)
	if err := c.flush(); err != nil {
		return nil, err
	}
	return c.reply()
}

// create makes a node; one that is there already is left as it is.
func (c *client) create(path string, data []byte, flags zkproto.CreateFlags) error {
	req := zkproto.CreateRequest{Path: path, Data: data, ACL: zkproto.WorldAnyone(), Flags: flags}
	if _, err := c.call(zkproto.OpCreate, req.AppendTo); err != nil && !errors.Is(err, zkproto.NodeExists) {
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

// clients are many connections to one server.
type clients []*client

// connect opens n sessions, some of them at a time.
func connect(ctx context.Context, addr string, n, inputSize int) (clients, error) {
	all := make(clients, n)
	err := parallel(ctx, 64, n, func(i int) (err error) {
		all[i], err = dial(ctx, addr, inputSize)
		return err
	})
	if err != nil {
		all.close()
		return nil, err
	}
	return all, nil
}

// ping sends one ping on each connection.
func (all clients) ping(ctx context.Context) error {
	return parallel(ctx, 64, len(all), func(i int) error {
		_, err := all[i].call(zkproto.OpPing, nil)
		return err
	})
}

// close ends the sessions properly, so that they do not weigh on what is
// measured next.
func (all clients) close() {
	_ = parallel(context.Background(), 64, len(all), func(i int) error {
		c := all[i]
		if c == nil {
			return nil
		}
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = c.call(zkproto.OpCloseSession, nil)
		return c.Close()
	})
}

// each runs fn for every connection at once and returns when all have returned.
func (all clients) each(fn func(i int, c *client) error) error {
	return parallel(context.Background(), len(all), len(all), func(i int) error { return fn(i, all[i]) })
}

// parallel runs fn(0) to fn(n-1), width of them at a time, until one fails.
func parallel(ctx context.Context, width, n int, fn func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(width, n) {
		wg.Go(func() {
			for i := range next {
				if err := fn(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
