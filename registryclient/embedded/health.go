package embedded

import (
	"sync"
	"time"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/internal/latest"
)

// health makes one link state of the lease and the event streams: up when the
// lease was renewed, everything is published, and no stream is broken.
type health struct {
	state *latest.Value[rc.LinkState]

	// guarded by mu
	mu      sync.Mutex
	leaseBy string             // why the lease is not good; empty: it is
	broken  map[*stream]string // streams that are broken, and why
}

func newHealth() *health {
	h := &health{state: latest.New[rc.LinkState](), leaseBy: "not connected yet", broken: make(map[*stream]string)}
	h.state.Put(rc.LinkState{Reason: h.leaseBy, Since: time.Now()})
	return h
}

// lease notes how the last renewal went; it tells whether the link went up or
// down by it.
func (h *health) lease(reason string) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaseBy = reason
	return h.updateLocked()
}

// stream notes how a stream is.
func (h *health) stream(k *stream, reason string) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reason == "" {
		delete(h.broken, k)
	} else {
		h.broken[k] = reason
	}
	return h.updateLocked()
}

func (h *health) updateLocked() (changed bool) {
	now := rc.LinkState{Reason: h.leaseBy, Since: time.Now()}
	for _, reason := range h.broken {
		if now.Reason == "" || reason < now.Reason && h.leaseBy == "" {
			now.Reason = reason
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
