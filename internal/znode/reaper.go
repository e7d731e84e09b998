package znode

import (
	"context"
	"log/slog"
	"slices"
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
		for _, path := range r.candidates() {
			if !r.reap(path) {
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

// candidates are the paths of what could be removed now, in order.
func (r *Reaper) candidates() (paths []string) {
	r.Tree.mu.RLock()
	now := r.Tree.now().UnixMilli()
	for n := range r.Tree.passing {
		if r.due(n, now) {
			paths = append(paths, n.path)
		}
	}
	r.Tree.mu.RUnlock()
	slices.Sort(paths)
	return paths
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

// reap removes the node at path if it is still due.
func (r *Reaper) reap(path string) (removed bool) {
	t := r.Tree
	t.mu.RLock()
	n := t.nodes[path]
	kept := n == nil || n.kind == Container && r.Keep != nil && r.Keep(path)
	t.mu.RUnlock()
	if kept {
		return false
	}
	kind := Persistent
	t.Update(Origin{Kind: Reaping, Why: "reaper"}, func(x *Tx) error {
		n := t.nodes[path]
		if n == nil || !r.due(n, x.time) { // it was used while we looked at others
			return zkproto.NotEmpty
		}
		kind = n.kind
		x.remove(n, false)
		return nil
	}, func(res Result) { removed = res.Err == nil })
	if removed && r.Log != nil {
		r.Log.Debug("node removed", "path", path, "kind", kind.String())
	}
	return removed
}
