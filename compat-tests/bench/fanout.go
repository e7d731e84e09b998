package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"zkbridge/zkproto"
)

// fanout is one writer and many connections that list a directory and watch it.
// At each change every watcher gets the event and lists again, at once, as
// consumers do.
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
		event, list, err := f.change()
		if err != nil {
			return nil, err
		}
		events, lists = append(events, event), append(lists, list)
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
		"last list":  millis(quantile(lists, 0.5)),
		"CPU":        millis(after-before) / float64(len(events)),
	}, nil
}

// change makes one change and says how long after it the last watcher had its
// event, and the last one the new list.
func (f *fanout) change() (event, list time.Duration, err error) {
	n := len(f.watchers)
	eventAt, listAt := make([]time.Time, n), make([]time.Time, n)
	ready := make(chan error, 1)
	begun := make(chan struct{}, n)
	go func() {
		ready <- f.watchers.each(func(i int, c *client) error {
			begun <- struct{}{}
			if err := c.event(); err != nil {
				return err
			}
			eventAt[i] = time.Now()
			err := f.list(c)
			listAt[i] = time.Now()
			return err
		})
	}()
	for range n {
		<-begun
	}
	start := time.Now()
	if f.exists {
		err = f.writer.delete(fanoutDir + "/changing")
	} else {
		err = f.writer.create(fanoutDir+"/changing", nil, zkproto.FlagEphemeral)
	}
	f.exists = !f.exists
	if err := errors.Join(err, <-ready); err != nil {
		return 0, 0, err
	}
	return slices.MaxFunc(eventAt, time.Time.Compare).Sub(start), slices.MaxFunc(listAt, time.Time.Compare).Sub(start), nil
}
