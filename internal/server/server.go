package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves ZooKeeper clients.
type Server struct {
	// Set at construction.
	cfg       Config
	log       *slog.Logger
	started   time.Time
	flushers  *flushers
	restAfter time.Duration // the constant, but in tests

	// Safe for all.
	traceMask atomic.Int64           // of gtmk and stmk: kept, and no more
	base      atomic.Pointer[totals] // where ResetStats began
	outlet    outlet
	desks     sync.Pool // of *desk
	count     counters
	accusers  accusers
	stale     *debts // nil: nobody looks for stale consumers

	mu         sync.Mutex
	conns      map[*conn]struct{}
	arrivals   map[*arrival]struct{}
	perAddress map[string]int // connections
	listeners  map[net.Listener]struct{}
	draining   bool
	empty      chan struct{} // closed once draining has left no connection
}

// New returns a Server that has not begun to serve. It starts nothing.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := &Server{
		cfg:     cfg,
		log:     cfg.Log,
		started: time.Now(),
		outlet: outlet{
			budget:  newBudget(cfg.MaxPendingTotal),
			limit:   cfg.MaxPendingBytes,
			durable: cfg.Tree.Durable,
			when:    cfg.Tree.WhenDurable,
			written: cfg.Tree.EnsureWritten,
		},
		flushers:   newFlushers(cfg.Flushers),
		conns:      make(map[*conn]struct{}),
		arrivals:   make(map[*arrival]struct{}),
		perAddress: make(map[string]int),
		listeners:  make(map[net.Listener]struct{}),
		empty:      make(chan struct{}),
		restAfter:  restAfter,
	}
	s.count.init()
	s.traceMask.Store(defaultTraceMask)
	s.base.Store(&totals{})
	s.stale = newDebts(&s.cfg)
	return s
}

// Serve accepts clients from ln until ctx ends, and closes ln. When ctx ends all
// connections are closed at once; after Drain they are closed one by one.
// Either way sessions stay, and Serve returns nil when the goroutine of its last
// connection has ended. It returns an error if ln fails. Several listeners may
// be served side by side.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	return s.ServeFront(ctx, Front{Listener: ln})
}

// ServeFront is Serve for a listener whose connections begin with something else.
func (s *Server) ServeFront(ctx context.Context, f Front) error {
	ln := f.Listener
	attended, dismiss := context.WithCancel(context.WithoutCancel(ctx))
	var attendants, readers sync.WaitGroup
	for range s.cfg.Flushers {
		attendants.Go(func() { s.flushers.run(attended) })
	}
	attendants.Go(func() { s.keepBudget(attended) })
	attendants.Go(func() { s.keepGates(attended) })
	defer attendants.Wait()
	defer dismiss()

	ctx, cancel := context.WithCancel(ctx)
	stopped := context.AfterFunc(ctx, func() {
		_ = ln.Close()
		s.shutAll(ln)
	})
	err := s.accept(ctx, &f, &readers)
	if err != nil {
		cancel()
	}
	readers.Wait()
	stopped()
	cancel()
	return err
}

// accept takes connections from ln until ctx ends or the server drains.
func (s *Server) accept(ctx context.Context, f *Front, readers *sync.WaitGroup) error {
	ln := f.Listener
	defer ln.Close()
	if !s.listen(ln) {
		return nil
	}
	defer s.unlisten(ln)
	const longest = time.Second
	pause := 5 * time.Millisecond
	for {
		nc, err := ln.Accept()
		if err == nil {
			pause = 5 * time.Millisecond
			s.admit(ctx, nc, f, readers)
			continue
		}
		if ctx.Err() != nil || s.isDraining() {
			return nil
		}
		if t, ok := err.(interface{ Temporary() bool }); !ok || !t.Temporary() {
			return fmt.Errorf("accepting ZooKeeper clients on %s: %w", ln.Addr(), err)
		}
		s.log.Warn("no connection can be accepted for now; the limit of open files may be too low", "listener", ln.Addr().String(), "error", err, "retry", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, longest)
	}
}

// forget drops a connection that has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.perAddress[c.from]--; s.perAddress[c.from] == 0 {
		delete(s.perAddress, c.from)
	}
	s.emptyLocked()
}

// emptyLocked tells Drain that nobody is left.
func (s *Server) emptyLocked() {
	if s.draining && len(s.conns) == 0 {
		select {
		case <-s.empty:
		default:
			close(s.empty)
		}
	}
}

// listen notes a listener for Drain. It reports false if that has begun.
func (s *Server) listen(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.listeners[ln] = struct{}{}
	return true
}

func (s *Server) unlisten(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// Drain stops accepting and closes the connections one by one, evenly over
// Config.DrainTimeout, each behind the replies to the requests it has begun. It
// returns nil when the last is closed, or an error when ctx ends before. Sessions
// stay. A drained server does not serve again.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	for ln := range s.listeners {
		_ = ln.Close()
	}
	s.emptyLocked()
	s.mu.Unlock()
	s.dismissArrivals(nil)

	conns := s.connections()
	s.log.Info("draining", "connections", len(conns), "over", s.cfg.DrainTimeout)
	start := time.Now()
	for i, c := range conns {
		wait := time.Until(start.Add(s.cfg.DrainTimeout * time.Duration(i) / time.Duration(len(conns))))
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return s.undrained(ctx)
			}
		}
		c.leave()
	}
	select {
	case <-s.empty:
		return nil
	case <-ctx.Done():
		return s.undrained(ctx)
	}
}

func (s *Server) undrained(ctx context.Context) error {
	return fmt.Errorf("draining: %d connections are still open: %w", s.connected(), context.Cause(ctx))
}

// connections is a snapshot of the open connections, by address.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	list := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		list = append(list, c)
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b *conn) int { return cmp.Or(a.peer.Compare(b.peer), cmp.Compare(a.from, b.from)) })
	return list
}

// connected is the number of open connections.
func (s *Server) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// shutAll closes the connections that came from ln.
func (s *Server) shutAll(ln net.Listener) {
	s.dismissArrivals(ln)
	for _, c := range s.connections() {
		if c.listener == ln {
			c.shut()
		}
	}
}

// keepBudget cuts connections while all together hold too much, until ctx ends.
func (s *Server) keepBudget(ctx context.Context) {
	for {
		select {
		case <-s.outlet.budget.over:
			s.cutLargest()
		case <-ctx.Done():
			return
		}
	}
}

// cutLargest closes the connections that hold most, until the others hold little
// enough. Their sessions stay.
func (s *Server) cutLargest() {
	type load struct {
		c *conn
		n int
	}
	var loads []load
	for _, c := range s.connections() {
		if n := c.out.weight(); n > 0 {
			loads = append(loads, load{c, n})
		}
	}
	slices.SortFunc(loads, func(a, b load) int { return cmp.Compare(b.n, a.n) })
	for _, l := range loads {
		if !s.outlet.budget.exceeded() {
			return
		}
		s.log.Warn("clients read too slowly: too much waits for all together, so the connection with most is closed; its session stays",
			"peer", l.c.String(), "session", l.c.sessionName(), "bytes", l.n, "max_pending_total", s.cfg.MaxPendingTotal)
		s.rejected(RejectedBudget)
		l.c.shut()
	}
}
