package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"zkbridge/zkproto"
)

// errLength says that a frame announces a length that no frame may have.
var errLength = errors.New("frame length out of range")

// input reads frames. It belongs to the connection's reader. A connection that
// waits for its client has no buffer: it borrows one when there is something to
// read.
type input struct {
	buf   []byte // a borrowed chunk, or nil
	at    int    // buf[at:end] is read and not used
	end   int
	full  bool   // the last read filled buf: there may be more
	large []byte // a frame too long for any chunk, until the next one

	// Of a read that waits. arrived is bound once, so that reading allocates
	// nothing.
	arrived func(fd uintptr) bool
	want    int // how many bytes the buffer has to hold
	n       int
	err     error
}

// next returns the next frame without its length. It is valid until the next
// call. Before next has to wait, it puts the desk away, which flushes the outbox.
func (c *conn) next() ([]byte, error) {
	in := &c.in
	in.large = nil
	if err := c.need(4); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(in.buf[in.at:])))
	if n < 0 || n > c.srv.cfg.MaxFrame {
		if err := c.oversized(n); err != nil {
			return nil, err
		}
	}
	if 4+n > largeChunk {
		return c.nextLarge(n)
	}
	if err := c.need(4 + n); err != nil {
		return nil, within(err)
	}
	frame := in.buf[in.at+4 : in.at+4+n]
	in.at += 4 + n
	return frame, nil
}

// oversized lets a frame above the limit pass if it is a setWatches, for which
// there is another limit.
func (c *conn) oversized(n int) error {
	if n < 0 || n > c.srv.cfg.MaxSetWatchesFrame || c.session == nil {
		return fmt.Errorf("%w: %d", errLength, n)
	}
	if err := c.need(4 + zkproto.RequestHeaderSize); err != nil {
		return within(err)
	}
	var h zkproto.RequestHeader
	if err := h.Decode(c.in.buf[c.in.at+4 : c.in.end]); err != nil {
		return err
	}
	if h.Op != zkproto.OpSetWatches && h.Op != zkproto.OpSetWatches2 {
		return fmt.Errorf("%w: %d, operation %v", errLength, n, h.Op)
	}
	return nil
}

// need reads until n bytes are in the buffer, which grows to hold them; n is at
// most largeChunk.
func (c *conn) need(n int) error {
	for c.in.end-c.in.at < n {
		if err := c.fill(n); err != nil {
			return err
		}
	}
	return nil
}

// fill reads once; n is how many bytes the buffer has to hold.
func (c *conn) fill(n int) error {
	in := &c.in
	if in.full && c.raw != nil {
		c.rebuffer(largeChunk)
		k, err := c.desk.w.try.read(c.raw, in.buf[in.end:])
		if err == nil && k == 0 {
			return io.EOF
		}
		if !errors.Is(err, errWouldBlock) {
			c.filled(k)
			return err
		}
	}
	c.leaveDesk()
	k, err := c.await(n)
	if k == 0 {
		return err
	}
	c.takeDesk()
	c.filled(k)
	return nil
}

// await waits until the client has sent something, and reads it behind what is
// in the buffer. If it reads nothing it returns an error.
func (c *conn) await(n int) (int, error) {
	in := &c.in
	if c.raw == nil {
		c.rebuffer(n)
		k, err := c.nc.Read(in.buf[in.end:])
		if k == 0 && err == nil {
			err = io.ErrNoProgress
		}
		return k, err
	}
	c.listen(n)
	return in.result()
}

// listen waits until the client has sent something and reads it into a buffer
// that can hold n bytes. It must be a socket.
func (c *conn) listen(n int) {
	c.in.want, c.in.n, c.in.err = n, 0, nil
	if err := c.raw.Read(c.in.arrived); err != nil {
		c.in.n, c.in.err = 0, err
	}
}

// result is what came of listening. If nothing was read there is an error.
func (in *input) result() (int, error) {
	if in.n <= 0 && in.err == nil {
		return 0, io.EOF
	}
	return max(in.n, 0), in.err
}

// drained reports whether there is nothing to do before more input has come. Of a
// connection that cannot be tried that is not known.
func (c *conn) drained() bool { return c.raw != nil && c.in.at == c.in.end && !c.in.full }

// tryRead reads once for listen. If there is nothing to read it keeps only the
// memory that what is left needs, and returns false: it is called again when
// there is.
func (c *conn) tryRead(fd uintptr) bool {
	in := &c.in
	c.rebuffer(max(in.want, mediumChunk))
	in.n, in.err = readNow(fd, in.buf[in.end:])
	if !errors.Is(in.err, errWouldBlock) {
		return true
	}
	if in.at == in.end {
		c.srv.outlet.chunks.put(in.buf)
		in.buf, in.at, in.end = nil, 0, 0
	} else {
		c.rebuffer(in.want)
	}
	return false
}

// filled counts k bytes that were read into the buffer.
func (c *conn) filled(k int) {
	c.in.end += k
	c.in.full = c.in.end == len(c.in.buf)
	c.heard = false
	c.srv.count.bytesIn.Add(int64(k))
}

// rebuffer moves what is left in the buffer to its start, and to a chunk that
// holds n bytes, if it is not in one of the right size.
func (c *conn) rebuffer(n int) {
	in := &c.in
	from, left := in.buf, in.buf[in.at:in.end]
	if size := chunkSize(max(n, len(left))); size != len(from) {
		in.buf = c.srv.outlet.chunks.get(size)
		in.buf = in.buf[:cap(in.buf)]
		defer c.srv.outlet.chunks.put(from)
	}
	in.at, in.end = 0, copy(in.buf, left)
}

// nextLarge reads a frame of n bytes into memory of its own, which grows only as
// the bytes arrive.
func (c *conn) nextLarge(n int) ([]byte, error) {
	in := &c.in
	in.at += 4
	frame := append(make([]byte, 0, largeChunk), in.buf[in.at:in.end]...)
	in.at, in.end, in.full = 0, 0, false
	c.leaveDesk()
	c.srv.outlet.chunks.put(in.buf)
	in.buf = nil
	for len(frame) < n {
		if len(frame) == cap(frame) {
			grown := make([]byte, len(frame), min(n, 4*cap(frame)))
			copy(grown, frame)
			frame = grown
		}
		k, err := c.nc.Read(frame[len(frame):min(n, cap(frame))])
		if k == 0 {
			if err == nil {
				err = io.ErrNoProgress
			}
			return nil, within(err)
		}
		c.srv.count.bytesIn.Add(int64(k))
		frame = frame[:len(frame)+k]
	}
	c.takeDesk()
	in.large = frame
	return frame, nil
}

// within turns the end of the stream into an error: it came within a frame.
func within(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// discard takes what the client still sends until it closes, at most for limit,
// so that what was written to it is not lost to a reset.
func (c *conn) discard(limit time.Duration) {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(limit))
	_, _ = io.CopyN(io.Discard, c.nc, largeChunk)
}
