package server

import (
	"math"
	"sync"
	"time"
)

const (
	shareFrom   = 2 << 10  // bodies of this many bytes are queued by reference, smaller ones are copied
	flushAt     = 64 << 10 // a reader with more input flushes when so many bytes are pending
	flushRounds = 8        // writes to one socket before a flusher turns to the next
	vectorMax   = 64       // pieces in one write
)

// segment is a piece of an outbox: bytes in a pooled chunk, or a shared body.
type segment struct {
	data   []byte // not yet written
	owned  []byte // the chunk to give back, or nil
	shared []byte // the body to release, or nil
}

// barrier holds back the bytes of an outbox from a position on until the log is
// durable up to a zxid: they show a change that a crash could still undo.
type barrier struct {
	at   int64 // position in the stream
	gate int64
}

// outlet is what the outboxes of a server have in common.
type outlet struct {
	chunks  chunks
	budget  *budget
	limit   int                               // bytes of events that may be pending for one client
	durable func() int64                      // zxid up to which the log is synced; does not wait
	when    func(gate int64, released func()) // calls released once the log is durable to gate
	written func()                            // returns when what can be seen outlives the process
}

// outbox holds what is to be written to one connection: replies and events, in
// the order in which the client must see them. It is filled under the tree's
// lock, and written by whoever finds nobody writing: the connection's reader, a
// flusher, or, while the socket is full, a goroutine of its own.
type outbox struct {
	// Set at construction.
	*outlet
	mark func() // gives the outbox to the flushers; does not wait

	mu       sync.Mutex
	segments []segment // pending; the first may be partly written
	first    int       // index of the first pending segment
	barriers []barrier // by position and gate, both rising
	queued   int64     // position of the end of the stream
	sent     int64     // position up to which it was written
	events   int       // pending bytes of other people's doing; never too low
	packets  int64     // replies and events queued so far
	busy     bool      // the reader is handling requests, and will flush
	marked   bool      // with the flushers
	flushing bool      // somebody is writing; only that one changes sent
	waiting  bool      // released is going to be called
	since    time.Time // of waiting
	finish   bool      // close the socket when what may leave has been written
	closed   bool      // nothing is queued any more
	awaited  int       // the reader waits until no more bytes than this are pending; -1: it does not
	calm     chan struct{}
}

func (o *outbox) pendingLocked() int { return int(o.queued - o.sent) }

// pending is how many bytes wait to be written.
func (o *outbox) pending() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pendingLocked()
}

// weight is how much memory the outbox holds; of shared bodies its share.
func (o *outbox) weight() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for i := o.first; i < len(o.segments); i++ {
		n += cap(o.segments[i].owned)
		if body := o.segments[i].shared; body != nil {
			n += o.budget.share(body)
		}
	}
	return n
}

// sentPackets is how many replies and events were queued.
func (o *outbox) sentPackets() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.packets
}

// reply queues a reply, which may leave when the log is durable up to gate. It
// reports whether the reply has to wait for that. b is copied.
func (o *outbox) reply(b []byte, gate int64) (gated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.packets++
	gated = o.gateLocked(gate)
	o.addLocked(b)
	return gated
}

// replyShared queues a reply whose middle part is shared: it is not copied, and
// must not change any more.
func (o *outbox) replyShared(head, shared, tail []byte, gate int64) (gated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.packets++
	gated = o.gateLocked(gate)
	o.addLocked(head)
	o.budget.hold(shared)
	o.appendLocked(segment{data: shared, shared: shared})
	o.queued += int64(len(shared))
	o.addLocked(tail)
	return gated
}

// event queues an event. Unless the client asked for it itself (setWatches), it
// counts against the limit of pending bytes; it returns false if that is passed.
// The outbox is then closed and its bytes are gone; a flusher closes the socket.
// A connection that is being closed hears of nothing new: a real server removes
// the watches of a session's old connection before it goes on (NIOServerCnxn.close).
func (o *outbox) event(frame []byte, gate int64, asked bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.finish {
		return true
	}
	if !asked {
		if o.events > 0 && o.events+len(frame) > o.limit {
			o.closeLocked()
			o.markLocked()
			return false
		}
		o.events += len(frame)
	}
	o.packets++
	o.gateLocked(gate)
	o.addLocked(frame)
	if !o.busy && !o.flushing {
		o.markLocked()
	}
	return true
}

// gateLocked keeps what is queued next until the log is durable up to gate.
func (o *outbox) gateLocked(gate int64) bool {
	if gate <= 0 || gate <= o.durable() {
		return false
	}
	if n := len(o.barriers); n == 0 || o.barriers[n-1].gate < gate {
		o.barriers = append(o.barriers, barrier{at: o.queued, gate: gate})
	}
	return true
}

