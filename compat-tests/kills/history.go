//go:build compat

package kills

import (
	"slices"
	"sync"
	"time"

	"zkbridge/compat-tests/observer"
)

// history is what everybody saw, since the last time that all was well.
type history struct {
	mu     sync.Mutex
	events []observer.Event
}

// Record implements observer.Recorder.
func (h *history) Record(e observer.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

// take gives what was recorded, and begins anew with what is still true: the last
// list of each service, and of what lives its session and its registration.
func (h *history) take(lives func(observer.Event) bool) []observer.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.events
	slices.SortStableFunc(all, func(a, b observer.Event) int { return a.At.Compare(b.At) })
	lists := map[string]observer.Event{}
	heard := map[int64]observer.Event{}
	var kept []observer.Event
	for _, e := range all {
		switch e.Kind {
		case observer.List:
			lists[string(e.Side)+" "+e.Service] = e
		case observer.SessionHeard:
			heard[e.Session] = e
		case observer.SessionOpened, observer.Created, observer.NativeUp:
			if lives(e) {
				kept = append(kept, e)
			}
		}
	}
	for _, e := range lists {
		kept = append(kept, e)
	}
	for _, e := range heard {
		kept = append(kept, e)
	}
	h.events = kept
	return all
}

// last is the newest list of a service on a side.
func (h *history) last(side observer.Side, service string) (addresses []string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.events) - 1; i >= 0; i-- {
		e := h.events[i]
		if e.Kind == observer.List && e.Side == side && e.Service == service && e.At.After(at) {
			at = e.At
			addresses = addresses[:0]
			for _, item := range e.Items {
				addresses = append(addresses, item.Address)
			}
		}
	}
	slices.Sort(addresses)
	return addresses, at
}
