package server

import (
	"context"
	"errors"
	"sync"
	"time"
)

// flushers is the queue of outboxes with events to write, and the goroutines
// that write them. They never wait for a socket: one that is full gets a
// goroutine of its own.
type flushers struct {
	wake chan struct{} // holds a token for each flusher that has to look

	mu    sync.Mutex
	queue []*conn
	first int
}

func newFlushers(n int) *flushers {
	return &flushers{wake: make(chan struct{}, n)}
}

// add queues c. Its outbox is marked, so it is queued once.
func (f *flushers) add(c *conn) {
	f.mu.Lock()
	f.queue = append(f.queue, c)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default: // all are awake or about to be
	}
}

// next takes the connection that has waited longest; nil if there is none.
func (f *flushers) next() *conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == len(f.queue) {
		if cap(f.queue) > 1024 {
			f.queue = nil // a burst is over
		}
		f.queue, f.first = f.queue[:0], 0
		return nil
	}
	c := f.queue[f.first]
	f.queue[f.first] = nil
	f.first++
	if f.first >= 1024 && 2*f.first > len(f.queue) { // always somebody in it
		n := copy(f.queue, f.queue[f.first:])
		clear(f.queue[n:])
		f.queue, f.first = f.queue[:n], 0
	}
	return c
}

// run writes outboxes until ctx ends, and returns when the goroutines that it
// left full sockets to have ended.
func (f *flushers) run(ctx context.Context) {
	var w writer
	var laggards sync.WaitGroup
	defer laggards.Wait()
	for {
		for c := f.next(); c != nil; c = f.next() {
			c.flushEvents(&w, &laggards)
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
	}
}

// lastWrite is how long a connection that is being closed from outside may take
// for what is still to be written to it.
const lastWrite = time.Second

// flushEvents writes what the connection's outbox has, as far as the socket
// takes it.
func (c *conn) flushEvents(w *writer, laggards *sync.WaitGroup) {
	defer c.confine("writing events")
	o := &c.out
	o.mu.Lock()
	o.marked = false
	closed, finish, flushing := o.closed, o.finish, o.flushing
	o.mu.Unlock()
	switch {
	case closed:
		c.shut()
		return
	case finish && flushing: // whoever is writing will close it
		_ = c.nc.SetWriteDeadline(time.Now().Add(lastWrite))
		return
	}
	switch err := w.flush(c, 0); {
	case errors.Is(err, errWouldBlock):
		c.writeOut(finish, laggards)
	case errors.Is(err, errUnfinished):
		o.mu.Lock()
		o.markLocked()
		o.mu.Unlock()
	}
}

// writeOut goes on writing an outbox whose socket is full, in a goroutine that
// lasts until it is written or has failed. The outbox stays marked as being
// flushed.
func (c *conn) writeOut(finish bool, laggards *sync.WaitGroup) {
	patience := c.srv.cfg.WriteTimeout
	if finish {
		if c.raw != nil { // it was tried, and is really full
			c.shut()
			return
		}
		patience = lastWrite
	}
	c.srv.count.laggards.Add(1)
	laggards.Go(func() {
		defer c.confine("writing events")
		var w writer
		_ = w.resume(c, patience) // an error has closed the connection
	})
}
