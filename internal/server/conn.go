package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// conn is one client's connection. Its reader is the goroutine that runs serve.
type conn struct {
	// Set at construction.
	srv      *Server
	nc       net.Conn
	listener net.Listener
	raw      syscall.RawConn // nil if input cannot be tried without waiting
	secured  *secureConn     // nc, if it goes through TLS; else nil
	peer     netip.AddrPort  // zero if the address is not of the internet
	from     string          // peer's address without port: the key of the limit

	// Owned by the reader.
	session  *sessions.Session // nil until the handshake is done
	desk     *desk             // nil while the reader waits for input
	ahead    bool              // the client saw a zxid that this tree has not reached
	accused  bool              // its bad input is logged already
	requests uint32            // for sampling
	heard    bool              // the session was touched since the last read
	silent   time.Duration     // how long it had been silent then
	in       input

	// Written by the reader, read by anybody.
	identities atomic.Pointer[[]znode.Identity] // never changed in place
	carried    atomic.Pointer[sessions.Session] // session
	received   atomic.Int64                     // requests
	certified  atomic.Bool                      // it showed a certificate
	stalled    atomic.Bool                      // the reader waits for its client to take bytes

	// Written by anybody.
	kicked  atomic.Pointer[string] // why the connection is being closed from outside
	leaving atomic.Bool            // close it when the replies to what was begun are out
	shutOff atomic.Bool

	// Guarded by the tree's lock, held alone.
	asked   bool // events come from the client's own setWatches
	account account

	record record
	out    outbox
}

// newConn wraps an accepted connection of the client at peer; from is what counts
// for its limit.
func (s *Server) newConn(nc net.Conn, f *Front, peer netip.AddrPort, from string) *conn {
	c := &conn{srv: s, nc: nc, listener: f.Listener, peer: peer, from: from}
	c.record.begin()
	var ids []znode.Identity
	if c.peer.IsValid() {
		ids = []znode.Identity{{Scheme: "ip", ID: c.from}}
	}
	c.identities.Store(&ids)
	var raw syscall.RawConn
	if sc, ok := nc.(syscall.Conn); ok && canTry {
		raw, _ = sc.SyscallConn()
	}
	switch {
	case f.TLS != nil:
		c.secured = newSecureConn(nc, raw, f.TLS(), &s.outlet.chunks)
		c.nc = c.secured
	case raw != nil:
		c.raw = raw
		c.in.arrived = c.tryRead
	}
	c.out = outbox{outlet: &s.outlet, mark: func() { s.flushers.add(c) }, awaited: -1}
	return c
}

// address is the peer's address, and the part that counts for the limit.
func address(nc net.Conn) (netip.AddrPort, string) {
	a := nc.RemoteAddr()
	if a == nil {
		return netip.AddrPort{}, ""
	}
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.AddrPort{}, a.String()
	}
	p = netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
	return p, p.Addr().String()
}

// String is how the connection is named in logs.
func (c *conn) String() string {
	if c.peer.IsValid() {
		return c.peer.String()
	}
	return c.from
}

// Notify queues an event (znode.Watcher).
func (c *conn) Notify(e *znode.Event) {
	c.srv.count.events.Add(1)
	c.srv.count.eventBytes.Add(int64(len(e.Frame())))
	if !c.out.event(e.Frame(), e.Gate, c.asked) {
		c.srv.rejected(RejectedLaggard)
		return
	}
	c.srv.stale.told(c, e)
}

// Identities are asked for when an event is delivered (znode.Identified).
func (c *conn) Identities() []znode.Identity { return *c.identities.Load() }

