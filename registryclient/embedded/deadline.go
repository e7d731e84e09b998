package embedded

import (
	"container/heap"
	"time"
)

// deadline is a moment of the registry's clock at which something ends. A
// renewal only stores a later moment; the heap is put right when the old one
// comes round, so a heart-beat costs one store however many instances there are.
// Guarded by Registry.mu.
type deadline struct {
	at     time.Duration // the moment that counts
	queued time.Duration // the moment it is queued for, never later than at
	index  int           // in the heap, -1 when not in it
	fire   func()        // called with Registry.mu held
}

// deadlines is the heap of what is queued, the earliest first.
type deadlines struct{ heap byQueued }

// add queues fire for the moment at.
func (d *deadlines) add(at time.Duration, fire func()) *deadline {
	e := &deadline{at: at, queued: at, fire: fire}
	heap.Push(&d.heap, e)
	return e
}

// move changes the moment of e; e is queued again if it had fired or was removed.
func (d *deadlines) move(e *deadline, at time.Duration) {
	e.at = at
	switch {
	case e.index < 0:
		e.queued = at
		heap.Push(&d.heap, e)
	case at < e.queued:
		e.queued = at
		heap.Fix(&d.heap, e.index)
	}
}

// remove forgets e.
func (d *deadlines) remove(e *deadline) {
	if e != nil && e.index >= 0 {
		heap.Remove(&d.heap, e.index)
	}
}

// run fires what is due and gives the moment of the next look, at most idle
// after now.
func (d *deadlines) run(now, idle time.Duration) time.Duration {
	for len(d.heap) > 0 {
		e := d.heap[0]
		switch {
		case e.queued > now:
			return min(e.queued, now+idle)
		case e.at > now: // it was renewed since; look again then
			e.queued = e.at
			heap.Fix(&d.heap, 0)
		default:
			heap.Pop(&d.heap)
			e.fire()
		}
	}
	return now + idle
}

type byQueued []*deadline

func (h byQueued) Len() int           { return len(h) }
func (h byQueued) Less(i, j int) bool { return h[i].queued < h[j].queued }
func (h byQueued) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *byQueued) Push(x any) {
	e := x.(*deadline)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *byQueued) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
