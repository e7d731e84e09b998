package embedded

import (
	"sync"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

// health makes one link state of the lease and the event streams: up when the
// lease was renewed and everything is published, with no doubt since, and no
// stream is broken.
type health struct {
	state *latest.Value[rc.LinkState]

	// guarded by mu
	mu     sync.Mutex
	lease  string // why the lease is not good; empty: it is
	doubts uint64 // how often the lease was doubted
	broken map[*stream]string
}

func newHealth() *health {
	h := &health{state: latest.New[rc.LinkState](), lease: "not connected yet", broken: make(map[*stream]string)}
	h.state.Put(rc.LinkState{Reason: h.lease, Since: time.Now()})
	return h
}

// doubted gives the number of doubts, to be handed to leaseGood.
func (h *health) doubted() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.doubts
}

// doubt notes a sign that the registry may have lost us: the lease counts as
// bad until it has been renewed after this. It and the others tell whether the
// link went up or down by it.
func (h *health) doubt(reason string) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubts++
	h.lease = reason
	return h.updateLocked()
}

// leaseGood notes that the lease was renewed and everything is published. It
// has no effect if there was a doubt since, which the renewal did not answer.
func (h *health) leaseGood(doubts uint64) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.doubts != doubts {
		return false
	}
	h.lease = ""
	return h.updateLocked()
}

// streamBroken notes why a stream is broken. It may be because the registry
// was restarted, so the lease is doubted too.
func (h *health) streamBroken(s *stream, reason string) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken[s] = reason
	h.doubts++
	h.lease = reason
	return h.updateLocked()
}

// streamGood notes that a stream is current, or is not wanted any more.
func (h *health) streamGood(s *stream) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.broken, s)
	return h.updateLocked()
}

func (h *health) updateLocked() (changed bool) {
	now := rc.LinkState{Reason: h.lease, Since: time.Now()}
	if now.Reason == "" {
		for _, reason := range h.broken {
			if now.Reason == "" || reason < now.Reason {
				now.Reason = reason
			}
		}
	}
	now.Up = now.Reason == ""
	old, _, _ := h.state.Look()
	if old.Up == now.Up {
		if old.Reason == now.Reason {
			return false
		}
		now.Since = old.Since
	}
	h.state.Put(now)
	return old.Up != now.Up
}
