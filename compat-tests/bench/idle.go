package main

import (
	"context"
	"time"
)

// settle is how long a server may come to rest before its memory is read.
const settle = 2 * time.Second

// measureIdle reads the memory of a fresh server before and after n sessions
// have connected and sent one ping.
func measureIdle(ctx context.Context, s server, n int) (sample, error) {
	time.Sleep(settle)
	before, err := resident(s.pid)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	all, err := connect(ctx, s.addr, n, 16)
	if err != nil {
		return nil, err
	}
	defer all.close()
	took := time.Since(start)
	if err := all.ping(ctx); err != nil {
		return nil, err
	}
	time.Sleep(settle)
	after, err := resident(s.pid)
	if err != nil {
		return nil, err
	}
	return sample{
		"per session": float64(after-before) / float64(n),
		"resident":    float64(after) / 1e6,
		"connect":     float64(n) / took.Seconds(),
	}, nil
}
