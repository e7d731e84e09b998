package bench

import (
	"context"
	"errors"
	"time"
)

// idle reads the memory of a server before and after sessions have connected and
// sent one ping. On a server that has held more before, it finds nothing.
type idle struct {
	server Server
	sizes
}

func prepareIdle(_ context.Context, s Server, z sizes) (subject, error) {
	return &idle{server: s, sizes: z}, nil
}

func (*idle) close() {}

func (p *idle) measure(ctx context.Context, _ time.Duration) (Sample, error) {
	if p.server.PID == 0 {
		return Sample{}, nil
	}
	time.Sleep(p.settle)
	before, err := resident(p.server.PID)
	if err != nil {
		return nil, err
	}
	all, err := connect(ctx, p.server.Addr, p.sizes.idle, 16)
	if err != nil {
		return nil, err
	}
	defer all.close()
	err = all.ping(ctx)
	time.Sleep(p.settle)
	after, readErr := resident(p.server.PID)
	if err := errors.Join(err, readErr); err != nil {
		return nil, err
	}
	return Sample{
		"per session": float64(after-before) / float64(len(all)),
		"resident":    float64(after) / 1e6,
	}, nil
}
