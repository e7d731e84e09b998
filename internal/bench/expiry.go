package bench

import (
	"context"
	"fmt"
	"time"

	"zkbridge/zkproto"
)

// expiry is sessions that fall silent, each with one ephemeral node, and one that
// sees the nodes go. Their last signs of life are spread over two seconds,
// ZooKeeper's usual tick: it expires sessions tick by tick.
type expiry struct {
	stage
	sizes
}

func prepareExpiry(ctx context.Context, s Server, z sizes) (subject, error) {
	p := &expiry{stage: stage{server: s}, sizes: z}
	return p, p.build(ctx, nil, root, root+"/expiry")
}

func (p *expiry) close() { p.clear() }

// mortal is one of the sessions.
type mortal struct {
	*client
	silent time.Time // just before its last sign of life was sent
}

func (p *expiry) measure(ctx context.Context, _ time.Duration) (Sample, error) {
	watcher, err := dial(ctx, p.server.Addr, 4<<10)
	if err != nil {
		return nil, err
	}
	defer func() { _ = watcher.end() }()
	mortals := make(map[string]*mortal, p.expiring)
	defer func() {
		for _, m := range mortals {
			m.forget()
			_ = m.Close()
		}
	}()
	spread := min(2*time.Second, p.sizes.expiry/2)
	longest := time.Duration(0)
	for i := range p.expiring {
		begun := time.Now()
		c, err := dialWithin(ctx, p.server.Addr, 64, p.sizes.expiry, dialTimeout)
		if err != nil {
			return nil, err
		}
		path := fmt.Sprintf(root+"/expiry/%d", i)
		m := &mortal{client: c}
		mortals[path] = m
		if err := c.create(path, nil, zkproto.FlagEphemeral); err != nil {
			return nil, err
		}
		if _, err := watcher.call(zkproto.OpExists, (&zkproto.ExistsRequest{Path: path, Watch: true}).AppendTo); err != nil {
			return nil, fmt.Errorf("exists %s: %w", path, err)
		}
		m.silent = time.Now()
		if _, err := c.call(zkproto.OpPing, nil); err != nil {
			return nil, err
		}
		longest = max(longest, c.timeout)
		if i+1 < p.expiring {
			time.Sleep(time.Until(begun.Add(spread / time.Duration(p.expiring))))
		}
	}
	if err := watcher.SetReadDeadline(time.Now().Add(longest + 30*time.Second)); err != nil {
		return nil, err
	}
	lateness := make([]time.Duration, 0, len(mortals))
	for range mortals {
		path, err := watcher.event()
		if err != nil {
			return nil, fmt.Errorf("wait for sessions to expire: %w", err)
		}
		m := mortals[path]
		if m == nil {
			return nil, fmt.Errorf("an event of %q, where none was asked for", path)
		}
		lateness = append(lateness, time.Since(m.silent)-m.timeout)
	}
	s := Sample{}
	s.quantiles(lateness, time.Millisecond)
	s["earliest"] = millis(lateness[0])
	return s, nil
}
