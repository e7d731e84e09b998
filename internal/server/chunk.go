package server

import "sync"

// The sizes of pooled memory, in bytes. A reply or event usually fits the first;
// a connection that is busy writes from the third.
const (
	smallChunk  = 512
	mediumChunk = 4 << 10
	largeChunk  = 64 << 10
)

// chunks is a pool of memory by size. The arrays are pooled by pointer, so that
// neither get nor put allocates.
type chunks struct {
	small, medium, large sync.Pool
	lists                sync.Pool // of outboxes' segments
}

// listSize is how many segments a pooled list holds.
const listSize = 8

// list returns an empty list of segments.
func (p *chunks) list() []segment {
	if l, ok := p.lists.Get().(*[listSize]segment); ok {
		return l[:0]
	}
	return new([listSize]segment)[:0]
}

// putList takes back what list returned; its segments are cleared. A list that
// has grown is left to the garbage collector.
func (p *chunks) putList(l []segment) {
	if cap(l) == listSize {
		p.lists.Put((*[listSize]segment)(l[:listSize]))
	}
}

// chunkSize is the size of the chunk that get returns for n bytes.
func chunkSize(n int) int {
	switch {
	case n <= smallChunk:
		return smallChunk
	case n <= mediumChunk:
		return mediumChunk
	default:
		return largeChunk
	}
}

// get returns an empty slice with room for at least n bytes, or for largeChunk
// if n is more than that.
func (p *chunks) get(n int) []byte {
	switch chunkSize(n) {
	case smallChunk:
		if b, ok := p.small.Get().(*[smallChunk]byte); ok {
			return b[:0]
		}
		return new([smallChunk]byte)[:0]
	case mediumChunk:
		if b, ok := p.medium.Get().(*[mediumChunk]byte); ok {
			return b[:0]
		}
		return new([mediumChunk]byte)[:0]
	default:
		if b, ok := p.large.Get().(*[largeChunk]byte); ok {
			return b[:0]
		}
		return new([largeChunk]byte)[:0]
	}
}

// put takes back what get returned. Memory of other sizes is left to the
// garbage collector.
func (p *chunks) put(b []byte) {
	switch cap(b) {
	case smallChunk:
		p.small.Put((*[smallChunk]byte)(b[:smallChunk]))
	case mediumChunk:
		p.medium.Put((*[mediumChunk]byte)(b[:mediumChunk]))
	case largeChunk:
		p.large.Put((*[largeChunk]byte)(b[:largeChunk]))
	}
}
