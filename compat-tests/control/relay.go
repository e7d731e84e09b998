package control

import (
	"errors"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Relay is a TCP relay between clients and one server that can fail the way
// networks do. A client whose connect string names the relay can be cut off
// without touching the server or the client.
//
// A relay passes bytes on and understands none of them. Its methods may be
// called from any goroutine.
type Relay struct {
	server string
	host   string
	port   int

	wg sync.WaitGroup

	mu       sync.Mutex
	tap      Tap          // nil: nobody reads along
	listener net.Listener // nil while connections are refused
	pairs    map[*pair]struct{}
	stalled  chan struct{} // not nil while nothing is forwarded; closed by Flow
	closed   bool
	accepted int
}

// pair is a client's connection and the one to the server that belongs to it.
type pair struct {
	client, server net.Conn

	half bool // the server's side is gone and the client does not know; guarded by the relay's mu
}

// Tap reads along. Connection is called for each connection accepted; the
// functions it returns are given the bytes of either side, each by one
// goroutine, before they are passed on. They must not keep them.
type Tap interface {
	Connection() (fromClient, fromServer func(b []byte))
}

// NewRelay listens on a reserved port of host ("" means 127.0.0.1) and relays
// to server. Close ends it.
func NewRelay(host, server string) (*Relay, error) {
	if host == "" {
		host = "127.0.0.1"
	}
	ports, err := Ports(1)
	if err != nil {
		return nil, err
	}
	r := &Relay{server: server, host: host, port: ports[0], pairs: map[*pair]struct{}{}}
	if err := r.Accept(); err != nil {
		return nil, err
	}
	return r, nil
}

// Addr is the host:port that clients connect to.
func (r *Relay) Addr() string { return net.JoinHostPort(r.host, strconv.Itoa(r.port)) }

// ReadAlong lets tap read the connections accepted from now on.
func (r *Relay) ReadAlong(tap Tap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tap = tap
}

// Connections is the number of connections open through the relay.
func (r *Relay) Connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pairs)
}

// Accepted is the number of connections accepted so far.
func (r *Relay) Accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// Cut resets every connection, on both sides. New ones are accepted at once.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cutLocked()
}

func (r *Relay) cutLocked() {
	for p := range r.pairs {
		for _, c := range []net.Conn{p.client, p.server} {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset, as a dying network gives
			}
			c.Close()
		}
		delete(r.pairs, p)
	}
}

// Refuse resets every connection and refuses new ones until Accept.
func (r *Relay) Refuse() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		r.listener.Close()
		r.listener = nil
	}
	r.cutLocked()
}

// RefuseFor refuses connections for d and returns when they are accepted again.
func (r *Relay) RefuseFor(d time.Duration) error {
	r.Refuse()
	time.Sleep(d) // the length of the cut is the point
	return r.Accept()
}

// Accept accepts connections, again.
func (r *Relay) Accept() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("the relay is closed")
	}
	if r.listener != nil {
		return nil
	}
	l, err := listenAgain(r.Addr())
	if err != nil {
		return err
	}
	r.listener = l
	r.wg.Go(func() { r.serve(l) })
	return nil
}

// listenAgain listens on an address that was given up a moment ago. A process
// that is just being started holds a copy of our closed socket until it executes
// its program, and the address is in use for as long.
func listenAgain(addr string) (net.Listener, error) {
	for end := time.Now().Add(time.Second); ; {
		l, err := net.Listen("tcp", addr)
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return l, err
		}
		time.Sleep(time.Millisecond) // between two attempts
	}
}

// Stall forwards nothing more, in either direction, and keeps every connection
// open, until Flow. New connections are accepted and stalled too.
func (r *Relay) Stall() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalled == nil {
		r.stalled = make(chan struct{})
	}
}

// Flow forwards again what Stall held back.
func (r *Relay) Flow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalled != nil {
		close(r.stalled)
		r.stalled = nil
	}
}

// HalfOpen resets every connection towards the server and leaves the client's
// side open and silent, as when a firewall has forgotten the connection: the
// client learns of the loss only by its own time-out. New connections work.
func (r *Relay) HalfOpen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.pairs {
		p.half = true
		if tcp, ok := p.server.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		p.server.Close()
	}
}

// Close ends the relay and every connection through it.
func (r *Relay) Close() error {
	r.mu.Lock()
	r.closed = true
	if r.listener != nil {
		r.listener.Close()
		r.listener = nil
	}
	r.cutLocked()
	if r.stalled != nil {
		close(r.stalled)
		r.stalled = nil
	}
	r.mu.Unlock()
	r.wg.Wait()
	return nil
}

func (r *Relay) serve(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		server, err := net.DialTimeout("tcp", r.server, 5*time.Second)
		if err != nil {
			_ = client.(*net.TCPConn).SetLinger(0)
			client.Close() // the server is away: the client sees a reset
			continue
		}
		p := &pair{client: client, server: server}
		r.mu.Lock()
		if r.listener != l { // Refuse came in between
			r.mu.Unlock()
			client.Close()
			server.Close()
			continue
		}
		r.pairs[p] = struct{}{}
		r.accepted++
		up, down := func([]byte) {}, func([]byte) {}
		if r.tap != nil {
			up, down = r.tap.Connection()
		}
		r.mu.Unlock()
		r.wg.Go(func() { r.pass(p, client, server, up) })
		r.wg.Go(func() { r.pass(p, server, client, down) })
	}
}

// pass forwards from one side to the other until either ends.
func (r *Relay) pass(p *pair, from, to net.Conn, tap func([]byte)) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		r.awaitFlow()
		if n > 0 {
			tap(buf[:n])
			if _, werr := to.Write(buf[:n]); werr != nil && err == nil {
				err = werr
			}
		}
		if err == nil {
			continue
		}
		r.mu.Lock()
		if p.half && from == p.server {
			r.mu.Unlock()
			return // the client is not told
		}
		if p.half && n > 0 {
			r.mu.Unlock()
			continue // what the client says is lost
		}
		delete(r.pairs, p)
		r.mu.Unlock()
		from.Close()
		to.Close()
		return
	}
}

// awaitFlow waits while nothing is forwarded.
func (r *Relay) awaitFlow() {
	for {
		r.mu.Lock()
		stalled := r.stalled
		r.mu.Unlock()
		if stalled == nil {
			return
		}
		<-stalled
	}
}
