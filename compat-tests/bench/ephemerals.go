package main

import (
	"context"
	"fmt"

	"zkbridge/zkproto"
)

// prepareEphemerals has connections create and delete ephemeral nodes with
// Dubbo's kind of name, in dirs below root, which are made.
func prepareEphemerals(root string, dirs ...string) func(context.Context, server, options) (subject, error) {
	return func(ctx context.Context, s server, o options) (subject, error) {
		all, err := connect(ctx, s.addr, o.writers, 4<<10)
		if err != nil {
			return nil, err
		}
		for _, dir := range append([]string{""}, dirs...) {
			if err := all[0].create(root+dir, nil, zkproto.FlagPersistent); err != nil {
				return nil, err
			}
		}
		creates := make([]func([]byte) []byte, len(all))
		deletes := make([]func([]byte) []byte, len(all))
		for i := range all {
			path := root + dirs[len(dirs)-1] + "/" + providerName(i)
			create := zkproto.CreateRequest{Path: path, Data: []byte("192.0.2.10"), ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral}
			remove := zkproto.DeleteRequest{Path: path, Version: -1}
			creates[i], deletes[i] = create.AppendTo, remove.AppendTo
		}
		// A measurement may end behind a create: the next one goes on with the delete.
		exists := make([]bool, len(all))
		return &load{server: s, all: all, depth: 1, next: func(c *client, i, _ int) {
			if exists[i] = !exists[i]; exists[i] {
				c.queue(zkproto.OpCreate, creates[i])
			} else {
				c.queue(zkproto.OpDelete, deletes[i])
			}
		}}, nil
	}
}

// providerName is a node name as long as those that Dubbo registers.
func providerName(i int) string {
	return fmt.Sprintf("tri%%3A%%2F%%2F192.0.2.10%%3A%d%%2Fcom.example.demo.GreetService%%3Fapplication%%3Ddemo-provider"+
		"%%26deprecated%%3Dfalse%%26dubbo%%3D2.0.2%%26dynamic%%3Dtrue%%26generic%%3Dfalse%%26interface%%3Dcom.example.demo.GreetService"+
		"%%26methods%%3Dgreet%%26prefer.serialization%%3Dhessian2%%2Cfastjson2%%26release%%3D3.3.6%%26side%%3Dprovider%%26timestamp%%3D1760000000000", 20000+i)
}
