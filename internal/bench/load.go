package bench

import (
	"context"
	"slices"
	"sync"
	"time"
)

// load drives connections in closed loops: each sends its next requests when
// replies come back.
type load struct {
	stage
	all   clients
	depth int // requests under way on each connection
	// next queues the next request of connection i.
	next func(c *client, i int)
}

func (l *load) close() {
	l.all.close()
	l.clear()
}

// measure runs the load for d and counts only whole replies within that time.
func (l *load) measure(_ context.Context, d time.Duration) (Sample, error) {
	meter := startMeter(l.server.PID)
	var mu sync.Mutex
	var latencies []time.Duration
	start := time.Now()
	err := l.all.each(func(i int, c *client) error {
		own, err := l.drive(c, i, start.Add(d))
		mu.Lock()
		latencies = append(latencies, own...)
		mu.Unlock()
		return err
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	n := float64(len(latencies))
	s := Sample{"rate": n / took.Seconds()}
	if spent, ok := meter.spent(); ok {
		s["per CPU"] = n / max(spent.Seconds(), clockTick.Seconds())
	}
	s.quantiles(latencies, time.Microsecond)
	return s, nil
}

// drive keeps depth requests under way on one connection until end, and returns
// how long each took.
func (l *load) drive(c *client, i int, end time.Time) ([]time.Duration, error) {
	latencies := make([]time.Duration, 0, 1<<14)
	sent := make([]time.Time, 0, l.depth) // of the requests under way, oldest first
	for {
		now := time.Now()
		for len(sent) < l.depth && now.Before(end) {
			l.next(c, i)
			sent = append(sent, now)
		}
		if len(sent) == 0 {
			return latencies, nil
		}
		if len(c.out) > 0 {
			if err := c.flush(); err != nil {
				return nil, err
			}
		}
		// Take one reply, and what came with it.
		got := 0
		for got == 0 || got < len(sent) && c.in.Buffered() > 0 {
			if _, err := c.reply(); err != nil {
				return nil, err
			}
			got++
		}
		now = time.Now()
		for _, t := range sent[:got] {
			latencies = append(latencies, now.Sub(t))
		}
		sent = append(sent[:0], sent[got:]...)
	}
}

// quantiles sorts values and adds those that every table of latencies has.
func (s Sample) quantiles(values []time.Duration, unit time.Duration) {
	slices.Sort(values)
	for name, q := range map[string]float64{"p50": 0.50, "p90": 0.90, "p99": 0.99, "max": 1} {
		s[name] = float64(quantile(values, q)) / float64(unit)
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile returns the q-quantile of sorted values, 0 if there are none.
func quantile[T any](sorted []T, q float64) T {
	if len(sorted) == 0 {
		var zero T
		return zero
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
