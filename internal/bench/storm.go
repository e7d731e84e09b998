package bench

import (
	"context"
	"sync/atomic"
	"time"
)

// attempt is how long a client waits for a session before it tries again on
// another connection.
const attempt = 5 * time.Second

// storm is clients that all connect at the same moment. One that is refused or
// not answered tries again, as real ones do: a server whose listen queue is
// shorter than the storm loses connections.
type storm struct {
	server Server
	sizes
}

func prepareStorm(_ context.Context, s Server, z sizes) (subject, error) {
	return &storm{server: s, sizes: z}, nil
}

func (*storm) close() {}

func (p *storm) measure(ctx context.Context, _ time.Duration) (Sample, error) {
	n := p.sizes.storm
	all := make(clients, n)
	latencies := make([]time.Duration, n)
	var again atomic.Int64
	meter := startMeter(p.server.PID)
	start := time.Now()
	err := parallel(ctx, n, n, func(i int) (err error) {
		for {
			all[i], err = dialWithin(ctx, p.server.Addr, 128, sessionTimeout, attempt)
			latencies[i] = time.Since(start)
			if err == nil || ctx.Err() != nil || latencies[i] > dialTimeout {
				return err
			}
			again.Add(1)
		}
	})
	took := time.Since(start)
	s := Sample{"rate": float64(n) / took.Seconds(), "again": float64(again.Load())}
	if spent, ok := meter.spent(); ok {
		s["CPU"] = millis(spent)
	}
	s.quantiles(latencies, time.Millisecond)
	all.close()
	time.Sleep(p.settle / 2)
	return s, err
}
