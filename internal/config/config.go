package config

import "time"

// Config is everything an operator can choose. The `doc` tags are the text of the
// sample file, of --help, and of nothing else: one place for each sentence.
type Config struct {
	Bridge   Bridge   `mapstructure:"bridge" doc:"Who this bridge is."`
	Data     Data     `mapstructure:"data" doc:"What must survive a restart."`
	Server   Server   `mapstructure:"server" doc:"The side that ZooKeeper clients see."`
	Registry Registry `mapstructure:"registry" doc:"The service registry that is kept in step."`
	Guard    Guard    `mapstructure:"guard" doc:"What may hold a removal back. Sessions end as on ZooKeeper; the addresses of an expired one, and those that the\nregistry lists no more, stay when it is likelier that somebody is unreachable than that all of them died: held."`
	Spaces   []Space  `mapstructure:"spaces" doc:"Which znode subtrees are service discovery, and where in the registry they go.\nA path in no space is an ordinary znode: it stays in the bridge's own tree."`
	Admin    Admin    `mapstructure:"admin" doc:"Metrics, health and explain, over HTTP."`
	Log      Log      `mapstructure:"log" doc:"What is written to standard error."`
}

// Bridge names this process among the bridges of one cluster.
type Bridge struct {
	ID      int      `mapstructure:"id" doc:"1 to 254, unique in the cluster: the top byte of the session ids made here."`
	Cluster string   `mapstructure:"cluster" doc:"Marks what this cluster publishes. Empty: made once and kept in the data directory."`
	Zone    string   `mapstructure:"zone" doc:"Free text, for people; one bridge does not use it."`
	Peers   []string `mapstructure:"peers" doc:"Other bridges of the cluster. Not supported yet: must be empty."`
}

// Data is the data directory.
type Data struct {
	Dir string `mapstructure:"dir" doc:"Persistent znodes, the zxid clock, the identity. One process at a time."`
}

// Server is the listener for ZooKeeper clients and its limits.
type Server struct {
	Listen            string        `mapstructure:"listen" doc:"Address for ZooKeeper clients. Loopback until you say otherwise: 0.0.0.0:2181 serves the network."`
	TickTime          time.Duration `mapstructure:"tickTime" doc:"ZooKeeper's tickTime. Only the defaults of the two session timeouts depend on it."`
	MinSessionTimeout time.Duration `mapstructure:"minSessionTimeout" doc:"The shortest session timeout granted. 0: two ticks."`
	MaxSessionTimeout time.Duration `mapstructure:"maxSessionTimeout" doc:"The longest session timeout granted. 0: twenty ticks."`
	HandshakeTimeout  time.Duration `mapstructure:"handshakeTimeout" doc:"A connection that has not sent its connect request by then is closed."`
	WriteTimeout      time.Duration `mapstructure:"writeTimeout" doc:"A client that takes nothing for so long loses its connection, not its session."`
	DrainTimeout      time.Duration `mapstructure:"drainTimeout" doc:"At shutdown, connections are closed one by one over at most this time."`

	MaxFrame                 int `mapstructure:"maxFrame" doc:"jute.maxbuffer: the longest request, in bytes. Longer ones close the connection."`
	MaxSetWatchesFrame       int `mapstructure:"maxSetWatchesFrame" doc:"The longest setWatches request, in bytes. Old clients send all watches in one (ZOOKEEPER-706)."`
	MaxConnections           int `mapstructure:"maxConnections" doc:"All client connections together; 0: no limit but the process's open files."`
	MaxConnectionsPerAddress int `mapstructure:"maxConnectionsPerAddress" doc:"ZooKeeper's maxClientCnxns: connections from one address; 0: no limit."`
	MaxPendingBytes          int `mapstructure:"maxPendingBytes" doc:"Bytes waiting for one client that does not read. Above it the connection is cut, the session stays."`
	MaxPendingTotal          int `mapstructure:"maxPendingTotal" doc:"Bytes waiting for all clients together. Above it the largest laggard is cut first."`

	StaleAfter  time.Duration `mapstructure:"staleAfter" doc:"A client that was told of a change in a directory of providers and has not listed it again by then is a stale\nconsumer: see /stale-consumers, explain and the metric zkbridge_stale_consumers. 0: nobody looks."`
	ExpireStale bool          `mapstructure:"expireStale" doc:"Unlike ZooKeeper, tell a client that reconnects before it has listed such a directory again that its session has\nexpired: it then builds everything anew. A client that no longer cares for a directory it once watched is told so too."`

	AdoptAbandoned bool `mapstructure:"adoptAbandoned" doc:"Unlike ZooKeeper, a create of a provider's name that belongs to a session without a connection takes\nthe node over, instead of being told NodeExists: an application that was restarted faster than its old session\nexpires is then registered for good. Only in directories of providers."`

	ExtendedTypes          bool          `mapstructure:"extendedTypes" doc:"ZooKeeper's extendedTypesEnabled: TTL nodes can be made, and are removed when their time is over."`
	ContainerCheckInterval time.Duration `mapstructure:"containerCheckInterval" doc:"ZooKeeper's znode.container.checkIntervalMs: how often to look for empty containers and for TTL nodes that are over."`
	ContainerMaxPerMinute  int           `mapstructure:"containerMaxPerMinute" doc:"ZooKeeper's znode.container.maxPerMinute: the most of them that are removed in a minute."`

	SuperDigest  string `mapstructure:"superDigest" doc:"ZooKeeper's DigestAuthenticationProvider.superDigest: who authenticates with this user and password passes\nevery ACL. user:<base64 of the SHA-1 of user:password>. Empty: nobody does."`
	SkipACL      bool   `mapstructure:"skipACL" doc:"ZooKeeper's skipACL: ACLs are kept but refuse nobody. For single roots see spaces, acl."`
	EnforceQuota bool   `mapstructure:"enforceQuota" doc:"ZooKeeper's enforceQuota: what exceeds a hard limit below /zookeeper/quota is refused. Usage is counted in any case."`

	FourLetterWords []string `mapstructure:"fourLetterWords" doc:"ZooKeeper's 4lw.commands.whitelist: the words answered; \"*\" is all of them. cons, dump, wchc and wchp tell much of\nclients, crst and srst begin counters anew: those are for whom you trust."`

	ProxyProtocol bool `mapstructure:"proxyProtocol" doc:"Require a PROXY protocol v2 header on the plain listener: for a load balancer in front that sends one.\nThe address in it is the client's in limits, logs, ip ACLs and four-letter words."`

	TLS ServerTLS `mapstructure:"tls" doc:"A listener for clients through TLS, beside the plain one, with the same limits."`
}

