package histories

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"zkbridge/compat-tests/wire"
	"zkbridge/zkproto"
)

// Timeouts that clients ask for, in ms.
const (
	longTimeout  = 40000
	shortTimeout = 1
)

// Player plays histories on one server, one after the other. Nobody else may
// use the server.
type Player struct {
	ctx    context.Context
	addr   string
	stage  *wire.Stage
	helper *wire.Conn // makes the nodes above, and sees how far the server is
	played int

	// Operations counts requests and handshakes.
	Operations int
}

// NewPlayer connects to a server.
func NewPlayer(ctx context.Context, addr string) (*Player, error) {
	p := &Player{ctx: ctx, addr: addr, stage: wire.Open(ctx, wire.Server{Addr: addr}, 0)}
	err := p.stage.Try("connect", func() {
		p.helper = p.stage.Dial("helper")
		p.helper.Silently(func() { p.helper.Handshake(newSession(longTimeout)) })
	})
	return p, err
}

// HangUp ends the player's own session.
func (p *Player) HangUp() error {
	return p.stage.Try("hang up", func() { p.helper.CloseSession() })
}

func newSession(timeout int32) zkproto.ConnectRequest {
	return zkproto.ConnectRequest{Timeout: timeout, Passwd: make([]byte, zkproto.PasswdSize), HasReadOnly: true}
}

// Play plays a history, in a directory that is bound to the bridge's registry or
// in one that is not: what clients see must not depend on it. An error means that
// it could not be played to its end, the transcript then is what was seen until
// then.
func (p *Player) Play(h History, bound bool) (wire.Transcript, error) {
	p.played++
	below := fmt.Sprintf("/h%d", p.played)
	if bound {
		below = fmt.Sprintf("/dubbo/com.acme.Greeter%d/providers", p.played)
	}
	var base int64
	err := p.stage.Try("prepare", func() {
		p.helper.Silently(func() {
			for i, c := range below + "/" {
				if c == '/' && i > 0 {
					p.helper.Create(below[:i], 0)
				}
			}
			base = p.helper.Create(below+wire.Root, 0).Zxid
		})
	})
	if err != nil {
		return "", err
	}
	r := &run{
		player: p, base: base,
		stage: wire.Open(p.ctx, wire.Server{Addr: p.addr, Below: below}, base),
		ends:  map[int64]bool{},
	}
	defer r.stage.HangUp()
	err = r.stage.Try("history", func() {
		for _, s := range h {
			r.step(s)
		}
	})
	// Sessions end in any case: what is left would disturb the next history.
	after := r.stage.Try("end of history", r.finish)
	if err == nil {
		err = after
	}
	return Normalise(r.stage.Transcript(), base, r.ends), err
}

// run is one history on one server.
type run struct {
	player  *Player
	stage   *wire.Stage
	base    int64
	clients []*client
	ends    map[int64]bool // zxids of transactions that ended sessions
}

type client struct {
	name   string
	opened int        // connections so far
	conn   *wire.Conn // nil: none
	id     int64      // of the session, 0: none
	passwd []byte
	oldID  int64 // of the last session that ended, 0: none
	old    []byte
	seen   int64
}

func (r *run) client(n int) *client {
	for len(r.clients) <= n {
		r.clients = append(r.clients, &client{name: name(len(r.clients))})
	}
	return r.clients[n]
}

func (r *run) step(s Step) {
	c := r.client(s.Client)
	switch s.Kind {
	case Send:
		if len(s.Requests) > 0 && r.connected(c) {
			r.send(c, s.Requests)
			r.answers(c)
		}
	case Cut:
		r.cut(c)
	case SendAndCut:
		r.sendAndCut(c, s.Requests)
	case Connect:
		r.connect(c, longTimeout, s.Requests)
	case Intrude:
		r.intrude(c)
	case Close:
		if r.connected(c) {
			r.send(c, slices.DeleteFunc(slices.Clone(s.Requests), Request.alone))
			r.closeSession(c)
		}
	case Expire, CutAndExpire:
		r.expire(c, s.Kind == CutAndExpire)
	case ComeBack:
		r.comeBack(c)
	}
}

func (r *run) dial(c *client) *wire.Conn {
	c.opened++
	r.player.Operations++
	return r.stage.Dial(fmt.Sprintf("%s%d", c.name, c.opened))
}

// connected sees to it that there is a connection.
func (r *run) connected(c *client) bool {
	if c.conn == nil {
		r.connect(c, longTimeout, nil)
	}
	return c.conn != nil
}

// connect opens a connection to the session, or a new session.
func (r *run) connect(c *client, timeout int32, first []Request) {
	old := c.conn
	if old != nil {
		old.Ping()
	}
	c.look()
	c.conn = r.dial(c)
	m := newSession(timeout)
	m.SessionID, m.LastZxidSeen = c.id, c.seen
	if c.id != 0 {
		m.Passwd = c.passwd
	}
	c.conn.SendHandshake(m)
	r.send(c, first)
	answer := c.conn.ReadHandshake()
	if answer.SessionID == 0 {
		c.conn.ExpectClose()
		c.conn, c.id = nil, 0
	} else {
		c.id, c.passwd = answer.SessionID, answer.Passwd
		r.answers(c)
	}
	if old != nil {
		old.ExpectClose()
	}
}

