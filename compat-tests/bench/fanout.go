package main

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
	server   server
	writer   *client
	watchers clients
	exists   bool
}

const fanoutDir = "/bench-fanout"

func prepareFanout(ctx context.Context, s server, o options) (subject, error) {
	writer, err := dial(ctx, s.addr, 4<<10)
	if err != nil {
		return nil, err
	}
	if err := writer.create(fanoutDir, nil, zkproto.FlagPersistent); err != nil {
		return nil, err
	}
	for i := range o.providers {
		if err := writer.create(fanoutDir+"/"+providerName(i), nil, zkproto.FlagEphemeral); err != nil {
			return nil, err
		}
	}
	watchers, err := connect(ctx, s.addr, o.watchers, 16<<10)
	if err != nil {
		return nil, err
	}
	f := &fanout{server: s, writer: writer, watchers: watchers}
	return f, f.watchers.each(func(_ int, c *client) error { return f.list(c) })
}

func (f *fanout) list(c *client) error {
	req := zkproto.GetChildren2Request{Path: fanoutDir, Watch: true}
	_, err := c.call(zkproto.OpGetChildren2, req.AppendTo)
	return err
}

func (f *fanout) close() { append(f.watchers, f.writer).close() }

// measure makes changes for d, one after the other, and returns medians.
func (f *fanout) measure(_ context.Context, d time.Duration) (sample, error) {
	before, err := cpuTime(f.server.pid)
	if err != nil {
		return nil, err
	}
	var events, lists []time.Duration
	for start := time.Now(); time.Since(start) < d; {
		event, err := f.change()
		if err != nil {
			return nil, err
		}
		listed := time.Now()
		if err := f.watchers.each(func(_ int, c *client) error { return f.list(c) }); err != nil {
			return nil, err
		}
		events, lists = append(events, event), append(lists, time.Since(listed))
		time.Sleep(10 * time.Millisecond) // let the server come to rest: one change at a time
	}
	after, err := cpuTime(f.server.pid)
	if err != nil {
		return nil, err
	}
	slices.Sort(events)
	slices.Sort(lists)
	return sample{
		"last event": millis(quantile(events, 0.5)),
		"all lists":  millis(quantile(lists, 0.5)),
		"CPU":        millis(after-before) / float64(len(events)),
	}, nil
}

// change makes one change and says how long after it the last watcher had its
// event.
func (f *fanout) change() (time.Duration, error) {
	at := make([]time.Time, len(f.watchers))
	ready := make(chan error, 1)
	begun := make(chan struct{}, len(f.watchers))
	go func() {
		ready <- f.watchers.each(func(i int, c *client) error {
			begun <- struct{}{}
			err := c.event()
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
	err = errors.Join(err, <-ready)
	return slices.MaxFunc(at, time.Time.Compare).Sub(start), err
}