// ServerTLS is the listener through TLS. Its files are read again when they change
// and on SIGHUP.
type ServerTLS struct {
	Listen        string `mapstructure:"listen" doc:"Address, such as 0.0.0.0:2281. Empty: none."`
	CertFile      string `mapstructure:"certFile" doc:"The server's certificate (PEM), followed by those between it and its authority."`
	KeyFile       string `mapstructure:"keyFile" doc:"Its private key (PEM). Both files, and clientCAFile, are read again when they change and on SIGHUP; what cannot\nbe used leaves the last good ones in force."`
	ClientCAFile  string `mapstructure:"clientCAFile" doc:"The authorities (PEM) of client certificates; needed unless clientAuth is none."`
	ClientAuth    string `mapstructure:"clientAuth" doc:"none: clients show no certificate. want: they may. need: they must. One that is shown gives the identity x509:SUBJECT."`
	MinVersion    string `mapstructure:"minVersion" doc:"1.2 or 1.3."`
	SuperUser     string `mapstructure:"superUser" doc:"Subject (RFC 2253, such as CN=admin,O=Example) of the client certificate that no ACL stops. Empty: none."`
	ProxyProtocol bool   `mapstructure:"proxyProtocol" doc:"Require a PROXY protocol v2 header in front of TLS."`
}

// Registry chooses the backend and how it is reached.
type Registry struct {
	Kind    string        `mapstructure:"kind" doc:"The backend. embedded: zkbridge's own registry. nacos: a Nacos cluster, from 2.1 to 3.x."`
	Address string        `mapstructure:"address" doc:"URL of a registry that runs as its own process (zkbridge registry serve), such as\nhttp://127.0.0.1:8849. Empty: the registry runs inside this bridge."`
	Token   string        `mapstructure:"token" doc:"Bearer token for the registry's HTTP API. Required when it listens beyond loopback."`
	Lease   time.Duration `mapstructure:"lease" doc:"What this bridge published outlives its link to the registry for so long."`

	StartWithoutRegistry string        `mapstructure:"startWithoutRegistry" doc:"What a start without an answer of the registry does. wait: as soon as there is an answer, or after startWait what was\nimported before and is on disk, clients are served; with neither they are not let in, and keep the lists they have.\nserve: after startWait they are served in any case; native providers are missing until the registry answers."`
	StartWait            time.Duration `mapstructure:"startWait" doc:"How long a start waits for the registry's answer before it goes by the disk."`

	Embedded EmbeddedRegistry `mapstructure:"embedded" doc:"The registry inside this bridge; unused when an address is given."`
	Nacos    Nacos            `mapstructure:"nacos" doc:"The Nacos cluster; used where kind is nacos."`
}

