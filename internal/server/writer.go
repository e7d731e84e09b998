package server

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// errWouldBlock says that a socket takes no more bytes now.
var errWouldBlock = errors.New("the socket is full")

// writer writes outboxes to sockets. Each goroutine that writes has its own.
type writer struct {
	pieces [][]byte
	rest   net.Buffers // pieces, used up by net.Buffers
	try    nonblocking
}

// flush writes what may leave, unless somebody else is writing; that one will
// take our bytes along. If the socket is full a patient flush waits for it,
// until it has taken nothing for so long as patience says. An impatient one
// (patience 0) returns errWouldBlock and leaves the outbox marked as being
// flushed: the caller must see to it. It returns errUnfinished, with the outbox
// free, if it was impatient and there is more.
//
// An error of the socket closes the outbox, and the socket so that its reader
// learns of it.
func (w *writer) flush(c *conn, patience time.Duration) error {
	o := &c.out
	o.mu.Lock()
	if o.flushing || o.closed {
		o.mu.Unlock()
		return nil
	}
	o.flushing = true
	o.mu.Unlock()
	return w.resume(c, patience)
}

// errUnfinished says that an impatient flush has written a fair share and left
// the rest.
var errUnfinished = errors.New("more is pending")

// resume is flush for the one who already has the flushing of the outbox.
func (w *writer) resume(c *conn, patience time.Duration) error {
	o := &c.out
	var err error
	o.mu.Lock()
	for round := 0; ; round++ {
		w.pieces = o.collectLocked(w.pieces)
		if len(w.pieces) == 0 || err != nil {
			break
		}
		if patience == 0 && round == flushRounds {
			err = errUnfinished
			break
		}
		o.mu.Unlock()
		o.written()
		var n int
		n, err = w.write(c, patience)
		c.srv.count.bytesOut.Add(int64(n))
		o.mu.Lock()
		o.advanceLocked(n)
		if errors.Is(err, errWouldBlock) {
			o.mu.Unlock()
			clear(w.pieces)
			return err
		}
	}
	clear(w.pieces)
	o.flushing = false
	if err != nil && !errors.Is(err, errUnfinished) {
		o.closeLocked()
	}
	done := o.closed || o.finish && err == nil
	gate := int64(0)
	if !o.closed && !o.waiting && len(o.barriers) > 0 && err == nil {
		gate = o.barriers[0].gate
		o.waiting, o.since = true, time.Now()
	}
	o.mu.Unlock()
	if gate > 0 {
		o.when(gate, o.released)
	}
	if done {
		c.shut()
	}
	return err
}

// write writes w.pieces once without waiting. If the socket is full and patience
// is not 0, it waits and writes on.
func (w *writer) write(c *conn, patience time.Duration) (int, error) {
	if c.secured != nil {
		return w.writeSecure(c, patience)
	}
	written := 0
	if c.raw != nil && (patience == 0 || len(w.pieces) == 1) {
		for _, p := range w.pieces {
			n, err := w.try.write(c.raw, p)
			written += n
			if errors.Is(err, errWouldBlock) && patience > 0 {
				break
			}
			if err != nil {
				return written, err
			}
		}
		if patience == 0 || written == len(w.pieces[0]) {
			return written, nil
		}
		w.pieces[0] = w.pieces[0][written:] // there is just one
	}
	if patience == 0 {
		return 0, errWouldBlock // not a socket: no telling whether it would
	}
	n, err := w.wait(c, c.nc, w.pieces, patience)
	return written + n, err
}

// writeStep is how often a goroutine that waits for a socket looks whether it
// took anything.
const writeStep = time.Second

// wait writes pieces to a socket that is full, until they are written or it has
// taken nothing for so long as patience says. The socket is the one of c.
func (w *writer) wait(c *conn, socket net.Conn, pieces [][]byte, patience time.Duration) (written int, err error) {
	w.rest = append(w.rest[:0], pieces...)
	rest := w.rest // WriteTo moves it along; w.rest keeps the memory
	defer func() {
		clear(w.rest)
		_ = socket.SetWriteDeadline(time.Time{})
	}()
	step := min(patience, writeStep)
	for idle := time.Duration(0); ; {
		if err := socket.SetWriteDeadline(time.Now().Add(step)); err != nil {
			return written, err
		}
		n, err := rest.WriteTo(socket)
		written += int(n)
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		if n > 0 {
			idle = 0
			c.progressed()
			continue
		}
		if idle += step; idle >= patience || c.kicked.Load() != nil {
			return written, err
		}
	}
}

// nonblocking reads and writes sockets without ever waiting for them. Its
// functions are bound once, so that a call allocates nothing.
type nonblocking struct {
	buf []byte
	n   int
	err error

	writeOnce, readOnce func(fd uintptr) bool
}

func (t *nonblocking) write(raw syscall.RawConn, b []byte) (int, error) {
	if t.writeOnce == nil {
		t.writeOnce = func(fd uintptr) bool {
			t.n, t.err = writeNow(fd, t.buf)
			return true
		}
	}
	total := 0
	for total < len(b) {
		t.buf = b[total:]
		err := raw.Write(t.writeOnce)
		t.buf = nil
		if err != nil {
			return total, err
		}
		if t.n > 0 {
			total += t.n
		}
		if t.err != nil {
			return total, t.err
		}
	}
	return total, nil
}

// read reads what is there. It returns errWouldBlock if there is nothing, and 0
// without an error at the end of the stream.
func (t *nonblocking) read(raw syscall.RawConn, b []byte) (int, error) {
	if t.readOnce == nil {
		t.readOnce = func(fd uintptr) bool {
			t.n, t.err = readNow(fd, t.buf)
			return true
		}
	}
	t.buf = b
	err := raw.Read(t.readOnce)
	t.buf = nil
	if err != nil {
		return 0, err
	}
	return max(t.n, 0), t.err
}
