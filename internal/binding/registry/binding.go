package registry

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// Config is what a Binding is made of. Book, Client and Owner are required.
type Config struct {
	Book   *claims.Book
	Client registryclient.Client // its Run is the caller's
	Owner  registryclient.Owner  // the client's

	// Table remembers what we publish, for registries that cannot say what is
	// ours; nil: in memory only. It may be shared with nobody.
	Table *Table

	// Leader decides whether this bridge imports; nil: it does.
	Leader Leader

	// Guard decides what the registry may take away; nil: all it does.
	Guard Guard

	// ServeAfter opens the gate so long after the start without the registry, if the
	// Guard has a whole picture of it from before; 0: the registry is waited for.
	ServeAfter time.Duration
	ServeBlind bool // even if the Guard has none: what others registered is missing until the registry answers

	// Leftovers is how long what an earlier life of this bridge has left in the
	// registry stays there although nothing here vouches for it: of a bridge that
	// may have forgotten something. 0: it knows all, and withdraws that at once.
	// A registry that cannot say what is ours has none.
	Leftovers time.Duration

	AdditionDelay  time.Duration // from a change to the publication of what is new; 0: 10 ms, at most 20 ms
	RemovalDelay   time.Duration // how long what is gone stays published; 0: 900 ms, at most 1 s
	PublishTimeout time.Duration // for one call; 0: 10 s
	RetryMin       time.Duration // full jitter: the first retry waits up to this, each further one up to twice as long; 0: 200 ms
	RetryMax       time.Duration // and none longer than this; 0: 10 s
	RefusedRetry   time.Duration // how long an instance that the registry refused is left out, unless it changes or the link comes back; 0: 5 min
	Workers        int           // publications under way at once; 0: 16

	Jitter func() float64 // in [0, 1); nil: math/rand
	Log    *slog.Logger   // nil: silent
}

// Guard stands between what a registry lists and the book of claims.
type Guard interface {
	// Import brings a service's list, without what is ours, into the book and
	// reports whether the tree has changed. Calls for one service are serial.
	Import(svc registryclient.Service, list []registryclient.Instance) bool
	// Link says whether the registry can be reached, whenever that changes.
	Link(up bool)
	// Complete says that everything that the registry lists is imported.
	Complete()
	// Picture reports whether the book shows a whole picture from before the start.
	Picture() bool
}

// unguarded lets everything through.
type unguarded struct{ book *claims.Book }

func (u unguarded) Import(svc registryclient.Service, list []registryclient.Instance) bool {
	return u.book.Import(svc, list)
}
func (unguarded) Link(bool)     {}
func (unguarded) Complete()     {}
func (unguarded) Picture() bool { return false }

// Leader tells which of the bridges of a cluster does a job that must be done by
// one of them. A bridge that is alone does all.
type Leader interface {
	Leads(job string) bool
}

// JobImport is the job of bringing the registry's instances into the tree. A
// bridge that does not lead it gets them from the one that does.
const JobImport = "import"

// alone is the leader of a bridge without peers.
type alone struct{}

func (alone) Leads(string) bool { return true }

// Binding binds a book of claims to a registry.
type Binding struct {
	cfg   Config
	pub   *publisher
	imp   *importer
	gate  *gate
	echo  *echo
	notes *notes
}