// addLocked copies b to the end of the stream.
func (o *outbox) addLocked(b []byte) {
	for len(b) > 0 {
		room := len(b)
		if n := len(o.segments); n > o.first {
			if s := &o.segments[n-1]; s.owned != nil {
				// The next chunk is of the next size, if so much is pending. Shared
				// bodies do not count: what follows them may be all there is.
				room = max(room, min(o.pendingLocked(), cap(s.owned)+1))
				k := min(len(b), cap(s.data)-len(s.data))
				s.data = append(s.data, b[:k]...)
				o.queued += int64(k)
				b = b[k:]
			}
		}
		if len(b) > 0 {
			chunk := o.chunks.get(room)
			o.budget.add(cap(chunk))
			o.appendLocked(segment{data: chunk, owned: chunk})
		}
	}
}

// appendLocked adds a segment. An outbox without any holds no memory for them.
func (o *outbox) appendLocked(s segment) {
	if o.segments == nil {
		o.segments = o.chunks.list()
	}
	o.segments = append(o.segments, s)
}

// markLocked gives the outbox to the flushers, unless they have it.
func (o *outbox) markLocked() {
	if !o.marked {
		o.marked = true
		o.mark()
	}
}

// released is called when the log has become durable up to the first barrier.
func (o *outbox) released() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = false
	if !o.flushing {
		o.markLocked()
	}
}

// wake says that the reader has begun to handle requests: until it flushes,
// events need no flusher.
func (o *outbox) wake() {
	o.mu.Lock()
	o.busy = true
	o.mu.Unlock()
}

// rest says that the reader is about to flush and then to wait for input.
func (o *outbox) rest() {
	o.mu.Lock()
	o.busy = false
	o.mu.Unlock()
}

// collectLocked fills v with the pieces that may be written now.
func (o *outbox) collectLocked(v [][]byte) [][]byte {
	v = v[:0]
	if o.closed {
		return v
	}
	left := int64(math.MaxInt64)
	if len(o.barriers) > 0 {
		durable := o.durable()
		open := 0
		for open < len(o.barriers) && o.barriers[open].gate <= durable {
			open++
		}
		if o.barriers = o.barriers[open:]; len(o.barriers) > 0 {
			left = o.barriers[0].at - o.sent
		} else {
			o.barriers = nil
		}
	}
	for i := o.first; i < len(o.segments) && left > 0 && len(v) < vectorMax; i++ {
		piece := o.segments[i].data
		if int64(len(piece)) > left {
			piece = piece[:left]
		}
		if len(piece) > 0 {
			v = append(v, piece)
			left -= int64(len(piece))
		}
	}
	return v
}

// advanceLocked drops n written bytes.
func (o *outbox) advanceLocked(n int) {
	if o.closed {
		return
	}
	o.sent += int64(n)
	for o.first < len(o.segments) {
		s := &o.segments[o.first]
		k := min(n, len(s.data))
		s.data = s.data[k:]
		n -= k
		if len(s.data) > 0 {
			break
		}
		o.dropLocked(s, true)
		o.first++
	}
	if o.first == len(o.segments) {
		o.chunks.putList(o.segments)
		o.segments, o.first = nil, 0
	} else if o.first >= vectorMax && 2*o.first > len(o.segments) {
		o.segments = o.segments[:copy(o.segments, o.segments[o.first:])]
		o.first = 0
	}
	o.events = min(o.events, o.pendingLocked())
	if o.awaited >= 0 && o.pendingLocked() <= o.awaited {
		o.calmLocked()
	}
}

// dropLocked lets go of a segment. Its chunk may be used again only if nobody is
// writing from it.
func (o *outbox) dropLocked(s *segment, reuse bool) {
	if s.owned != nil {
		o.budget.add(-cap(s.owned))
		if reuse {
			o.chunks.put(s.owned)
		}
	}
	if s.shared != nil {
		o.budget.release(s.shared)
	}
	*s = segment{}
}

// closeLocked throws away what is pending. From now on nothing is queued.
func (o *outbox) closeLocked() {
	if o.closed {
		return
	}
	o.closed = true
	for i := o.first; i < len(o.segments); i++ {
		o.dropLocked(&o.segments[i], !o.flushing)
	}
	o.segments, o.first, o.barriers = nil, 0, nil
	o.sent, o.events = o.queued, 0
	o.calmLocked()
}

// close is closeLocked for those who do not hold the lock.
func (o *outbox) close() {
	o.mu.Lock()
	o.closeLocked()
	o.mu.Unlock()
}

// calmLocked wakes the reader that waits in await.
func (o *outbox) calmLocked() {
	o.awaited = -1
	if o.calm != nil {
		select {
		case o.calm <- struct{}{}:
		default:
		}
	}
}

// await waits until at most n bytes are pending or the outbox is closed, at most
// for limit if that is not 0. It reports whether few enough are pending. Only
// the reader may call it, and must have flushed.
func (o *outbox) await(n int, limit time.Duration) bool {
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	for {
		o.mu.Lock()
		if o.closed || o.pendingLocked() <= n {
			ok := !o.closed
			o.awaited = -1
			o.mu.Unlock()
			return ok
		}
		if o.calm == nil {
			o.calm = make(chan struct{}, 1)
		}
		o.awaited = n
		o.mu.Unlock()
		select {
		case <-o.calm:
		case <-late:
			return false
		}
	}
}
