package zkproto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxFrame is the longest frame ZooKeeper accepts by default, in bytes
// behind the length (jute.maxbuffer). A frame of exactly this length passes.
const DefaultMaxFrame = 0xfffff

// ErrFrameLength is wrapped when a frame's length is negative or above the
// limit. ZooKeeper closes the connection without a reply.
var ErrFrameLength = errors.New("frame length out of range")

// Message is a record of the protocol.
type Message interface {
	// Decode reads the record from the body of a frame. Its errors wrap
	// ErrMalformed.
	Decode(body []byte) error
	// AppendTo appends the record to dst.
	AppendTo(dst []byte) []byte
}

// AppendFrame appends a frame: its length, and what build appends.
func AppendFrame(dst []byte, build func([]byte) []byte) []byte {
	at := len(dst)
	dst = build(append(dst, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// firstRead is what ReadFrame sets aside on the word of a length alone; it
// grows further only as bytes arrive.
const firstRead = 16 << 10

// ReadFrame reads one frame and returns what is behind its length, in buf if it
// fits there. limit is in bytes. io.EOF means that the peer closed between two
// frames, io.ErrUnexpectedEOF that it closed within one.
func ReadFrame(r io.Reader, buf []byte, limit int) ([]byte, error) {
	if cap(buf) < 4 {
		buf = make([]byte, 512)
	}
	head := buf[:4]
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := int(int32(binary.BigEndian.Uint32(head)))
	if n < 0 || n > limit {
		return nil, fmt.Errorf("%w: %d, limit %d", ErrFrameLength, n, limit)
	}
	buf = buf[:0]
	for len(buf) < n {
		have := len(buf)
		if have == cap(buf) || have == 0 && cap(buf) < min(n, firstRead) {
			grown := make([]byte, have, min(n, max(firstRead, 2*cap(buf))))
			copy(grown, buf)
			buf = grown
		}
		buf = buf[:min(n, cap(buf))]
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return buf, nil
}
