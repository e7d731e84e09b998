package observer_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/observer"
	"zkbridge/zkproto"
)

// recorder keeps what it is given.
type recorder struct {
	mu     sync.Mutex
	events []observer.Event
}

func (r *recorder) Record(e observer.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) kinds() []observer.Kind {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kinds []observer.Kind
	for _, e := range r.events {
		if e.Kind != observer.SessionHeard {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

func request(xid int32, op zkproto.OpCode, m zkproto.Message) []byte {
	head := zkproto.RequestHeader{Xid: xid, Op: op}
	return zkproto.AppendFrame(nil, func(b []byte) []byte {
		b = head.AppendTo(b)
		if m != nil {
			b = m.AppendTo(b)
		}
		return b
	})
}

func reply(xid int32, code zkproto.Code, m zkproto.Message) []byte {
	head := zkproto.ReplyHeader{Xid: xid, Zxid: 1, Err: code}
	return zkproto.AppendFrame(nil, func(b []byte) []byte {
		b = head.AppendTo(b)
		if m != nil {
			b = m.AppendTo(b)
		}
		return b
	})
}

func TestTapReadsWhatClientsDo(t *testing.T) {
	const leaf = "dubbo%3A%2F%2F192.0.2.10%3A20880%2Fcom.x.S%3Fgroup%3Dg%26version%3D1.0.0"
	const path = "/dubbo/com.x.S/providers/" + leaf
	to := &recorder{}
	up, down := (&observer.Tap{Root: "/dubbo", To: to}).Connection()

	connect := zkproto.ConnectRequest{Timeout: 6000, Passwd: make([]byte, 16)}
	welcome := zkproto.ConnectResponse{Timeout: 6000, SessionID: 77, Passwd: make([]byte, 16)}
	up(zkproto.AppendFrame(nil, connect.AppendTo))
	down(zkproto.AppendFrame(nil, welcome.AppendTo))
	require.Equal(t, observer.SessionOpened, to.events[0].Kind)
	require.Equal(t, int64(77), to.events[0].Session)
	require.Equal(t, 6*time.Second, to.events[0].Timeout)

	// Frames come in any pieces; a create that is refused, and one elsewhere, say nothing.
	create := &zkproto.CreateRequest{Path: path, ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral}
	bytes := request(1, zkproto.OpCreate2, create)
	bytes = append(bytes, request(2, zkproto.OpCreate, &zkproto.CreateRequest{Path: "/dubbo/com.x.S", ACL: zkproto.WorldAnyone()})...)
	bytes = append(bytes, request(3, zkproto.OpCreate, create)...)
	bytes = append(bytes, request(4, zkproto.OpDelete, &zkproto.DeleteRequest{Path: path, Version: -1})...)
	for _, b := range bytes {
		up([]byte{b})
	}
	down(reply(1, zkproto.OK, &zkproto.Create2Response{Path: path}))
	down(reply(2, zkproto.OK, &zkproto.CreateResponse{Path: "/dubbo/com.x.S"}))
	down(append(reply(3, zkproto.NodeExists, nil), reply(4, zkproto.OK, nil)...))
	require.Equal(t, []observer.Kind{observer.SessionOpened, observer.Created, observer.Deleted}, to.kinds())
	for _, e := range to.events {
		if e.Kind == observer.Created {
			require.Equal(t, "com.x.S:1.0.0:g", e.Service)
			require.Equal(t, "192.0.2.10:20880", e.Address)
			require.Equal(t, leaf, e.Name)
			require.Equal(t, int64(77), e.Session)
			require.False(t, e.Asked.After(e.At))
		}
	}
	up(request(5, zkproto.OpCloseSession, nil))
	require.Equal(t, observer.SessionClosed, to.kinds()[3])
}

func TestTapSeesSessionsEnd(t *testing.T) {
	for _, test := range []struct {
		name    string
		welcome zkproto.ConnectResponse
		want    []observer.Kind
	}{
		{"resumed", zkproto.ConnectResponse{Timeout: 6000, SessionID: 77, Passwd: make([]byte, 16)}, []observer.Kind{observer.SessionOpened}},
		{"expired", zkproto.ConnectResponse{Passwd: make([]byte, 16)}, []observer.Kind{observer.SessionExpired}},
		{"another one given", zkproto.ConnectResponse{Timeout: 6000, SessionID: 78, Passwd: make([]byte, 16)}, []observer.Kind{observer.SessionExpired, observer.SessionOpened}},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := &recorder{}
			up, down := (&observer.Tap{Root: "/dubbo", To: to}).Connection()
			connect := zkproto.ConnectRequest{Timeout: 6000, SessionID: 77, Passwd: make([]byte, 16)}
			up(zkproto.AppendFrame(nil, connect.AppendTo))
			down(zkproto.AppendFrame(nil, test.welcome.AppendTo))
			require.Equal(t, test.want, to.kinds())
			require.Equal(t, int64(77), to.events[0].Session)
		})
	}
}

func TestTapStopsAtNonsense(t *testing.T) {
	to := &recorder{}
	up, down := (&observer.Tap{Root: "/dubbo", To: to}).Connection()
	up([]byte("ruok\x00\x00"))
	down([]byte("imok"))
	up(make([]byte, 100))
	require.Empty(t, to.kinds())
}
