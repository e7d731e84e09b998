package bench

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"

	"zkbridge/zkproto"
)

// FloorCases are the cases that canned replies can take part in.
func FloorCases() []string {
	var names []string
	for _, c := range cases() {
		if c.floor {
			names = append(names, c.name)
		}
	}
	return names
}

// ServeFloor answers every request on ln with a canned reply of the length that a
// server's would have, until ctx ends: it keeps no tree, no sessions and no
// order, and looks at nothing but the opcode. It is the plainest loop there is:
// one goroutine a connection, all that has arrived answered with one write.
func ServeFloor(ctx context.Context, ln net.Listener) error {
	floor := newFloor()
	var conns sync.WaitGroup
	defer conns.Wait()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	for {
		conn, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		conns.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer func() { _ = conn.Close() }()
			floor.serve(conn)
		})
	}
}

// floor has the bodies of its replies by opcode; all others are empty.
type floor struct {
	bodies map[zkproto.OpCode][]byte
}

func newFloor() *floor {
	var st zkproto.Stat
	var names []string
	for i := range fullSizes().names {
		names = append(names, providerName(0, i, 0))
	}
	created := zkproto.CreateResponse{Path: providersDir(0) + "/" + names[0]}
	return &floor{bodies: map[zkproto.OpCode][]byte{
		zkproto.OpExists:       st.AppendTo(nil),
		zkproto.OpSetData:      st.AppendTo(nil),
		zkproto.OpGetData:      (&zkproto.GetDataResponse{Data: nodeData, Stat: st}).AppendTo(nil),
		zkproto.OpGetChildren2: (&zkproto.GetChildren2Response{Children: names, Stat: st}).AppendTo(nil),
		zkproto.OpCreate:       created.AppendTo(nil),
	}}
}

func (f *floor) serve(conn net.Conn) {
	in := bufio.NewReaderSize(conn, 4<<10)
	frame, err := zkproto.ReadFrame(in, nil, zkproto.DefaultMaxFrame)
	var hello zkproto.ConnectRequest
	if err != nil || hello.Decode(frame) != nil {
		return
	}
	welcome := zkproto.ConnectResponse{Timeout: hello.Timeout, SessionID: 1, Passwd: make([]byte, zkproto.PasswdSize), HasReadOnly: true}
	out := zkproto.AppendFrame(nil, welcome.AppendTo)
	for zxid := int64(1); ; zxid++ {
		if in.Buffered() == 0 {
			if _, err := conn.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
		if frame, err = zkproto.ReadFrame(in, frame, zkproto.DefaultMaxFrame); err != nil {
			return
		}
		h, _, err := zkproto.DecodeHeader(frame)
		if err != nil {
			return
		}
		reply := zkproto.ReplyHeader{Xid: h.Xid, Zxid: zxid}
		out = zkproto.AppendFrame(out, func(dst []byte) []byte {
			return append(reply.AppendTo(dst), f.bodies[h.Op]...)
		})
	}
}
