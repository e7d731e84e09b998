package bridge

import (
	"context"
	"sync/atomic"
	"time"

	"zkbridge/internal/binding/guard"
	"zkbridge/sessions"
)

// authority asks the guard whether a silent session is over. While clients are
// not let in, none is: how should it speak?
type authority struct {
	*guard.Guard
	open *atomic.Bool // clients are let in
}

func (a authority) Over(ctx context.Context, s *sessions.Session) (bool, error) {
	if !a.open.Load() {
		return false, nil
	}
	return a.Guard.Over(ctx, s)
}

// letIn waits until clients are let in; from then on every session of the life
// before has its whole timeout to come back.
func (b *Bridge) letIn(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ok, _ := b.binding.Ready(); !ok; ok, _ = b.binding.Ready() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	for _, s := range b.sessions.All() {
		if !s.Closing() {
			s.Touch()
		}
	}
	b.open.Store(true)
	return nil
}
