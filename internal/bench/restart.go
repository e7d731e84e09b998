package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"zkbridge/zkproto"
)

// restart is a rolling restart: one after the other, at a steady pace, one
// provider of each service goes (its session is closed) and comes back in a
// session and under a name of its own. Consumers list what they use at each
// event. One is right when its list has the new name and not the old one; the
// time runs from the moment in which the new provider sends its create.
type restart struct {
	stage
	sizes
	providers [][]*provider // by service
	consumers []*consumer
	turn      int

	cancel  context.CancelCauseFunc // of the consumers
	running sync.WaitGroup
	broken  context.Context // ends with what befell a consumer

	wanted []atomic.Pointer[wanted] // by service
}

type provider struct {
	*client
	name string
}

// wanted is what consumers have to see of one service.
type wanted struct {
	came, went string // names
	since      time.Time
	left       atomic.Int32 // consumers that are not right yet
	done       chan struct{}

	mu        sync.Mutex
	latencies []time.Duration
}

func (w *wanted) right(took time.Duration) {
	w.mu.Lock()
	w.latencies = append(w.latencies, took)
	w.mu.Unlock()
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
}

func prepareRestart(ctx context.Context, s Server, z sizes) (_ subject, err error) {
	r := &restart{stage: stage{server: s}, sizes: z, wanted: make([]atomic.Pointer[wanted], z.services)}
	running, cancel := context.WithCancelCause(ctx)
	r.broken, r.cancel = running, cancel
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err = r.build(ctx, nil, serviceDirs(z.services)...); err != nil {
		return nil, err
	}
	r.providers = make([][]*provider, z.services)
	for i := range r.providers {
		r.providers[i] = make([]*provider, z.replicas)
	}
	err = parallel(ctx, 32, z.services*z.replicas, func(i int) error { return r.provide(ctx, i/z.replicas, i%z.replicas, nil) })
	if err != nil {
		return nil, err
	}
	r.consumers = make([]*consumer, z.consumers)
	err = parallel(ctx, 32, z.consumers, func(i int) error {
		c, err := dial(ctx, s.Addr, 16<<10)
		if err != nil {
			return err
		}
		r.consumers[i] = &consumer{client: c, number: i, seen: make([]*wanted, z.services), asked: make(map[int32]int)}
		for k := range z.uses {
			if err := c.list(providersDir((i*z.uses + k) % z.services)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, c := range r.consumers {
		r.running.Go(func() { cancel(fmt.Errorf("consumer %d: %w", c.number, c.consume(r))) })
	}
	return r, nil
}

// provide opens a session and registers the provider of a service. w, unless nil,
// becomes what consumers have to see.
func (r *restart) provide(ctx context.Context, service, replica int, w *wanted) error {
	c, err := dial(ctx, r.server.Addr, 256)
	if err != nil {
		return err
	}
	p := &provider{client: c, name: providerName(service, service*r.replicas+replica, r.turn)}
	r.providers[service][replica] = p
	if w != nil {
		w.came, w.since = p.name, time.Now()
		r.wanted[service].Store(w)
	}
	return c.create(providersDir(service)+"/"+p.name, []byte("192.0.2.10"), zkproto.FlagEphemeral)
}

func (r *restart) close() {
	r.cancel(errors.New("the case is over"))
	for _, c := range r.consumers {
		if c != nil {
			_ = c.SetReadDeadline(time.Unix(1, 0))
		}
	}
	r.running.Wait()
	var all clients
	for _, c := range r.consumers {
		if c != nil {
			all = append(all, c.client)
		}
	}
	for _, list := range r.providers {
		for _, p := range list {
			if p != nil {
				all = append(all, p.client)
			}
		}
	}
	all.close()
	r.clear()
}

func (r *restart) measure(ctx context.Context, _ time.Duration) (Sample, error) {
	r.turn++
	replica := r.turn % r.replicas
	users := make([]int32, r.services)
	for i := range r.sizes.consumers {
		for k := range r.uses {
			users[(i*r.uses+k)%r.services]++
		}
	}
	meter := startMeter(r.server.PID)
	tick := time.NewTicker(r.pace)
	defer tick.Stop()
	all := make([]*wanted, r.services)
	err := parallel(ctx, r.services, r.services, func(service int) error {
		// All start at once and take their turns by the tick.
		select {
		case <-tick.C:
		case <-r.broken.Done():
			return context.Cause(r.broken)
		}
		old := r.providers[service][replica]
		if err := old.end(); err != nil {
			return fmt.Errorf("close the session of a provider: %w", err)
		}
		w := &wanted{went: old.name, done: make(chan struct{})}
		w.left.Store(users[service])
		all[service] = w
		if err := r.provide(ctx, service, replica, w); err != nil {
			return err
		}
		if users[service] == 0 {
			return nil
		}
		select {
		case <-w.done:
			return nil
		case <-r.broken.Done():
			return context.Cause(r.broken)
		case <-time.After(time.Minute):
			return fmt.Errorf("%d consumers of %s are still wrong after a minute", w.left.Load(), serviceName(service))
		}
	})
	if err != nil {
		return nil, err
	}
	var latencies []time.Duration
	for _, w := range all {
		latencies = append(latencies, w.latencies...)
	}
	s := Sample{}
	if spent, ok := meter.spent(); ok {
		s["CPU"] = millis(spent)
	}
	s.quantiles(latencies, time.Millisecond)
	return s, nil
}

// consumer uses some services and lists them at each event. Its goroutine owns
// what it holds.
type consumer struct {
	*client
	number int
	seen   []*wanted     // by service: the last turn in which its list became right
	asked  map[int32]int // xid to service
}

// consume follows events until the connection fails.
func (c *consumer) consume(r *restart) error {
	services := make(map[string]int, r.services)
	for i := range r.services {
		services[providersDir(i)] = i
	}
	for {
		if len(c.out) > 0 && c.in.Buffered() == 0 {
			if err := c.flush(); err != nil {
				return err
			}
		}
		if err := c.read(); err != nil {
			return err
		}
		h, body, err := zkproto.DecodeReply(c.frame)
		if err != nil {
			return err
		}
		if h.Xid == zkproto.XidNotification {
			var e zkproto.WatcherEvent
			if err := e.Decode(body); err != nil {
				return err
			}
			c.queue(zkproto.OpGetChildren2, (&zkproto.GetChildren2Request{Path: e.Path, Watch: true}).AppendTo)
			c.asked[c.xid] = services[e.Path]
			continue
		}
		if h.Err != zkproto.OK {
			return h.Err
		}
		service := c.asked[h.Xid]
		delete(c.asked, h.Xid)
		w := r.wanted[service].Load()
		if w != nil && c.seen[service] != w && bytes.Contains(body, []byte(w.came)) && !bytes.Contains(body, []byte(w.went)) {
			c.seen[service] = w
			w.right(time.Since(w.since))
		}
	}
}
