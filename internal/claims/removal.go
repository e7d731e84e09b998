package claims

import "time"

// removal remembers that a node of a bound directory was deleted by somebody
// else than its owner: an operator, or a tool that will be its next owner.
type removal struct {
	Path  string
	Owner int64 // whose node it was
	By    int64 // session that deleted it
	When  time.Time
}

// removals are the last ones, at most maxRemovals.
type removals struct {
	byPath map[string]removal
	order  []string
}

const maxRemovals = 1024

func (r *removals) add(m removal) {
	if r.byPath == nil {
		r.byPath = make(map[string]removal)
	}
	if _, ok := r.byPath[m.Path]; !ok {
		if len(r.order) == maxRemovals {
			delete(r.byPath, r.order[0])
			r.order = append(r.order[:0], r.order[1:]...)
		}
		r.order = append(r.order, m.Path)
	}
	r.byPath[m.Path] = m
}
