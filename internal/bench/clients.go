package bench

import (
	"context"
	"sync"

	"zkbridge/zkproto"
)

// clients are many connections to one server.
type clients []*client

// connect opens n sessions, some of them at a time.
func connect(ctx context.Context, addr string, n, inputSize int) (clients, error) {
	all := make(clients, n)
	err := parallel(ctx, 64, n, func(i int) (err error) {
		all[i], err = dial(ctx, addr, inputSize)
		return err
	})
	if err != nil {
		all.close()
		return nil, err
	}
	return all, nil
}

// ping sends one ping on each connection.
func (all clients) ping(ctx context.Context) error {
	return parallel(ctx, 64, len(all), func(i int) error {
		_, err := all[i].call(zkproto.OpPing, nil)
		return err
	})
}

// close ends all sessions. Some may be missing.
func (all clients) close() {
	_ = parallel(context.Background(), 64, len(all), func(i int) error {
		if all[i] != nil {
			_ = all[i].end()
		}
		return nil
	})
}

// each runs fn for every connection at once and returns when all have returned.
func (all clients) each(fn func(i int, c *client) error) error {
	return parallel(context.Background(), len(all), len(all), func(i int) error { return fn(i, all[i]) })
}

// parallel runs fn(0) to fn(n-1), width of them at a time, until one fails.
func parallel(ctx context.Context, width, n int, fn func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(width, n) {
		wg.Go(func() {
			for i := range next {
				if err := fn(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
