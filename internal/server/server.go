package server

import (
	"context"
	"net"

	"zkbridge/internal/znode"
	"zkbridge/sessions"
)

// Server serves ZooKeeper clients.
type Server struct {
	cfg Config
}

// New returns a Server that has not begun to serve. It starts nothing.
func New(cfg Config) *Server {
	return &Server{cfg: cfg.withDefaults()}
}

// Serve accepts clients from ln until ctx ends, and closes ln. When ctx ends all
// connections are closed at once; after Drain they are closed one by one.
// Either way sessions stay, and Serve returns nil when the last connection's
// goroutine has ended. It returns an error if ln fails. Several listeners may be
// served side by side.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	panic("to come")
}

// Drain stops accepting and closes the connections one by one, evenly over
// Config.DrainTimeout, each after the replies to what it has already sent. It
// returns when the last is closed, or when ctx ends. Sessions stay.
func (s *Server) Drain(ctx context.Context) error {
	panic("to come")
}

// Stats returns a snapshot of the server's counters.
func (s *Server) Stats() Stats {
	panic("to come")
}

// Expire returns the function that a sessions.Manager calls to remove the nodes
// of a session that expired: one transaction on t.
func Expire(t *znode.Tree) func(*sessions.Session) {
	panic("to come")
}
