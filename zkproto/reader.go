package zkproto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrMalformed is wrapped by every error of a Decode: the bytes are not the
// record. A server answers MarshallingError, or closes where the record is a
// header, a handshake or an auth packet.
var ErrMalformed = errors.New("malformed record")

// reader takes fields off the front of src. Its first error sticks: from then
// on every read gives zero, so that a record is checked once, at its end.
type reader struct {
	src []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
	r.src = nil
}

// done is the reader's error, with the name of what was read.
func (r *reader) done(what string) error {
	if r.err != nil {
		return fmt.Errorf("%s: %w", what, r.err)
	}
	return nil
}

// take gives the next n bytes, not copied, or nil when there are fewer.
func (r *reader) take(n int) []byte {
	if n > len(r.src) {
		r.fail("%d bytes wanted, %d left", n, len(r.src))
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}

func (r *reader) bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

func (r *reader) int32() int32 {
	b := r.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (r *reader) int64() int64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// sized gives the bytes behind a length, not copied; null for length -1.
func (r *reader) sized() (b []byte, null bool) {
	n := r.int32()
	switch {
	case r.err != nil:
		return nil, false
	case n == -1:
		return nil, true
	case n < 0:
		r.fail("length %d", n)
		return nil, false
	}
	return r.take(int(n)), false
}

// buffer reads a buffer; nil is null.
func (r *reader) buffer() []byte {
	b, null := r.sized()
	if null || r.err != nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// string reads a string that must not be null.
func (r *reader) string() string {
	b, null := r.sized()
	if null {
		r.fail("null string")
		return ""
	}
	return text(b)
}

// Null is what a decoded request has in the place of a null string where
// ZooKeeper does not notice before it uses the string. No string from the wire is
// equal to it: its bytes are not UTF-8. It is no path, no scheme's id and nobody's
// name, so that it fails by itself where it is used; an answer of its own is up to
// the server.
const Null = "\xff"

// nullable reads a string that may be [Null].
func (r *reader) nullable() string {
	b, null := r.sized()
	if null {
		return Null
	}
	return text(b)
}

// lax reads a string for which null and empty mean the same.
func (r *reader) lax() string {
	b, _ := r.sized()
	return text(b)
}

// optional reads a string; nil is null.
func (r *reader) optional() *string {
	b, null := r.sized()
	if null || r.err != nil {
		return nil
	}
	s := text(b)
	return &s
}

// count reads the number of items of a vector whose items take at least min
// bytes each, so that no list is made that the body cannot hold. -1 is null;
// ZooKeeper reads every other negative number as an empty list.
func (r *reader) count(min int) (n int, null bool) {
	c := r.int32()
	switch {
	case r.err != nil:
		return 0, false
	case c == -1:
		return 0, true
	case c < 0:
		return 0, false
	case int(c) > len(r.src)/min:
		r.fail("%d items in %d bytes", c, len(r.src))
		return 0, false
	}
	return int(c), false
}

// strings reads a vector of strings; nil is null.
func (r *reader) strings() []string {
	n, null := r.count(4)
	if null || r.err != nil {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.string()
	}
	return list
}

// text copies b into a string as Java's UTF-8 decoder would: the longest part
// of a sequence that could still have become a character is one U+FFFD, and so
// is a surrogate written as three bytes.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = badLength(b)
		}
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return string(out)
}

// badLength is how many bytes at the start of b Java replaces by one U+FFFD.
// b does not start with a character.
func badLength(b []byte) int {
	more := func(i int) bool { return i < len(b) && b[i]&0xC0 == 0x80 }
	c := b[0]
	switch {
	case c >= 0xE0 && c <= 0xEF: // three bytes
		if !more(1) || c == 0xE0 && b[1] < 0xA0 {
			return 1
		}
		if !more(2) {
			return 2
		}
		return 3 // a surrogate
	case c >= 0xF0 && c <= 0xF4: // four bytes
		if !more(1) || c == 0xF0 && b[1] < 0x90 || c == 0xF4 && b[1] > 0x8F {
			return 1
		}
		if !more(2) {
			return 2
		}
		return 3
	}
	return 1
}
