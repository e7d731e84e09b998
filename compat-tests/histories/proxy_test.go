//go:build compat

package histories_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/zkproto"
)

// liar is a proxy before a server. It passes on what clients send and changes
// what they are told.
type liar struct {
	listener net.Listener
	server   string
	lie      atomic.Pointer[lie]
	group    sync.WaitGroup
}

// lie makes of a frame that the server sends to a client what the client gets:
// any number of frames. op is that of the request, OpNotification for an event
// and OpCreateSession for the answer to a handshake. It may be called by
// several goroutines.
type lie func(op zkproto.OpCode, frame []byte) [][]byte

func newLiar(t *testing.T, server string) *liar {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &liar{listener: listener, server: server}
	l.tell(func(_ zkproto.OpCode, frame []byte) [][]byte { return [][]byte{frame} })
	l.group.Go(l.serve)
	t.Cleanup(func() {
		listener.Close()
		l.group.Wait()
	})
	return l
}

func (l *liar) addr() string { return l.listener.Addr().String() }

func (l *liar) tell(f lie) { l.lie.Store(&f) }

func (l *liar) serve() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.server)
		if err != nil {
			client.Close()
			continue
		}
		c := &lied{liar: l, ops: map[int32][]zkproto.OpCode{}}
		l.group.Go(func() { c.up(client, server) })
		l.group.Go(func() { c.down(server, client) })
	}
}

// lied is one connection.
type lied struct {
	*liar
	mu  sync.Mutex
	ops map[int32][]zkproto.OpCode // sent with an xid and not answered
}

func (c *lied) up(client, server net.Conn) {
	defer func() { _ = server.(*net.TCPConn).CloseWrite() }()
	for first := true; ; first = false {
		frame, err := zkproto.ReadFrame(client, nil, 64<<20)
		if err != nil {
			return
		}
		if h, _, err := zkproto.DecodeHeader(frame); err == nil && !first {
			c.mu.Lock()
			c.ops[h.Xid] = append(c.ops[h.Xid], h.Op)
			c.mu.Unlock()
		}
		if writeFrame(server, frame) != nil {
			return
		}
	}
}

func (c *lied) down(server, client net.Conn) {
	defer server.Close()
	defer client.Close()
	for first := true; ; first = false {
		frame, err := zkproto.ReadFrame(server, nil, 64<<20)
		if err != nil {
			return
		}
		for _, f := range (*c.lie.Load())(c.operation(frame, first), frame) {
			if writeFrame(client, f) != nil {
				return
			}
		}
	}
}

func (c *lied) operation(frame []byte, first bool) zkproto.OpCode {
	if first {
		return zkproto.OpCreateSession
	}
	h, _, err := zkproto.DecodeReply(frame)
	if err != nil || h.Xid == zkproto.XidNotification {
		return zkproto.OpNotification
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.ops[h.Xid]
	if len(list) == 0 {
		return zkproto.OpError
	}
	c.ops[h.Xid] = list[1:]
	return list[0]
}

func writeFrame(w io.Writer, frame []byte) error {
	_, err := w.Write(zkproto.AppendFrame(nil, func(dst []byte) []byte { return append(dst, frame...) }))
	return err
}
