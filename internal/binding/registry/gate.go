package registry

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// gate is closed until everything that was to be imported at the start has
// been.
type gate struct {
	log   *slog.Logger
	whole func() // called once everything is imported
	open  atomic.Bool
	done  atomic.Bool // nothing is missing; open may be so before

	mu      sync.Mutex
	started bool
	state   registryclient.LinkState
	waiting map[claims.Target]map[string]bool // nil: the names are not known; else the services that are missing
	trouble string                            // the last refusal to watch names
}

func newGate(log *slog.Logger, whole func()) *gate {
	return &gate{log: log, whole: whole, waiting: make(map[claims.Target]map[string]bool)}
}

// start says which targets there are at the start.
func (g *gate) start(targets []claims.Target) {
	defer g.look()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range targets {
		g.waiting[t] = nil
	}
	g.started = true
}

// named says which services of a target have to be imported. Only the first
// answer counts; of what it names, what a later one has no more is not waited for.
func (g *gate) named(t claims.Target, names map[string]bool) {
	if g.finished() {
		return
	}
	defer g.look()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble = ""
	missing, ok := g.waiting[t]
	if !ok {
		return
	}
	if missing == nil {
		missing = make(map[string]bool, len(names))
		for n := range names {
			missing[n] = true
		}
		g.waiting[t] = missing
	}
	for n := range missing {
		if !names[n] {
			delete(missing, n)
		}
	}
}

// imported says that a service is in the tree, or never will be.
func (g *gate) imported(svc registryclient.Service) {
	if g.finished() {
		return
	}
	defer g.look()
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiting[claims.Target{Namespace: svc.Namespace, Group: svc.Group}], svc.Name)
}

// refused says that the names of a target cannot be had.
func (g *gate) refused(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble = err.Error()
}

func (g *gate) link(s registryclient.LinkState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = s
}

// look opens the gate when nothing is missing.
func (g *gate) look() {
	if g.complete() && g.done.CompareAndSwap(false, true) {
		g.whole()
		if g.open.CompareAndSwap(false, true) {
			g.log.Info("everything is imported from the registry: clients may connect")
		} else {
			g.log.Info("everything is imported from the registry")
		}
	}
}

func (g *gate) finished() bool { return g.done.Load() }

// giveUp opens the gate without the registry after a time, if there is a whole
// picture of it from before.
func (g *gate) giveUp(ctx context.Context, after time.Duration, picture func() bool) error {
	t := time.NewTimer(after)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-t.C:
	}
	_, reason := g.ready()
	if picture() && g.open.CompareAndSwap(false, true) {
		g.log.Warn("clients may connect without the registry: they see what it listed before the start", "after", after, "missing", reason)
	}
	return nil
}

func (g *gate) complete() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.started {
		return false
	}
	for t, missing := range g.waiting {
		if missing == nil || len(missing) > 0 {
			return false
		}
		delete(g.waiting, t)
	}
	return true
}

func (g *gate) ready() (bool, string) {
	if g.open.Load() {
		return true, ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.started {
		return false, "the registry binding has not started"
	}
	away := ""
	switch {
	case g.trouble != "":
		away = " (" + g.trouble + ")"
	case !g.state.Up:
		away = " (the registry is away: " + g.state.Reason + ")"
	}
	targets := make([]claims.Target, 0, len(g.waiting))
	for t := range g.waiting {
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(a, b claims.Target) int { return a.Service("").Compare(b.Service("")) })
	count, example := 0, registryclient.Service{}
	for _, t := range targets {
		if g.waiting[t] == nil {
			return false, fmt.Sprintf("waiting for the names of the services of %s%s", t, away)
		}
		for n := range g.waiting[t] {
			if count == 0 || n < example.Name {
				example = t.Service(n)
			}
			count++
		}
	}
	if count == 0 {
		return g.open.Load(), "about to be ready"
	}
	return false, fmt.Sprintf("waiting for the first list of %d services, such as %s%s", count, example, away)
}
