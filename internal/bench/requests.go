package bench

import (
	"bytes"
	"context"
	"fmt"

	"zkbridge/zkproto"
)

// nodeData is what the nodes hold that are read and written.
var nodeData = bytes.Repeat([]byte("d"), 128)

// ownNodes prepares n connections, each with a small node of its own, so that
// nothing but the server is shared.
func ownNodes(ctx context.Context, s Server, n, inputSize int) (*load, []string, error) {
	l := &load{stage: stage{server: s}, depth: 1}
	paths := make([]string, n)
	for i := range paths {
		paths[i] = fmt.Sprintf(root+"/node-%04d", i)
	}
	err := l.build(ctx, nil, root)
	if err == nil {
		err = l.build(ctx, nodeData, paths...)
	}
	if err == nil {
		l.all, err = connect(ctx, s.Addr, n, inputSize)
	}
	if err != nil {
		l.clear()
		return nil, nil, err
	}
	return l, paths, nil
}

// repeated makes connection i send request i again and again.
func (l *load) repeated(op zkproto.OpCode, requests []func([]byte) []byte) {
	l.next = func(c *client, i int) { c.queue(op, requests[i%len(requests)]) }
}

func prepareGetData(depth int) func(context.Context, Server, sizes) (subject, error) {
	return func(ctx context.Context, s Server, z sizes) (subject, error) {
		l, paths, err := ownNodes(ctx, s, z.readers, 16<<10)
		if err != nil {
			return nil, err
		}
		var requests []func([]byte) []byte
		for _, path := range paths {
			requests = append(requests, (&zkproto.GetDataRequest{Path: path}).AppendTo)
		}
		l.depth = depth
		l.repeated(zkproto.OpGetData, requests)
		return l, nil
	}
}

func prepareExists(ctx context.Context, s Server, z sizes) (subject, error) {
	l, paths, err := ownNodes(ctx, s, z.readers, 4<<10)
	if err != nil {
		return nil, err
	}
	var requests []func([]byte) []byte
	for _, path := range paths {
		requests = append(requests, (&zkproto.ExistsRequest{Path: path}).AppendTo)
	}
	l.repeated(zkproto.OpExists, requests)
	return l, nil
}

func prepareSetData(ctx context.Context, s Server, z sizes) (subject, error) {
	l, paths, err := ownNodes(ctx, s, z.writers, 4<<10)
	if err != nil {
		return nil, err
	}
	var requests []func([]byte) []byte
	for _, path := range paths {
		requests = append(requests, (&zkproto.SetDataRequest{Path: path, Data: nodeData, Version: -1}).AppendTo)
	}
	l.repeated(zkproto.OpSetData, requests)
	return l, nil
}

func prepareChildren(ctx context.Context, s Server, z sizes) (subject, error) {
	const dir = root + "/children"
	l := &load{stage: stage{server: s}, depth: 1}
	paths := []string{root, dir}
	for i := range z.names {
		paths = append(paths, dir+"/"+providerName(0, i, 0))
	}
	err := l.build(ctx, nil, paths...)
	if err == nil {
		l.all, err = connect(ctx, s.Addr, z.readers, 64<<10)
	}
	if err != nil {
		l.clear()
		return nil, err
	}
	l.repeated(zkproto.OpGetChildren2, []func([]byte) []byte{(&zkproto.GetChildren2Request{Path: dir}).AppendTo})
	return l, nil
}

// prepareEphemerals has connections create and delete ephemeral nodes with
// Dubbo's kind of name in dir, which is made with the directories above it.
func prepareEphemerals(dir string, above ...string) func(context.Context, Server, sizes) (subject, error) {
	return func(ctx context.Context, s Server, z sizes) (subject, error) {
		l := &load{stage: stage{server: s}, depth: 1}
		err := l.build(ctx, nil, append([]string{root}, above...)...)
		if err == nil {
			l.all, err = connect(ctx, s.Addr, z.writers, 4<<10)
		}
		if err != nil {
			l.clear()
			return nil, err
		}
		creates := make([]func([]byte) []byte, len(l.all))
		deletes := make([]func([]byte) []byte, len(l.all))
		for i := range l.all {
			path := dir + "/" + providerName(0, i, 0)
			creates[i] = (&zkproto.CreateRequest{Path: path, Data: []byte("192.0.2.10"), ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral}).AppendTo
			deletes[i] = (&zkproto.DeleteRequest{Path: path, Version: -1}).AppendTo
		}
		// A measurement may end behind a create: the next one goes on with the delete.
		exists := make([]bool, len(l.all))
		l.next = func(c *client, i int) {
			if exists[i] = !exists[i]; exists[i] {
				c.queue(zkproto.OpCreate, creates[i])
			} else {
				c.queue(zkproto.OpDelete, deletes[i])
			}
		}
		return l, nil
	}
}
