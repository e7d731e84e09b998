package znode

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"zkbridge/zkproto"
)

// Reaper removes containers that have lost their last child and TTL nodes that
// have none and whose data has not changed for their time (ContainerManager). A
// removal is a transaction of its own, with the events of a delete; no ACL is
// asked. A container that never had a child stays.
type Reaper struct {
	Tree      *Tree
	Interval  time.Duration          // between two looks at all of them; 0: a minute
	PerMinute int                    // most removals in a minute; 0: 10,000
	Keep      func(path string) bool // containers that stay although they are empty; asked without the tree's lock. Nil: none
	TTL       bool                   // TTL nodes too: without it they stay, as what they are
	Log       *slog.Logger           // nil: silent
}

// Run looks for nodes to remove until ctx ends.
func (r *Reaper) Run(ctx context.Context) error {
	interval, gap := r.Interval, time.Minute/10000
	if interval == 0 {
		interval = time.Minute
	}
	if r.PerMinute > 0 {
		gap = time.Minute / time.Duration(r.PerMinute)
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, c := range r.candidates() {
			if c.kind == Container && r.Keep != nil && r.Keep(c.path) || !r.reap(c) {
				continue
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(gap):
			}
		}
	}
}

// candidate is a node that could be removed.
type candidate struct {
	path string
	kind Kind
}

// lookTogether is how many nodes are looked at while the lock is held.
const lookTogether = 10000

// candidates are what could be removed now, in the order of their paths. One that
// changes its place meanwhile may be left out; the next look finds it.
func (r *Reaper) candidates() (due []candidate) {
	for from, more := 0, true; more; from += lookTogether {
		more = r.look(from, &due)
	}
	slices.SortFunc(due, func(a, b candidate) int { return strings.Compare(a.path, b.path) })
	return due
}

func (r *Reaper) look(from int, due *[]candidate) (more bool) {
	t := r.Tree
	t.mu.RLock()
	defer t.mu.RUnlock()
	now := t.now().UnixMilli()
	to := min(from+lookTogether, len(t.passing))
	for i := from; i < to; i++ {
		if n := t.passing[i]; r.due(n, now) {
			*due = append(*due, candidate{n.path, n.kind})
		}
	}
	return to < len(t.passing)
}

// due reports whether n has outlived its use. The tree's lock is held.
func (r *Reaper) due(n *node, now int64) bool {
	if len(n.children()) > 0 {
		return false
	}
	switch n.kind {
	case Container:
		return n.creates > 0
	case TTL:
		return r.TTL && now-n.mtime > n.owner
	}
	return false
}

// reap removes a node if it is still due.
func (r *Reaper) reap(c candidate) (removed bool) {
	t := r.Tree
	t.Update(Origin{Kind: Reaping, Why: "reaper"}, func(x *Tx) error {
		n := t.nodes[c.path]
		if n == nil || n.kind != c.kind || !r.due(n, x.time) || t.failing() { // it was used while we looked at others
			return zkproto.NotEmpty
		}
		x.remove(n, false)
		return nil
	}, func(res Result) { removed = res.Err == nil })
	if removed && r.Log != nil {
		r.Log.Debug("node removed", "path", c.path, "kind", c.kind.String())
	}
	return removed
}
