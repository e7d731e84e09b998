package server

import (
	"sync"
	"sync/atomic"
)

// budget counts the memory that outboxes hold. A body that many outboxes share
// counts once.
type budget struct {
	limit int64         // bytes
	over  chan struct{} // holds one token when the limit was passed

	used atomic.Int64

	mu     sync.Mutex
	bodies map[*byte]int // how many outboxes hold a shared body, by its first byte
}

func newBudget(limit int) *budget {
	return &budget{limit: int64(limit), over: make(chan struct{}, 1), bodies: make(map[*byte]int)}
}

// add counts n more bytes, or fewer if n is negative. It does not wait: whoever
// takes the token from over finds the connection to cut.
func (b *budget) add(n int) {
	if b.used.Add(int64(n)) > b.limit && n > 0 {
		select {
		case b.over <- struct{}{}:
		default:
		}
	}
}

// hold counts a shared body that an outbox now refers to. The body is not empty.
func (b *budget) hold(body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bodies[&body[0]]++
	if b.bodies[&body[0]] == 1 {
		b.add(len(body))
	}
}

// release undoes one hold.
func (b *budget) release(body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bodies[&body[0]]--
	if b.bodies[&body[0]] == 0 {
		delete(b.bodies, &body[0])
		b.add(-len(body))
	}
}

// exceeded reports whether too much is held.
func (b *budget) exceeded() bool { return b.used.Load() > b.limit }

// share is the part of a shared body that one of its holders answers for.
func (b *budget) share(body []byte) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(body) / max(1, b.bodies[&body[0]])
}
