//go:build compat

package faults_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/wire"
	"zkbridge/zkproto"
)

// timeout is that of the sessions that are meant to expire: with short ticks, in
// ms.
const timeout = 1000

// place is a server, a relay before it, a client behind the relay and one that
// sees the server as it is.
type place struct {
	t        *testing.T
	relay    *control.Relay
	far      *wire.Stage
	near     *wire.Stage
	client   *wire.Conn
	observer *wire.Conn
	old      []byte // password of the client's session
}

// onEach runs fn on a real ZooKeeper and on the bridge.
func onEach(t *testing.T, fn func(p *place)) {
	for _, kind := range control.Selected(t) {
		if kind == control.BridgeRegistry { // the registry has no part in it
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			target := control.Start(t, kind, control.Options{Tick: wire.FastTick, MaxSession: 40 * time.Second})
			relay, err := control.NewRelay("", target.Addr())
			require.NoError(t, err)
			t.Cleanup(func() { relay.Close() })
			p := &place{t: t, relay: relay}
			p.far = wire.Open(t.Context(), wire.Server{Addr: relay.Addr()}, 0)
			p.near = wire.Open(t.Context(), wire.Server{Addr: target.Addr()}, 0)
			t.Cleanup(p.far.HangUp)
			t.Cleanup(p.near.HangUp)
			p.try(func() {
				p.observer = p.near.Connect("observer")
				p.observer.Create(wire.Root, 0)
			})
			fn(p)
		})
	}
}

func (p *place) try(fn func()) {
	p.t.Helper()
	require.NoError(p.t, p.near.Try("observer", func() {
		require.NoError(p.t, p.far.Try("client", fn))
	}))
}

// connect opens the client's session.
func (p *place) connect(ms int32) {
	p.client = p.far.Dial("client")
	p.client.Handshake(zkproto.ConnectRequest{Timeout: ms, Passwd: make([]byte, zkproto.PasswdSize), HasReadOnly: true})
	p.old = p.client.Passwd
}

// resume comes back with a new connection, and says whether the session was
// still there.
func (p *place) resume(ms int32) bool {
	id := p.client.ID
	p.client = p.far.Dial("client again")
	got := p.client.Handshake(zkproto.ConnectRequest{Timeout: ms, SessionID: id, Passwd: p.old, HasReadOnly: true})
	require.Contains(p.t, []int64{0, id}, got.SessionID)
	return got.SessionID == id
}

// deaf holds back what the server says, while it is closed.
type deaf struct {
	mu   sync.Mutex
	gate chan struct{} // nil: open
}

func (d *deaf) Connection() (up, down func([]byte)) {
	return func([]byte) {}, func([]byte) {
		d.mu.Lock()
		gate := d.gate
		d.mu.Unlock()
		if gate != nil {
			<-gate
		}
	}
}

func (d *deaf) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = make(chan struct{})
}

func (d *deaf) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.gate)
	d.gate = nil
}

// The connection is reset between the moment a write is carried out and its
// reply: the client that comes back finds it done, once.
func TestResetBeforeTheReply(t *testing.T) {
	acl := zkproto.WorldAnyone()
	n := wire.Root + "/n-"
	writes := []struct {
		name string
		op   zkproto.OpCode
		m    zkproto.Message
		want string // what is below the root then
	}{
		{"create", zkproto.OpCreate, &zkproto.CreateRequest{Path: n, ACL: acl, Flags: zkproto.FlagPersistentSequential}, "[e n-0000000001] 0"},
		{"create ephemeral", zkproto.OpCreate2, &zkproto.CreateRequest{Path: n, ACL: acl, Flags: zkproto.FlagEphemeralSequential}, "[e n-0000000001] 0"},
		{"setData", zkproto.OpSetData, &zkproto.SetDataRequest{Path: wire.Root + "/e", Data: []byte("new"), Version: 0}, "[e] 1"},
		{"delete", zkproto.OpDelete, &zkproto.DeleteRequest{Path: wire.Root + "/e", Version: 0}, "[]"},
		{"multi", zkproto.OpMulti, &zkproto.MultiRequest{Ops: []zkproto.MultiOp{
			{Op: zkproto.OpCreate, Path: n, ACL: acl, Flags: zkproto.FlagEphemeralSequential}, {Op: zkproto.OpSetData, Path: wire.Root + "/e", Version: 0},
		}}, "[e n-0000000001] 1"},
		{"a multi that fails", zkproto.OpMulti, &zkproto.MultiRequest{Ops: []zkproto.MultiOp{
			{Op: zkproto.OpCreate, Path: n, ACL: acl}, {Op: zkproto.OpSetData, Path: wire.Root + "/e", Version: 7},
		}}, "[e] 0"},
	}
	onEach(t, func(p *place) {
		for _, w := range writes {
			p.t.Run(w.name, func(t *testing.T) {
				p := &place{t: t, relay: p.relay, far: p.far, near: p.near, observer: p.observer}
				var d deaf
				p.relay.ReadAlong(&d)
				p.try(func() {
					p.observer.Delete(wire.Root, -1)
					p.observer.Create(wire.Root, 0)
					p.connect(30000)
					before := p.client.Create(wire.Root+"/e", zkproto.FlagEphemeral).Zxid
					d.shut()
					p.client.Send(w.op, w.m)
					p.observer.AwaitZxid(before + 1) // it is done
					p.relay.Cut()
					d.open()
					require.True(t, p.client.Recv().Closed, "the reply came")
					require.True(t, p.resume(30000))
					list := p.client.GetChildren2(wire.Root, false)
					children := list.Body.(*zkproto.GetChildren2Response)
					require.Equal(t, before+1, list.Zxid, "something else happened")
					got := fmt.Sprint(slices.Sorted(slices.Values(children.Children)))
					if r := p.client.Exists(wire.Root+"/e", false); r.Err == zkproto.OK {
						got += fmt.Sprintf(" %d", r.Body.(*zkproto.ExistsResponse).Stat.Version)
					}
					require.Equal(t, w.want, got)
					p.client.CloseSession()
					for _, left := range p.observer.GetChildren(wire.Root, false).Body.(*zkproto.GetChildrenResponse).Children {
						p.observer.Delete(wire.Root+"/"+left, -1)
					}
				})
			})
		}
	})
}

