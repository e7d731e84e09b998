package bench

import (
	"context"
	"time"

	"zkbridge/zkproto"
)

// register is many sessions that register providers, as applications do that
// start at the same time. Each registers the next one when it has its reply.
type register struct {
	stage
	sizes
	turn int
}

func prepareRegister(ctx context.Context, s Server, z sizes) (subject, error) {
	r := &register{stage: stage{server: s}, sizes: z}
	if err := r.build(ctx, nil, serviceDirs(z.services)...); err != nil {
		r.clear()
		return nil, err
	}
	return r, nil
}

func (r *register) close() { r.clear() }

func (r *register) measure(ctx context.Context, _ time.Duration) (Sample, error) {
	all, err := connect(ctx, r.server.Addr, r.sessions, 1<<10)
	if err != nil {
		return nil, err
	}
	defer func() {
		all.close()
		time.Sleep(r.settle / 2)
	}()
	r.turn++
	requests := make([][]zkproto.CreateRequest, len(all))
	for i := range requests {
		for k := range r.each {
			service := (i*r.each + k) % r.services
			requests[i] = append(requests[i], zkproto.CreateRequest{
				Path: providersDir(service) + "/" + providerName(service, i, r.turn), Data: []byte("192.0.2.10"),
				ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral,
			})
		}
	}
	latencies := make([]time.Duration, r.sessions*r.each)
	meter := startMeter(r.server.PID)
	start := time.Now()
	err = all.each(func(i int, c *client) error {
		for k := range requests[i] {
			sent := time.Now()
			if _, err := c.call(zkproto.OpCreate, requests[i][k].AppendTo); err != nil {
				return err
			}
			latencies[i*r.each+k] = time.Since(sent)
		}
		return nil
	})
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	s := Sample{"all": millis(took), "rate": float64(len(latencies)) / took.Seconds()}
	if spent, ok := meter.spent(); ok {
		s["CPU"] = millis(spent)
	}
	s.quantiles(latencies, time.Millisecond)
	return s, nil
}