// Kick closes the connection once what may leave has been written, as far as the
// socket takes it (sessions.Conn). Requests that were not begun are not carried
// out.
func (c *conn) Kick(why string) {
	if !c.kicked.CompareAndSwap(nil, &why) {
		return
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.finish = true
	c.out.markLocked()
}

// leave closes the connection when the replies to the requests that were begun
// are out.
func (c *conn) leave() {
	c.leaving.Store(true)
	_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // its reader wakes up
}

// shut closes the outbox and the socket. It may be called by anybody, any number
// of times.
func (c *conn) shut() {
	c.out.close()
	if c.shutOff.CompareAndSwap(false, true) {
		_ = c.nc.Close()
	}
}

// confine ends a panic at the connection that it happened on. It is deferred.
func (c *conn) confine(doing string) {
	p := recover()
	if p == nil {
		return
	}
	c.srv.count.panics.Add(1)
	c.srv.log.Error("panic on a connection: it is closed, nothing else is touched",
		"peer", c.String(), "session", c.sessionName(), "doing", doing, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	c.shut()
}

// sessionName is the session in logs.
func (c *conn) sessionName() string {
	if s := c.carried.Load(); s != nil {
		return s.String()
	}
	return "none"
}

// progressed notes that the client has taken bytes. While the reader waits for
// just that, the client's pings are stuck in front of it: it is alive all the
// same.
func (c *conn) progressed() {
	if s := c.carried.Load(); s != nil && c.stalled.Load() {
		s.Touch()
	}
}

// The reasons for which a reader stops without an error to speak of.
var (
	errGoodbye = errors.New("closed behind the reply") // the last reply is queued
	errSilent  = errors.New("closed without a word")
)

// step handles one request.
func (c *conn) step() error {
	frame, err := c.next()
	if err != nil {
		return err
	}
	if c.kicked.Load() != nil {
		return errSilent
	}
	h, body, err := zkproto.DecodeHeader(frame)
	if err != nil {
		return err
	}
	c.received.Store(c.received.Load() + 1)
	if h.Op != zkproto.OpAuth && h.Op != zkproto.OpSASL {
		if c.session.Closing() {
			c.srv.count.dropped.Add(1)
			return nil // as ZooKeeper: no reply, the socket is closed soon
		}
		if !c.heard { // once for all requests that came together
			c.heard = true
			c.silent = c.session.Touch()
		}
	}
	if err := c.desk.handle(h, body); err != nil {
		return err
	}
	if c.out.pending() >= flushAt {
		return c.relieve()
	}
	return nil
}

// relieve writes the outbox in the middle of the input. If more is pending than
// the client may have, its next request waits until it has taken some.
func (c *conn) relieve() error {
	c.stalled.Store(true)
	defer c.stalled.Store(false)
	if err := c.desk.w.flush(c, c.srv.cfg.WriteTimeout); err != nil {
		return err
	}
	if high := c.srv.cfg.MaxPendingBytes; c.out.pending() > high {
		c.srv.count.stalls.Add(1)
		c.out.await(high/2, 0)
		c.heard = false
	}
	return nil
}

// takeDesk begins a round of requests.
func (c *conn) takeDesk() {
	if c.desk == nil {
		c.desk = c.srv.takeDesk(c)
		c.out.wake()
	}
}

// leaveDesk ends a round of requests: it writes what is pending and gives the
// desk back. Errors of the socket are left to the next read.
func (c *conn) leaveDesk() {
	if c.desk == nil {
		return
	}
	c.desk.record()
	c.out.rest()
	c.stalled.Store(true)
	_ = c.desk.w.flush(c, c.srv.cfg.WriteTimeout)
	c.stalled.Store(false)
	c.srv.putDesk(c.desk)
	c.desk = nil
}

// close ends the connection as err demands.
func (c *conn) close(err error) {
	c.leaveDesk() // replies to what came before
	if c.session != nil && !c.session.Closing() {
		c.srv.count.lost.Add(1)
	}
	why := c.kicked.Load()
	switch {
	case why != nil:
		c.srv.log.Debug("connection closed", "peer", c.String(), "session", c.sessionName(), "reason", *why)
		c.out.await(0, lastWrite) // a flusher writes what its client has still to hear
	case errors.Is(err, errGoodbye), c.leaving.Load() && errors.Is(err, os.ErrDeadlineExceeded):
		c.lastReplies()
	case errors.Is(err, errSilent):
	case errors.Is(err, zkproto.ErrMalformed), errors.Is(err, errLength):
		c.srv.count.malformed.Add(1)
		if errors.Is(err, errLength) {
			c.srv.count.oversized.Add(1)
		}
		c.srv.rejected(RejectedMalformed)
		c.accuse(err)
	case errors.Is(err, os.ErrDeadlineExceeded) && c.session == nil:
		c.srv.rejected(RejectedHandshakeTimeout)
		c.srv.log.Debug("no handshake in time", "peer", c.String())
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
	default:
		c.srv.log.Debug("connection lost", "peer", c.String(), "session", c.sessionName(), "error", err)
	}
}

// lastReplies waits until what is queued is written, also what waits for the log,
// and then for the client to close.
func (c *conn) lastReplies() {
	if c.out.await(0, c.srv.cfg.WriteTimeout) && !c.leaving.Load() {
		c.discard(lastWrite)
	}
}

// accuse logs bad input, once for the connection and not too often for its
// address.
func (c *conn) accuse(err error) {
	if c.accused {
		return
	}
	c.accused = true
	if c.srv.accusers.may(c.from) {
		c.srv.log.Warn("bad input from a client", "peer", c.String(), "session", c.sessionName(), "error", err)
	}
}

// end lets go of everything the connection has.
func (c *conn) end() {
	c.shut()
	if c.session != nil {
		c.srv.cfg.Sessions.Detach(c.session, c)
		c.srv.cfg.Tree.Forget(c)
	}
	c.srv.forget(c)
}
