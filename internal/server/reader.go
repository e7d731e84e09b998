package server

import (
	"context"
	"sync"
	"time"
)

// restAfter is how long a client must have been silent to be taken for one that
// has time. It is longer than the gaps between the requests of one that works,
// and shorter than those between pings.
const restAfter = 100 * time.Millisecond

// serve does the handshake, and then reads and answers until the connection
// ends. readers counts the goroutines of connections.
func (c *conn) serve(ctx context.Context, readers *sync.WaitGroup) {
	begun := c.round(func() error {
		c.takeDesk()
		if err := c.handshake(ctx); err != nil {
			return err
		}
		if c.drained() {
			c.leaveDesk()
		}
		return nil
	})
	if begun {
		readers.Go(func() { c.attend(readers) })
	}
}

// attend reads and answers. It waits for the client with hardly anything on the
// stack. Handling requests makes the stack grow, and the runtime does not shrink
// that of a goroutine that waits for a socket: a connection with time on its
// hands therefore goes on in a new goroutine, whose stack is as small as they
// come. That saves more than a quarter of what an idle connection costs.
func (c *conn) attend(readers *sync.WaitGroup) {
	for {
		if c.drained() {
			c.listen(0)
		}
		if !c.round(c.steps) {
			return
		}
		if c.silent > c.srv.restAfter {
			readers.Go(func() { c.attend(readers) })
			return
		}
	}
}

// round does work for the connection. It reports whether the connection goes on;
// if not, it has ended.
func (c *conn) round(work func() error) (on bool) {
	defer func() {
		if !on {
			c.end()
		}
	}()
	defer c.confine("handling a request")
	if err := work(); err != nil {
		c.close(err)
		return false
	}
	return true
}

// steps handles requests until the input is drained.
func (c *conn) steps() error {
	if c.drained() {
		k, err := c.in.result()
		if k == 0 {
			return err
		}
		c.takeDesk()
		c.filled(k)
	}
	for {
		if err := c.step(); err != nil {
			return err
		}
		if c.drained() {
			c.leaveDesk()
			return nil
		}
	}
}