// A connection whose far side is gone without a word: the session is what
// counts. A client that comes back in time has it, and is told what it missed.
func TestHalfOpen(t *testing.T) {
	e := wire.Root + "/e"
	onEach(t, func(p *place) {
		p.try(func() {
			p.connect(30000)
			p.client.Create(e, zkproto.FlagEphemeral)
			seen := p.client.GetData(wire.Root, true).Zxid
			p.relay.HalfOpen()
			p.client.Send(zkproto.OpSetData, &zkproto.SetDataRequest{Path: e, Version: -1}) // into the void
			p.observer.SetData(wire.Root, "missed", -1)
			require.True(p.t, p.resume(timeout))
			r := p.client.SetWatches(seen, []string{wire.Root}, nil, nil)
			require.Equal(p.t, zkproto.OK, r.Err)
			stat := p.client.Exists(e, false).Body.(*zkproto.ExistsResponse).Stat
			require.Equal(p.t, p.client.ID, stat.EphemeralOwner)
			require.Zero(p.t, stat.Version)
			require.Contains(p.t, string(p.far.Transcript()), `! NodeDataChanged "/wire" zxid=-1`)

			// And now it does not come back in time.
			p.observer.Exists(e, true)
			p.relay.HalfOpen()
			require.True(p.t, p.observer.AwaitEvent())
			require.Equal(p.t, zkproto.NoNode, p.observer.Exists(e, false).Err)
			require.False(p.t, p.resume(timeout), "an expired session was resumed")
			p.client.ExpectClose()
		})
	})
}

// A stall that is shorter than the timeout changes nothing but time; one that is
// longer ends the session, and the client learns that when it comes back.
func TestStall(t *testing.T) {
	onEach(t, func(p *place) {
		e := wire.Root + "/e"
		p.try(func() {
			p.connect(10000)
			p.relay.Stall()
			p.client.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: e, ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral})
			for i := range 200 {
				p.client.Send(zkproto.OpSetData, &zkproto.SetDataRequest{Path: e, Data: []byte{byte(i)}, Version: int32(i)})
			}
			time.Sleep(300 * time.Millisecond) // the length of the stall is the point
			require.Equal(p.t, zkproto.NoNode, p.observer.Exists(e, false).Err, "the relay does not stall")
			p.relay.Flow()
			last := p.client.RecvAll()
			require.Equal(p.t, zkproto.OK, last.Err)
			require.EqualValues(p.t, 200, last.Body.(*zkproto.SetDataResponse).Stat.Version)
			require.NotContains(p.t, string(p.far.Transcript()), "not the oldest request")
			p.client.Drop()

			require.True(p.t, p.resume(timeout))
			p.observer.Exists(e, true)
			p.relay.Stall()
			p.client.Send(zkproto.OpDelete, &zkproto.DeleteRequest{Path: wire.Root, Version: -1}) // too late
			require.True(p.t, p.observer.AwaitEvent())
			p.relay.Flow()
			p.client.ExpectClose()
			require.True(p.t, p.client.Closed())
			require.False(p.t, p.resume(timeout), "an expired session was resumed")
			require.Equal(p.t, zkproto.OK, p.observer.Exists(wire.Root, false).Err)
		})
	})
}
