package guard

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// Class is a kind of removal.
type Class uint8

// The classes of removals.
const (
	Deleted   Class = iota + 1 // deleted or closed by the client
	Expired                    // the session was silent for its timeout
	Reported                   // the registry lists it no more
	Followed                   // the ensemble shows it no more
	LinkLost                   // nobody can say: removes nothing
	PeerLost                   // the bridge that vouches for it cannot be reached: removes nothing
	fromEarly                  // it stood before a start, and nobody has confirmed it since
)

// String is the class in words.
func (c Class) String() string {
	switch c {
	case Deleted:
		return "deleted by its client"
	case Expired:
		return "session expired"
	case Reported:
		return "registry reported"
	case Followed:
		return "ensemble reported"
	case LinkLost:
		return "link lost"
	case PeerLost:
		return "peer unreachable"
	case fromEarly:
		return "not confirmed since the start"
	}
	return "unknown class"
}

// Evidence is how we know that an address is gone.
type Evidence uint8

// The kinds of evidence.
const (
	Word     Evidence = iota + 1 // whoever vouched for it took it back
	Refusal                      // nobody listens there: two probes were refused
	TimeOut                      // it was held for as long as the configuration says
	Operator                     // an operator said so
	Adopted                      // it is claimed anew: nothing is gone
)

// String is the evidence in words.
func (e Evidence) String() string {
	switch e {
	case Word:
		return "taken back"
	case Refusal:
		return "nobody listens there"
	case TimeOut:
		return "time is over"
	case Operator:
		return "operator"
	case Adopted:
		return "claimed anew"
	}
	return "unknown evidence"
}

// Session is what the guard needs to know of a session. It may be asked from
// anywhere.
type Session interface {
	ID() int64
	LastSeen() time.Time
	Timeout() time.Duration
}

// Probe says how an address is asked whether somebody is there.
type Probe string

// The probes.
const (
	ProbeTCP   Probe = "tcp"   // a connection is opened and closed
	ProbeDubbo Probe = "dubbo" // beside that Dubbo's heart-beat is answered, where the protocol is dubbo
	ProbeOff   Probe = "off"   // nobody is asked
)

// Config is what a Guard is made of. Book and Session are required.
type Config struct {
	Book    *claims.Book
	Session func(id int64) Session // nil: it is over
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Dir     string // where imports are kept over a restart; "": nowhere
	Log     *slog.Logger

	Off bool // nothing is held: every removal takes effect at once

	MassShare    float64       // silence of this share of the sessions with addresses is suspicious; 0: 0.3
	MassSessions int           // but not of fewer than these; 0: 3
	Window       time.Duration // what happens within it happens at once; 0: 10 s
	Cap          float64       // share of a service that may go within a window without evidence; 0: 0.5
	Hold         time.Duration // how long something is held; 0: 10 min
	HoldMax      time.Duration // the same with answered probes; 0: 1 h

	Probe         Probe         // "": ProbeTCP
	ProbeInterval time.Duration // between two probes of an address; 0: 5 s
	ProbeTimeout  time.Duration // 0: 1 s
	Probes        int           // at a time; 0: 64
}

// Guard decides what may take an address away.
type Guard struct {
	cfg Config
	log *slog.Logger

	mu sync.Mutex

	// guarded by mu
	beat         time.Time     // the last time that we know that we ran
	stallEnd     time.Time     // of the last stall
	stallFor     time.Duration // how long it took
	suspected    time.Time     // the last time that the silence of many was
	massSilences uint64
	extended     map[int64]extension // sessions whose deadline was extended
	ending       map[int64]string    // sessions whose addresses are to be held, and why
	silence      census              // the last count
	gone         map[registryclient.Service][]time.Time
	goneAll      []time.Time
	linked       time.Time // since when the link is up again after it was lost
	down         bool      // the link is
	met          bool      // it has been up
	items        map[string]*item
	news         map[string]*news                                // what is to be told in the log
	ledgers      map[registryclient.Service]map[string]time.Time // endpoints that went without evidence, and when
	ledger       []time.Time                                     // of all of them
	lasts        []time.Time                                     // services that lost their last address without evidence
	objections   []time.Time                                     // addresses that were not allowed to go at once
	published    map[string]int                                  // by cluster of bridges: what the registry lists of theirs
	lost         map[string][]time.Time                          // and what it took back
	passed       map[int64]time.Time                             // sessions that are over and whose addresses go
	services     map[registryclient.Service]*service
	listed       int // instances that the registry lists in all
	probing      int
	ended        map[Evidence]uint64
	unwritten    map[*service]struct{}
	complete     bool // there is a whole picture on disk, and it is marked so
	whole        bool // everything is imported: once it is written, it is a whole picture

	stalls, extensions, probes, answers, refusals, diskErrors atomic.Uint64
}