// New makes a Binding and makes the Book report to it; so it comes before
// Book.Load. It starts nothing.
func New(cfg Config) (*Binding, error) {
	if cfg.Book == nil || cfg.Client == nil {
		return nil, errors.New("a registry binding needs a book of claims and a client")
	}
	if cfg.AdditionDelay > 20*time.Millisecond || cfg.RemovalDelay > time.Second {
		return nil, errors.New("additions must leave within 20 ms and removals within 1 s")
	}
	def(&cfg.AdditionDelay, 10*time.Millisecond)
	def(&cfg.RemovalDelay, 900*time.Millisecond)
	def(&cfg.PublishTimeout, 10*time.Second)
	def(&cfg.RetryMin, 200*time.Millisecond)
	def(&cfg.RetryMax, 10*time.Second)
	def(&cfg.RefusedRetry, 5*time.Minute)
	def(&cfg.Workers, 16)
	if cfg.Table == nil {
		cfg.Table = newTable()
	}
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	if cfg.Leader == nil {
		cfg.Leader = alone{}
	}
	if cfg.Guard == nil {
		cfg.Guard = unguarded{cfg.Book}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b := &Binding{cfg: cfg}
	b.echo = &echo{table: cfg.Table, cluster: cfg.Owner.Cluster}
	b.pub = newPublisher(cfg)
	b.gate = newGate(cfg.Log, func() {
		cfg.Guard.Complete()
		b.pub.imported()
	})
	b.imp = newImporter(cfg, b.gate, b.echo)
	b.imp.left, b.imp.hurry = b.pub.left, b.pub.hurry
	b.notes = newNotes(cfg.Log)
	cfg.Book.OnDirty(b.pub.mark)
	cfg.Book.OnTarget(b.imp.found)
	cfg.Book.OnRefused(b.notes.refused)
	cfg.Book.OnOutcome(b.pub.outcome)
	return b, nil
}

// def sets *v to value if it is zero.
func def[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Run publishes and imports until ctx ends, and then returns nil. It withdraws
// nothing. The Book is loaded before, and Run is called once.
func (b *Binding) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	cfg := &b.cfg
	b.pub.begin(time.Now())
	if cfg.ServeAfter > 0 {
		g.Go(func() error {
			return b.gate.giveUp(ctx, cfg.ServeAfter, func() bool { return cfg.ServeBlind || cfg.Guard.Picture() })
		})
	}
	g.Go(func() error { return b.pub.run(ctx) })
	g.Go(func() error { return b.imp.run(ctx) })
	g.Go(func() error { return b.notes.run(ctx) })
	g.Go(func() error {
		return b.cfg.Client.WatchLink(ctx, func(s registryclient.LinkState) {
			b.gate.link(s)
			cfg.Guard.Link(s.Up)
			b.pub.link(s)
		})
	})
	err := g.Wait()
	return errors.Join(err, b.cfg.Table.Close())
}

// Ready tells whether the first complete picture of every space is in the tree:
// the names of the services of every target that was known at the start, and
// the first list of each; or, after Config.ServeAfter, what was known of them before
// the start. Until then reason says what is missing. Once ready it
// stays ready, whatever becomes of the registry.
func (b *Binding) Ready() (ok bool, reason string) { return b.gate.ready() }

// Stats is a snapshot of the binding's counters.
func (b *Binding) Stats() Stats {
	s := Stats{}
	b.pub.stats(&s)
	b.imp.stats(&s)
	b.notes.stats(&s)
	s.Ready, _ = b.gate.ready()
	s.Link = b.cfg.Client.LinkState()
	return s
}

// Stats are numbers of a Binding. Counters rise for ever.
type Stats struct {
	Ready bool
	Link  registryclient.LinkState

	Published        uint64        // lists that the registry accepted
	PublishFailures  uint64        // calls that failed for now and are repeated
	PublishRefusals  uint64        // calls that the registry refused for good
	PublishTime      time.Duration // spent in calls, for a mean
	PublishPending   int           // services whose list is waiting or under way
	PublishedNow     int           // instances that the registry has accepted from us
	RefusedNow       int           // instances that the registry does not take
	Snapshots        uint64        // lists that arrived
	Imports          uint64        // of these, those that changed the tree
	Echoes           uint64        // instances of these lists that were our own
	Subscribed       int           // services
	SubscribeErrors  uint64
	TableErrors      uint64            // records of what we publish that could not be written
	NotTranslated    map[string]uint64 // znodes that could not be published because of their name or data, by reason
	NotShown         map[string]uint64 // instances of the registry that no znode can stand for, by reason
	LinkChanges      uint64
	Reconciliations  uint64 // times that our services in the registry were compared
	OldestPendingAge time.Duration
}
