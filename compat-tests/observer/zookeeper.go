package observer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"zkbridge/zkproto"
)

// ZooKeeper follows the provider directories below a root, over a connection of
// its own.
type ZooKeeper struct {
	Addr string // host:port
	Root string // such as /dubbo
	To   Recorder
}

// sessionTimeout is what the observer asks for. Its session owns nothing.
const sessionTimeout = 30 * time.Second

// Run follows until ctx ends, reconnecting whenever the server goes away.
func (z *ZooKeeper) Run(ctx context.Context) error {
	known := map[string]bool{}
	for {
		f := follower{z: z, dirs: map[string]bool{}, known: known, replies: map[int32]func(zkproto.ReplyHeader, []byte) error{}}
		err := f.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if f.seen {
			z.To.Record(Event{At: time.Now(), Kind: Blind, Side: ZooKeeperSide})
		}
		if err != nil && !isNetwork(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// isNetwork tells a lost connection from an answer that is wrong.
func isNetwork(err error) bool {
	var code zkproto.Code
	return !errors.As(err, &code) && !errors.Is(err, zkproto.ErrMalformed)
}

// follower is one connection. Everything happens on one goroutine but the pings.
type follower struct {
	z     *ZooKeeper
	known map[string]bool // services seen so far, over all connections: an empty list is a list too

	conn    net.Conn
	xid     int32
	seen    bool            // a list was recorded
	dirs    map[string]bool // provider directories that are watched, by interface segment
	replies map[int32]func(zkproto.ReplyHeader, []byte) error
}

func (f *follower) run(ctx context.Context) error {
	d := net.Dialer{Timeout: 2 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", f.z.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	f.conn = conn

	connect := zkproto.ConnectRequest{Timeout: int32(sessionTimeout.Milliseconds()), Passwd: make([]byte, zkproto.PasswdSize)}
	if err := f.write(zkproto.AppendFrame(nil, connect.AppendTo)); err != nil {
		return err
	}
	frame, err := zkproto.ReadFrame(conn, nil, zkproto.DefaultMaxFrame)
	if err != nil {
		return err
	}
	var welcome zkproto.ConnectResponse
	if err := welcome.Decode(frame); err != nil {
		return err
	}
	if welcome.Timeout <= 0 {
		return errors.New("no session was given")
	}
	f.xid = 1
	add := zkproto.AddWatchRequest{Path: f.z.Root, Mode: zkproto.WatchPersistentRecursive}
	if err := f.ask(zkproto.OpAddWatch, &add, okOnly); err != nil {
		return err
	}
	if err := f.listRoot(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var pings sync.WaitGroup
	defer pings.Wait()
	defer stop()
	granted := time.Duration(welcome.Timeout) * time.Millisecond
	pings.Go(func() { f.ping(ctx, granted/3) })
	for {
		if err := conn.SetReadDeadline(time.Now().Add(granted)); err != nil {
			return err
		}
		if frame, err = zkproto.ReadFrame(conn, frame[:0], zkproto.DefaultMaxFrame); err != nil {
			return err
		}
		if err := f.take(frame); err != nil {
			return err
		}
	}
}

// ping keeps the session. An error shows in the reads.
func (f *follower) ping(ctx context.Context, every time.Duration) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	head := zkproto.RequestHeader{Xid: zkproto.XidPing, Op: zkproto.OpPing}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			_ = f.write(zkproto.AppendFrame(nil, head.AppendTo))
		}
	}
}

// take handles one frame.
func (f *follower) take(frame []byte) error {
	head, body, err := zkproto.DecodeReply(frame)
	if err != nil {
		return err
	}
	switch head.Xid {
	case zkproto.XidPing:
		return nil
	case zkproto.XidNotification:
		var e zkproto.WatcherEvent
		if err := e.Decode(body); err != nil {
			return err
		}
		return f.event(head.Zxid, e)
	}
	reply, ok := f.replies[head.Xid]
	if !ok {
		return fmt.Errorf("reply to a request that was not made (xid %d): %w", head.Xid, zkproto.ErrMalformed)
	}
	delete(f.replies, head.Xid)
	return reply(head, body)
}

// event handles a notification of either watch.
func (f *follower) event(zxid int64, e zkproto.WatcherEvent) error {
	now := time.Now()
	if p, ok := provider(f.z.Root, e.Path); ok {
		kind := map[zkproto.EventType]Kind{zkproto.EventCreated: Appeared, zkproto.EventDeleted: Vanished}[e.Type]
		if kind != "" {
			f.z.To.Record(Event{At: now, Kind: kind, Side: ZooKeeperSide, Service: p.Service, Address: p.Address, Name: p.Name, Zxid: zxid})
		}
		return nil
	}
	segment, ok := providersIn(f.z.Root, e.Path)
	if !ok {
		return nil
	}
	switch e.Type {
	case zkproto.EventCreated, zkproto.EventChildrenChanged:
		return f.list(segment)
	case zkproto.EventDeleted:
		delete(f.dirs, segment)
		f.record(now, now, segment, nil)
	}
	return nil
}

// listRoot looks for provider directories that exist already.
func (f *follower) listRoot() error {
	return f.ask(zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: f.z.Root}, func(head zkproto.ReplyHeader, body []byte) error {
		if head.Err == zkproto.NoNode {
			return nil
		}
		if head.Err != zkproto.OK {
			return fmt.Errorf("list %s: %w", f.z.Root, head.Err)
		}
		var r zkproto.GetChildren2Response
		if err := r.Decode(body); err != nil {
			return err
		}
		for _, segment := range r.Children {
			if !f.dirs[segment] {
				if err := f.list(segment); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// list lists a provider directory and watches it.
func (f *follower) list(segment string) error {
	asked := time.Now()
	path := f.z.Root + "/" + segment + "/providers"
	return f.ask(zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: path, Watch: true}, func(head zkproto.ReplyHeader, body []byte) error {
		now := time.Now()
		if head.Err == zkproto.NoNode {
			delete(f.dirs, segment)
			return nil
		}
		if head.Err != zkproto.OK {
			return fmt.Errorf("list %s: %w", path, head.Err)
		}
		var r zkproto.GetChildren2Response
		if err := r.Decode(body); err != nil {
			return err
		}
		f.dirs[segment] = true
		f.record(asked, now, segment, r.Children)
		return nil
	})
}

// record records a directory as one list for each service that it has or had.
func (f *follower) record(asked, at time.Time, segment string, names []string) {
	f.seen = true
	lists := map[string][]Item{}
	for _, name := range names {
		if p, ok := leafPlace(segment, name); ok {
			lists[p.Service] = append(lists[p.Service], Item{Address: p.Address, Protocol: p.Protocol, Name: name})
			f.known[p.Service] = true
		}
	}
	prefix, _ := url.QueryUnescape(segment)
	for service := range f.known {
		if strings.HasPrefix(service, prefix+":") {
			items := lists[service]
			slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
			f.z.To.Record(Event{Asked: asked, At: at, Kind: List, Side: ZooKeeperSide, Service: service, Items: items})
		}
	}
}

func okOnly(head zkproto.ReplyHeader, _ []byte) error {
	if head.Err != zkproto.OK {
		return head.Err
	}
	return nil
}

// ask sends a request; reply is called with its answer.
func (f *follower) ask(op zkproto.OpCode, request zkproto.Message, reply func(zkproto.ReplyHeader, []byte) error) error {
	xid := f.xid
	f.xid++
	f.replies[xid] = reply
	head := zkproto.RequestHeader{Xid: xid, Op: op}
	return f.write(zkproto.AppendFrame(nil, func(b []byte) []byte { return request.AppendTo(head.AppendTo(b)) }))
}

func (f *follower) write(frame []byte) error {
	if err := f.conn.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	_, err := f.conn.Write(frame)
	return err
}