// look remembers what the client has seen.
func (c *client) look() {
	if c.conn != nil {
		c.seen = max(c.seen, c.conn.LastZxid())
	}
}

// send sends requests at once, but those whose answers would depend on how far
// the real server is with the ones before them.
func (r *run) send(c *client, requests []Request) {
	newACL := false
	for _, q := range requests {
		if q.alone() && len(requests) > 1 || newACL && q.writes() {
			continue
		}
		newACL = newACL || q.Op == zkproto.OpSetACL
		r.player.Operations++
		c.look()
		m := q.message(r.base, c.seen)
		switch {
		case q.Off > 0 && m != nil:
			body := m.AppendTo(nil)
			c.conn.SendBody(cmp.Or(q.Xid, 77), q.Op, q.String(), body[:max(0, len(body)-q.Off)])
		case q.Xid != 0:
			c.conn.SendXid(q.Xid, q.Op, m)
		default:
			c.conn.Send(q.Op, m)
		}
	}
}

// answers reads until every request is answered, and the end of the connection
// if the last answer announces it.
func (r *run) answers(c *client) {
	last := c.conn.RecvAll()
	if last.Err == zkproto.AuthFailed || last.Err == zkproto.Unimplemented && last.Zxid == -1 {
		c.conn.ExpectClose()
	}
	c.look()
	if c.conn.Closed() {
		c.conn = nil
	}
}

func (r *run) cut(c *client) {
	if c.conn == nil {
		return
	}
	c.conn.Ping()
	c.look()
	c.conn.Drop()
	c.conn = nil
}

func (r *run) sendAndCut(c *client, requests []Request) {
	if len(requests) == 0 || !requests[0].oneZxid() {
		return
	}
	if !r.connected(c) {
		return
	}
	c.conn.Ping()
	last := r.lastZxid()
	r.send(c, requests[:1])
	c.conn.HalfClose()
	r.player.helper.AwaitZxid(last + 1)
	c.conn.Drop()
	c.conn = nil
}

// lastZxid asks the server.
func (r *run) lastZxid() int64 {
	r.player.helper.Ping()
	return r.player.helper.LastZxid()
}

func (r *run) intrude(c *client) {
	if c.id == 0 {
		return
	}
	old := c.conn
	if old != nil {
		old.Ping()
		c.look()
	}
	intruder := r.dial(c)
	m := newSession(longTimeout)
	m.SessionID, m.Passwd = c.id, []byte("not the password")
	intruder.Handshake(m)
	intruder.ExpectClose()
	if old != nil {
		old.ExpectClose()
	}
	c.conn = nil
}

// closeSession reads what is still to be answered, too.
func (r *run) closeSession(c *client) {
	r.player.Operations++
	c.conn.Send(zkproto.OpCloseSession, nil)
	var end int64
	for !c.conn.Closed() {
		if reply := c.conn.Recv(); !reply.Closed {
			end = reply.Zxid
		}
	}
	r.ends[end] = true
	c.over()
}

// over forgets the session, which has ended.
func (c *client) over() {
	c.look()
	c.oldID, c.old = c.id, c.passwd
	c.conn, c.id, c.passwd = nil, 0, nil
}

func (r *run) expire(c *client, cut bool) {
	r.cut(c)
	last := r.lastZxid()
	if c.id == 0 {
		last++ // to open it
	}
	r.connect(c, shortTimeout, nil)
	if c.conn == nil {
		return
	}
	if cut {
		c.look()
		c.conn.Drop()
	}
	r.player.helper.AwaitZxid(last + 1)
	r.ends[last+1] = true
	if !cut {
		c.conn.ExpectClose()
	}
	c.over()
}

func (r *run) comeBack(c *client) {
	if c.oldID == 0 {
		return
	}
	conn := r.dial(c)
	m := newSession(longTimeout)
	m.SessionID, m.Passwd = c.oldID, c.old
	if conn.Handshake(m).SessionID == 0 {
		conn.ExpectClose()
	}
}

// finish ends the sessions and reads the tree.
func (r *run) finish() {
	for _, c := range r.clients {
		if c.id != 0 && r.connected(c) {
			r.closeSession(c)
		}
	}
	end := &client{name: "end"}
	r.connect(end, longTimeout, nil)
	for _, u := range users {
		r.send(end, []Request{{Op: zkproto.OpAuth, Body: &zkproto.AuthRequest{Scheme: "digest", Auth: []byte(u.auth)}}})
	}
	r.answers(end)
	r.read(end, wire.Root)
	r.closeSession(end)
}

// read reads a node and all below.
func (r *run) read(c *client, path string) {
	r.player.Operations++
	r.send(c, []Request{
		{Op: zkproto.OpGetData, Body: &zkproto.GetDataRequest{Path: path}},
		{Op: zkproto.OpGetACL, Body: &zkproto.GetACLRequest{Path: path}},
	})
	c.conn.RecvAll()
	reply := c.conn.GetChildren2(path, false)
	list, ok := reply.Body.(*zkproto.GetChildren2Response)
	if !ok {
		return
	}
	slices.Sort(list.Children)
	for _, child := range list.Children {
		r.read(c, strings.TrimSuffix(path, "/")+"/"+child)
	}
}
