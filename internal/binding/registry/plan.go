package registry

import (
	"slices"
	"time"

	"zkbridge/internal/claims"
)

// plan decides what to publish now, out of what the claims want, what the
// registry has, and how long ago something was seen to be missing.
//
// What is wanted and new, or the same address with other metadata, goes at
// once. What is no longer wanted stays until it has been missing for delay, and
// so does an address whose ip and port another address takes over: in either
// case the client may only be registering anew.
type plan struct {
	list  []claims.Listed
	going map[string]time.Time // by endpoint: when what is missing is taken out
	next  time.Time            // the earliest of these; zero: none
}

// makePlan makes a plan. going is that of the plan before; missing is since
// when what is not in it may have been missing.
func makePlan(want, has []claims.Listed, going map[string]time.Time, missing, now time.Time, delay time.Duration) plan {
	p := plan{going: make(map[string]time.Time)}
	wanted := byEndpoint(want)
	stay := func(at string, h claims.Listed) bool {
		due, ok := going[at]
		if !ok {
			due = missing.Add(delay)
		}
		p.going[at] = due // kept when it has passed too: the call may fail
		if !now.Before(due) {
			return false
		}
		if p.next.IsZero() || due.Before(p.next) {
			p.next = due
		}
		p.list = append(p.list, h)
		return true
	}
	for _, h := range has {
		at := h.At
		w, ok := wanted[at]
		unknown := h.Address == claims.Address{} // what an earlier life has left
		if ok && (unknown || w.Address.Address == h.Address.Address) {
			continue
		}
		if stay(at, h) {
			delete(wanted, at)
		}
	}
	for _, w := range wanted {
		p.list = append(p.list, w)
	}
	sortListed(p.list)
	return p
}

func byEndpoint(list []claims.Listed) map[string]claims.Listed {
	m := make(map[string]claims.Listed, len(list))
	for _, l := range list {
		m[l.At] = l
	}
	return m
}

func sortListed(list []claims.Listed) {
	slices.SortFunc(list, func(a, b claims.Listed) int { return a.Instance.Compare(b.Instance) })
}

// sameList tells whether two sorted lists are the same to the registry.
func sameList(a, b []claims.Listed) bool {
	return slices.EqualFunc(a, b, func(x, y claims.Listed) bool { return x.Instance.Equal(y.Instance) })
}
