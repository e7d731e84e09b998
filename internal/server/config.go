package server

import (
	"log/slog"
	"runtime"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// Config is what a Server is made of. Tree and Sessions are required.
type Config struct {
	Tree     *znode.Tree
	Sessions *sessions.Manager

	// Ready says whether handshakes are accepted, and if not why. While it says
	// no, connections are closed without a word and four-letter words answer
	// that the server is not serving. It is called for each handshake and must
	// not block. Nil: always ready.
	Ready func() (ok bool, reason string)

	HandshakeTimeout time.Duration // from accept to a complete connect request; 0: 10 s
	WriteTimeout     time.Duration // a client that takes no byte for so long is cut; 0: 20 s
	DrainTimeout     time.Duration // over which Drain spreads the closing of sockets; 0: 5 s

	MaxFrame           int // longest request in bytes behind its length; 0: 0xfffff, as ZooKeeper
	MaxSetWatchesFrame int // the same for setWatches and setWatches2 (ZOOKEEPER-706); 0: 64 MiB

	MaxConnections           int // all clients together; 0: no limit
	MaxConnectionsPerAddress int // ZooKeeper's maxClientCnxns, whose default is 60; 0: no limit

	// MaxPendingBytes is how much may wait for a client that does not read: of
	// events, before its connection is cut; of replies, before its further
	// requests wait. 0: 8 MiB.
	MaxPendingBytes int
	// MaxPendingTotal is how much may wait for all clients together before the
	// connection with most is cut. 0: 256 MiB.
	MaxPendingTotal int

	// StaleAfter is how long a client may leave an event of a bound directory
	// unanswered before it counts as a stale consumer. 0: nobody looks.
	StaleAfter time.Duration
	// ExpireStale answers a client that comes back with such an event unanswered,
	// however short ago, that its session has expired. Without StaleAfter it does
	// nothing.
	ExpireStale bool
	// BoundDir says whether path is a bound directory. It is called under the
	// tree's lock. Nil: none is.
	BoundDir func(path string) bool

	// ExtendedTypes are ZooKeeper's extendedTypesEnabled: TTL nodes may be made.
	ExtendedTypes bool
	// SuperDigest is the digest of user and password that pass every ACL, such as
	// super:<base64>; "": nobody does (DigestAuthenticationProvider.superDigest).
	SuperDigest string

	// Flushers is the number of goroutines that write events. 0: GOMAXPROCS, at
	// least 2.
	Flushers int

	// SuperUser is the subject (RFC 2253) of the client certificate that makes a
	// connection super (X509AuthenticationProvider.superUser). "": none does.
	SuperUser string

	// FourLetterWords are the words answered (4lw.commands.whitelist); "*" is all
	// that are known here. Nil: ruok srvr stat mntr conf isro.
	FourLetterWords []string
	// About is what four-letter words tell about this server.
	About About

	Log *slog.Logger // nil: silent
}

// About is what srvr, mntr and conf tell beside the server's own counters.
type About struct {
	Version           string // of srvr and mntr; "": ZooKeeper's form with a commit of zeros, and the date as go-zookeeper wants it
	ClientPort        int
	SecureClientPort  int // of TLS; 0: none
	TickTime          time.Duration
	MinSessionTimeout time.Duration
	MaxSessionTimeout time.Duration
	DataDir           string
	DataSize          func() int64 // bytes under DataDir; nil: 0
}

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	def(&c.HandshakeTimeout, 10*time.Second)
	def(&c.WriteTimeout, 20*time.Second)
	def(&c.DrainTimeout, 5*time.Second)
	def(&c.MaxFrame, zkproto.DefaultMaxFrame)
	def(&c.MaxSetWatchesFrame, max(64<<20, c.MaxFrame))
	def(&c.MaxPendingBytes, 8<<20)
	def(&c.MaxPendingTotal, 256<<20)
	def(&c.Flushers, max(2, runtime.GOMAXPROCS(0)))
	if c.FourLetterWords == nil {
		c.FourLetterWords = []string{"ruok", "srvr", "stat", "mntr", "conf", "isro"}
	}
	if c.Ready == nil {
		c.Ready = func() (bool, string) { return true, "" }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	def(&c.About.Version, "3.9.5-0000000000000000000000000000000000000000, built on 01/01/2026 00:00 UTC")
	if c.About.DataSize == nil {
		c.About.DataSize = func() int64 { return 0 }
	}
	return c
}

// def sets *v to value if it is zero.
func def[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
