package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"zkbridge/zkproto"
)

// fanout is one writer and many connections that list a directory and watch it.
// At each change every watcher gets the event, and when all have it all list
// again at once. (Consumers list as soon as they have the event, but these share
// their processors with the server: their requests would delay the events that
// others still wait for.)
type fanout struct {
	stage
	writer   *client
	watchers clients
	exists   bool
}

const fanoutDir = root + "/fanout"

func prepareFanout(ctx context.Context, s Server, z sizes) (_ subject, err error) {
	f := &fanout{stage: stage{server: s}}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if err = f.build(ctx, nil, root, fanoutDir); err != nil {
		return nil, err
	}
	if f.writer, err = dial(ctx, s.Addr, 4<<10); err != nil {
		return nil, err
	}
	for i := range z.listed {
		if err = f.writer.create(fanoutDir+"/"+providerName(0, i, 0), nil, zkproto.FlagEphemeral); err != nil {
			return nil, err
		}
	}
	if f.watchers, err = connect(ctx, s.Addr, z.watchers, 16<<10); err != nil {
		return nil, err
	}
	return f, f.listAll()
}

func (f *fanout) listAll() error {
	return f.watchers.each(func(_ int, c *client) error { return c.list(fanoutDir) })
}

func (f *fanout) close() {
	append(f.watchers, f.writer).close()
	f.clear()
}

// measure makes changes for d, one after the other, and returns medians.
func (f *fanout) measure(_ context.Context, d time.Duration) (Sample, error) {
	meter := startMeter(f.server.PID)
	var events, lists []time.Duration
	for start := time.Now(); time.Since(start) < d; {
		event, err := f.change()
		if err != nil {
			return nil, err
		}
		listed := time.Now()
		if err := f.listAll(); err != nil {
			return nil, err
		}
		events, lists = append(events, event), append(lists, time.Since(listed))
		time.Sleep(10 * time.Millisecond) // let the server come to rest: one change at a time
	}
	slices.Sort(events)
	slices.Sort(lists)
	s := Sample{"last event": millis(quantile(events, 0.5)), "all lists": millis(quantile(lists, 0.5))}
	if spent, ok := meter.spent(); ok {
		s["CPU"] = millis(spent) / float64(len(events))
	}
	return s, nil
}

// change makes one change and says how long after it the last watcher had its
// event.
func (f *fanout) change() (time.Duration, error) {
	at := make([]time.Time, len(f.watchers))
	ready := make(chan error, 1)
	begun := make(chan struct{}, len(f.watchers))
	go func() { // ends below
		ready <- f.watchers.each(func(i int, c *client) error {
			begun <- struct{}{}
			_, err := c.event()
			at[i] = time.Now()
			return err
		})
	}()
	for range f.watchers {
		<-begun
	}
	var err error
	start := time.Now()
	if f.exists {
		err = f.writer.delete(fanoutDir + "/changing")
	} else {
		err = f.writer.create(fanoutDir+"/changing", nil, zkproto.FlagEphemeral)
	}
	f.exists = !f.exists
	if err != nil {
		for _, c := range f.watchers {
			_ = c.SetReadDeadline(time.Unix(1, 0)) // nothing will come
		}
	}
	err = errors.Join(err, <-ready)
	return slices.MaxFunc(at, time.Time.Compare).Sub(start), err
}
