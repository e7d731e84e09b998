package sessions

import "container/heap"

// noSlot is the slot of a session that is not queued.
const noSlot = -1

// queue holds the open sessions by the deadline that was known when each was
// last looked at. Signs of life do not move a session in it; the expirer
// does, when the old deadline comes round.
type queue struct{ items items }

type item struct {
	at int64 // ns since the manager's start
	s  *Session
}

// first returns the earliest session and when it has to be looked at.
func (q *queue) first() (s *Session, at int64) {
	if len(q.items) == 0 {
		return nil, 0
	}
	return q.items[0].s, q.items[0].at
}

// set queues s for at, whether it was queued before or not.
func (q *queue) set(s *Session, at int64) {
	if s.slot == noSlot {
		heap.Push(&q.items, item{at: at, s: s})
		return
	}
	q.items[s.slot].at = at
	heap.Fix(&q.items, int(s.slot))
}

// remove takes s out, if it is queued.
func (q *queue) remove(s *Session) {
	if s.slot != noSlot {
		heap.Remove(&q.items, int(s.slot))
	}
}

// items is a heap.Interface that keeps the slots of its sessions right.
type items []item

func (h items) Len() int           { return len(h) }
func (h items) Less(i, j int) bool { return h[i].at < h[j].at }

func (h items) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].s.slot, h[j].s.slot = int32(i), int32(j)
}

// Push appends x, an item.
func (h *items) Push(x any) {
	it := x.(item)
	it.s.slot = int32(len(*h))
	*h = append(*h, it)
}

// Pop removes the last item.
func (h *items) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = item{}
	*h = (*h)[:last]
	it.s.slot = noSlot
	return it
}
