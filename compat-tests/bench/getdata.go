package main

import (
	"bytes"
	"context"
	"fmt"

	"zkbridge/zkproto"
)

// prepareGetData has connections read small nodes, each its own, so that nothing
// but the server is shared.
func prepareGetData(depth int) func(context.Context, server, options) (subject, error) {
	return func(ctx context.Context, s server, o options) (subject, error) {
		all, err := connect(ctx, s.addr, o.readers, 16<<10)
		if err != nil {
			return nil, err
		}
		if err := all[0].create("/bench-read", nil, zkproto.FlagPersistent); err != nil {
			return nil, err
		}
		requests := make([]func([]byte) []byte, len(all))
		for i := range all {
			req := zkproto.GetDataRequest{Path: fmt.Sprintf("/bench-read/node-%04d", i)}
			if err := all[0].create(req.Path, bytes.Repeat([]byte("d"), 128), zkproto.FlagPersistent); err != nil {
				return nil, err
			}
			requests[i] = req.AppendTo
		}
		return &load{server: s, all: all, depth: depth, next: func(c *client, i, _ int) {
			c.queue(zkproto.OpGetData, requests[i])
		}}, nil
	}
}
