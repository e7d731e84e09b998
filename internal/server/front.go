package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Front is a listener, and what its connections begin with before they speak the
// ZooKeeper protocol.
type Front struct {
	Listener net.Listener
	// TLS is asked for each connection: what it returns is in force for those that
	// come. Nil: no TLS.
	TLS func() *tls.Config
	// Proxy requires a PROXY protocol v2 header in front of everything. The address
	// in it is the client's in every respect.
	Proxy bool
}

// arrival is a connection whose client is not known yet: its PROXY header is
// awaited.
type arrival struct {
	nc       net.Conn
	listener net.Listener
}

// admit starts a connection's reader, unless there are too many connections.
func (s *Server) admit(ctx context.Context, nc net.Conn, f *Front, readers *sync.WaitGroup) {
	s.count.accepted.Add(1)
	if !f.Proxy {
		peer, from := address(nc)
		if c := s.enter(ctx, nc, f, peer, from, time.Now()); c != nil {
			readers.Go(func() { c.serve(ctx, readers) })
		}
		return
	}
	a := &arrival{nc: nc, listener: f.Listener}
	if refused := s.arrive(ctx, a); refused != "" {
		_, from := address(nc)
		s.refuse(nc, nc.RemoteAddr().String(), from, refused)
		return
	}
	readers.Go(func() {
		began := time.Now()
		peer, from, ok := s.introduce(a)
		if !ok {
			return
		}
		if c := s.enter(ctx, nc, f, peer, from, began); c != nil {
			c.serve(ctx, readers)
		}
	})
}

// enter makes a connection of a socket whose client is known; nil if it is
// refused. The time for the handshake began when the socket was accepted.
func (s *Server) enter(ctx context.Context, nc net.Conn, f *Front, peer netip.AddrPort, from string, began time.Time) *conn {
	c := s.newConn(nc, f, peer, from)
	c.record.opened = began
	s.mu.Lock()
	refused := s.fullLocked(ctx)
	switch {
	case refused != "":
	case s.cfg.MaxConnectionsPerAddress > 0 && s.perAddress[c.from] >= s.cfg.MaxConnectionsPerAddress:
		refused = RejectedPerAddress
	default:
		s.conns[c] = struct{}{}
		s.perAddress[c.from]++
	}
	s.mu.Unlock()
	if refused == "" {
		return c
	}
	s.refuse(nc, c.String(), c.from, refused)
	return nil
}

// fullLocked says why no more connections are taken at all, "" if they are.
func (s *Server) fullLocked(ctx context.Context) Rejection {
	switch {
	case s.draining || ctx.Err() != nil:
		return RejectedNotReady
	case s.cfg.MaxConnections > 0 && len(s.conns)+len(s.arrivals) >= s.cfg.MaxConnections:
		return RejectedTotal
	}
	return ""
}

// refuse closes a connection that is one too many.
func (s *Server) refuse(nc net.Conn, peer, from string, why Rejection) {
	s.rejected(why)
	if why != RejectedNotReady && s.accusers.may("limit "+from) {
		s.log.Warn("too many connections: one is refused", "peer", peer, "limit", string(why),
			"max_per_address", s.cfg.MaxConnectionsPerAddress, "max_total", s.cfg.MaxConnections)
	}
	if t, ok := nc.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // a reset, as ZooKeeper sends: no TIME_WAIT here
	}
	_ = nc.Close()
}

// arrive notes a connection whose client is not known yet, so that it counts and
// is closed with the others.
func (s *Server) arrive(ctx context.Context, a *arrival) Rejection {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := s.fullLocked(ctx)
	if refused == "" {
		s.arrivals[a] = struct{}{}
	}
	return refused
}

// introduce reads the PROXY header of a. If there is none that can be read, the
// connection is closed.
func (s *Server) introduce(a *arrival) (peer netip.AddrPort, from string, ok bool) {
	_ = a.nc.SetReadDeadline(time.Now().Add(s.cfg.HandshakeTimeout))
	peer, from = address(a.nc)
	client, err := readProxyHeader(a.nc)
	s.mu.Lock()
	delete(s.arrivals, a)
	s.mu.Unlock()
	switch {
	case err != nil:
		s.unintroduced(from, a.nc, err)
		_ = a.nc.Close()
		return peer, from, false
	case client.IsValid():
		peer, from = client, client.Addr().String()
	}
	return peer, from, true
}

// dismissArrivals closes the connections from ln whose clients are not known yet;
// nil: those of all listeners.
func (s *Server) dismissArrivals(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a := range s.arrivals {
		if ln == nil || a.listener == ln {
			_ = a.nc.Close()
		}
	}
}