// news is what was held for one kind of reason since the last look: how many, and
// the last of them.
type news struct {
	count        int
	why, example string
}

// New makes a Guard. It starts nothing.
func New(cfg Config) (*Guard, error) {
	if cfg.Book == nil || cfg.Session == nil {
		return nil, errors.New("a guard needs a book of claims and the sessions")
	}
	def(&cfg.MassShare, 0.3)
	def(&cfg.MassSessions, 3)
	def(&cfg.Window, 10*time.Second)
	def(&cfg.Cap, 0.5)
	def(&cfg.Hold, 10*time.Minute)
	def(&cfg.HoldMax, time.Hour)
	def(&cfg.Probe, ProbeTCP)
	def(&cfg.ProbeInterval, 5*time.Second)
	def(&cfg.ProbeTimeout, time.Second)
	def(&cfg.Probes, 64)
	cfg.HoldMax = max(cfg.HoldMax, cfg.Hold)
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{}).DialContext
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Guard{
		cfg: cfg, log: cfg.Log, beat: time.Now(),
		extended: make(map[int64]extension), ending: make(map[int64]string),
		gone:  make(map[registryclient.Service][]time.Time),
		items: make(map[string]*item), news: make(map[string]*news),
		ledgers: make(map[registryclient.Service]map[string]time.Time), published: make(map[string]int), lost: make(map[string][]time.Time), passed: make(map[int64]time.Time),
		services: make(map[registryclient.Service]*service),
		ended:    make(map[Evidence]uint64), unwritten: make(map[*service]struct{}),
	}, nil
}

// def sets *v to value if it is zero.
func def[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

const (
	heartbeat = 100 * time.Millisecond // how often we note that we run
	look      = time.Second            // how often we look at what is held
	stallFrom = time.Second            // a heart-beat that is later than this was a stall
)

// Run watches ourselves, probes what is held and ends it, until ctx ends. It
// returns nil then.
func (g *Guard) Run(ctx context.Context) error {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	var probes sync.WaitGroup
	defer probes.Wait()
	g.mu.Lock()
	g.beat = time.Now()
	g.mu.Unlock()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			for !g.write() {
			}
			return nil
		case <-tick.C:
		}
		now := time.Now()
		g.mu.Lock()
		g.beatLocked(now)
		g.mu.Unlock()
		if now.Sub(last) >= look {
			last = now
			g.tell()
			g.write()
			g.review(now)
		}
		g.probe(ctx, now, &probes)
	}
}

// Stats are numbers of a Guard. Counters rise for ever.
type Stats struct {
	Held         int               // addresses held now
	HeldBy       map[string]int    // the same by class of their removal
	Ended        map[string]uint64 // held addresses that ended, by evidence
	Stalls       uint64            // times that we stood still
	MassSilences uint64            // times that many sessions, or most of a service, were silent at once
	Extensions   uint64            // sessions whose deadline was extended
	Probes       uint64            // addresses asked
	Answers      uint64            // of these, those where somebody was
	Refusals     uint64            // and those where nobody listened
	DiskErrors   uint64            // imports that could not be written
}

// Stats is a snapshot of the counters.
func (g *Guard) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	st := Stats{
		Held: len(g.items), HeldBy: make(map[string]int), Ended: make(map[string]uint64), MassSilences: g.massSilences,
		Stalls: g.stalls.Load(), Extensions: g.extensions.Load(), Probes: g.probes.Load(),
		Answers: g.answers.Load(), Refusals: g.refusals.Load(), DiskErrors: g.diskErrors.Load(),
	}
	for _, e := range []Evidence{Word, Refusal, TimeOut, Operator, Adopted} {
		st.Ended[e.String()] = g.ended[e]
	}
	for _, c := range []Class{Expired, Reported, LinkLost, PeerLost, fromEarly} {
		st.HeldBy[c.String()] = 0
	}
	for _, it := range g.items {
		st.HeldBy[it.class.String()]++
	}
	return st
}
