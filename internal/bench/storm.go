package bench

import (
	"context"
	"time"
)

// storm is clients that all connect at the same moment.
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
	meter := startMeter(p.server.PID)
	start := time.Now()
	err := parallel(ctx, n, n, func(i int) (err error) {
		all[i], err = dial(ctx, p.server.Addr, 128)
		latencies[i] = time.Since(start)
		return err
	})
	took := time.Since(start)
	s := Sample{"rate": float64(n) / took.Seconds()}
	if spent, ok := meter.spent(); ok {
		s["CPU"] = millis(spent)
	}
	s.quantiles(latencies, time.Millisecond)
	all.close()
	time.Sleep(p.settle / 2)
	return s, err
}
