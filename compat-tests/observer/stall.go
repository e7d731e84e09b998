package observer

import (
	"context"
	"time"
)

// Stalls records the times in which the observer was not given a processor: on
// a machine that is too busy a late list proves nothing.
type Stalls struct {
	To Recorder
}

// Run measures until ctx ends.
func (s *Stalls) Run(ctx context.Context) error {
	const every, forgiven = 5 * time.Millisecond, 10 * time.Millisecond
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		now := time.Now()
		if late := now.Sub(last) - every; late > forgiven {
			s.To.Record(Event{At: now, Kind: Stalled, Timeout: late})
		}
		last = now
	}
}