// EmbeddedRegistry is the registry that runs in the bridge's process.
type EmbeddedRegistry struct {
	Listen string `mapstructure:"listen" doc:"Address of its HTTP API, where native applications register. Empty: none."`
}

// Space is a set of roots that move together.
type Space struct {
	Name      string `mapstructure:"name" doc:"Names the space in logs, metrics and explain."`
	Phase     string `mapstructure:"phase" doc:"native: the tree is the home of all paths, the registry is bound to it. (The other phases need an ensemble.)"`
	Namespace string `mapstructure:"namespace" doc:"The registry namespace; may be a {name} from the roots' patterns."`
	Group     string `mapstructure:"group" doc:"The registry group; may be a {name} from the roots' patterns."`
	Roots     []Root `mapstructure:"roots" doc:"The subtrees of this space; the longest prefix wins."`
}

// Root is one subtree, or a pattern of subtrees.
type Root struct {
	Path    string   `mapstructure:"path" doc:"A path such as /dubbo, or a pattern such as /apps/{tenant}/dubbo."`
	Layouts []string `mapstructure:"layouts" doc:"How the subtree is laid out. dubbo: interface-level registration of Apache Dubbo."`
	ACL     string   `mapstructure:"acl" doc:"enforce: ACLs below this root are as on ZooKeeper. ignore: they are kept and shown, and refuse nobody; for\nfleets in which some applications bring credentials and others do not."`
}

// Admin is the operator's HTTP listener.
type Admin struct {
	Listen string `mapstructure:"listen" doc:"Address of /metrics, /metrics/zookeeper, /commands (ZooKeeper's AdminServer), /healthz, /readyz, /explain and\n/stale-consumers. Loopback: nothing here asks who you are. Empty: none."`
	Pprof  bool   `mapstructure:"pprof" doc:"Serve Go's profiles under /debug/pprof/."`
}

// Log is the log of the process.
type Log struct {
	Level  string `mapstructure:"level" doc:"debug, info, warn or error."`
	Format string `mapstructure:"format" doc:"text or json."`
}

// Default is a bridge on its embedded defaults: it serves Dubbo's usual root and
// runs the registry in its own process.
func Default() Config {
	return Config{
		Bridge: Bridge{ID: 1, Peers: []string{}},
		Data:   Data{Dir: "data"},
		Server: Server{
			Listen:                   "127.0.0.1:2181",
			TickTime:                 2 * time.Second,
			HandshakeTimeout:         10 * time.Second,
			WriteTimeout:             20 * time.Second,
			DrainTimeout:             5 * time.Second,
			MaxFrame:                 0xfffff,
			MaxSetWatchesFrame:       64 << 20,
			MaxConnections:           0,
			MaxConnectionsPerAddress: 60,
			MaxPendingBytes:          8 << 20,
			MaxPendingTotal:          256 << 20,
			StaleAfter:               30 * time.Second,
			AdoptAbandoned:           true,
			ContainerCheckInterval:   time.Minute,
			ContainerMaxPerMinute:    10000,
			FourLetterWords:          []string{"ruok", "srvr", "stat", "mntr", "conf", "isro"},
			TLS:                      ServerTLS{ClientAuth: "none", MinVersion: "1.2"},
		},
		Registry: Registry{
			Kind:                 "embedded",
			Lease:                30 * time.Second,
			StartWithoutRegistry: "wait",
			StartWait:            10 * time.Second,
			Embedded:             EmbeddedRegistry{Listen: "127.0.0.1:8849"},
			Nacos:                defaultNacos(),
		},
		Guard: defaultGuard(),
		Spaces: []Space{{
			Name: "dubbo", Phase: "native", Namespace: "public", Group: "DEFAULT_GROUP",
			Roots: []Root{{Path: "/dubbo", Layouts: []string{"dubbo"}, ACL: "enforce"}},
		}},
		Admin: Admin{Listen: "127.0.0.1:8180"},
		Log:   Log{Level: "info", Format: "text"},
	}
}

// SessionTimeouts gives the bounds that negotiation uses: two and twenty ticks
// where nothing else is said (ZooKeeper's minSessionTimeout, maxSessionTimeout).
func (s Server) SessionTimeouts() (shortest, longest time.Duration) {
	shortest, longest = s.MinSessionTimeout, s.MaxSessionTimeout
	if shortest == 0 {
		shortest = 2 * s.TickTime
	}
	if longest == 0 {
		longest = 20 * s.TickTime
	}
	return shortest, longest
}
