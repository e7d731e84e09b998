package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"zkbridge/internal/admin"
	"zkbridge/internal/certificates"
	"zkbridge/internal/claims"
	"zkbridge/internal/config"
	"zkbridge/internal/metrics"
	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/registryclient/nacos"
	"zkbridge/sessions"
	"zkbridge/translate"

	"golang.org/x/sync/errgroup"

	"zkbridge/internal/binding/guard"
	binding "zkbridge/internal/binding/registry"
)

// Bridge is one bridge. Its listeners are open from New on, so its addresses
// are known; nothing is answered before Run.
type Bridge struct {
	cfg config.Config
	log *slog.Logger

	store    *znode.Store
	tree     *znode.Tree
	book     *claims.Book
	sessions *sessions.Manager
	server   *server.Server
	binding  *binding.Binding
	client   registryclient.Client

	// The registry inside this process; nil when it is a process of its own.
	registry     *embedded.Registry
	registryDisk *embedded.Dir

	nacos *nacos.Client // the client; nil where the registry is another

	guard *guard.Guard

	takeovers takeovers // nil where nothing is taken over

	draining atomic.Bool
	open     atomic.Bool // clients are let in

	excesses excesses // of quotas; nil where they are not enforced

	clients     net.Listener
	secure      net.Listener               // clients through TLS; nil: none
	certs       *certificates.Certificates // of secure
	registryAPI net.Listener               // nil: none
	admin       net.Listener               // nil: none
}

// New opens the data directory and the listeners and builds the parts. What it
// opened is closed by Run, or by itself if it fails.
func New(cfg config.Config, log *slog.Logger) (_ *Bridge, err error) {
	b := &Bridge{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.store, err = b.openStore(); err != nil {
		return nil, err
	}
	cluster := cfg.Bridge.Cluster
	if cluster == "" {
		cluster = b.store.ClusterID()
	}
	owner, err := b.owner(cluster)
	if err != nil {
		return nil, err
	}
	if err = b.buildTree(cluster); err != nil {
		return nil, err
	}
	if err = b.buildRegistry(owner); err != nil {
		return nil, err
	}
	if err = b.bind(owner); err != nil {
		return nil, err
	}
	if err = b.openCertificates(); err != nil {
		return nil, err
	}
	if err = b.listen(); err != nil {
		return nil, err
	}
	b.server = server.New(b.serverConfig())
	return b, b.resume()
}

// reservedSession owns imported nodes: the bridge's id and nothing else.
func (b *Bridge) reservedSession() int64 { return sessions.ReservedID(uint8(b.cfg.Bridge.ID)) }

func (b *Bridge) buildTree(cluster string) error {
	spaces, err := spacesOf(b.cfg.Spaces, translate.NewDubbo(cluster))
	if err != nil {
		return err
	}
	b.book = claims.NewBook(claims.BookConfig{
		Spaces:      spaces,
		Reserved:    b.reservedSession(),
		Bridge:      uint8(b.cfg.Bridge.ID),
		Incarnation: b.store.Incarnation(),
	})
	tree := znode.Config{
		Reserved: b.reservedSession(), Store: b.store, Hook: b.book,
		IgnoreACL: b.ignoreACL(spaces), EnforceQuota: b.cfg.Server.EnforceQuota, X509: b.cfg.Server.TLS.Listen != "",
	}
	if b.cfg.Server.AdoptAbandoned {
		b.takeovers = make(takeovers, 64)
		tree.Abandoned, tree.TakenOver = b.abandoned, b.takeovers.add
	}
	if tree.EnforceQuota {
		b.excesses = make(excesses, 1)
		tree.OverQuota = b.excesses.add
	}
	if b.tree, err = znode.New(tree); err != nil {
		return err
	}
	shortest, longest := b.cfg.Server.SessionTimeouts()
	sessionLog := b.log.With("component", "sessions")
	if err = b.buildGuard(); err != nil {
		return err
	}
	removeNodes := server.Expire(b.tree, func(s *sessions.Session) func(string) string { return b.guard.Ending(s.ID()) })
	b.sessions, err = sessions.New(sessions.Config{
		Bridge:      uint8(b.cfg.Bridge.ID),
		Incarnation: b.store.Incarnation(),
		KeyID:       b.store.KeyID(),
		Key:         b.store.Secret(),
		MinTimeout:  shortest,
		MaxTimeout:  longest,
		Authority:   authority{b.guard, &b.open},
		Expire: func(s *sessions.Session) {
			removeNodes(s)
			sessionLog.Info("session expired", "session", s.String(), "timeout", s.Timeout())
		},
		Log: sessionLog,
	})
	if err != nil {
		return err
	}
	b.sessions.OnEnd(func(s *sessions.Session) { b.guard.Ended(s.ID()) })
	return nil
}

// spacesOf turns the configured spaces into those of claims.
func spacesOf(configured []config.Space, dubbo translate.Layout) (*claims.Spaces, error) {
	layouts := map[string]translate.Layout{dubbo.Name(): dubbo}
	list := make([]claims.Space, 0, len(configured))
	for _, s := range configured {
		space := claims.Space{Name: s.Name, Namespace: s.Namespace, Group: s.Group}
		for _, r := range s.Roots {
			root := claims.Root{Pattern: r.Path, IgnoreACL: r.ACL == "ignore"}
			for _, name := range r.Layouts {
				root.Layouts = append(root.Layouts, layouts[name])
			}
			space.Roots = append(space.Roots, root)
		}
		list = append(list, space)
	}
	return claims.NewSpaces(list)
}

func (b *Bridge) buildRegistry(owner registryclient.Owner) (err error) {
	log := b.log.With("component", "registry")
	if b.cfg.Registry.Kind == "nacos" {
		return b.buildNacos(owner, log)
	}
	if address := b.cfg.Registry.Address; address != "" {
		b.client, err = embedded.NewRemote(embedded.RemoteConfig{
			Address: address, Token: b.cfg.Registry.Token, Owner: owner, TTL: b.cfg.Registry.Lease, Log: log,
		})
		return err
	}
	if b.registryDisk, err = embedded.OpenDir(filepath.Join(b.cfg.Data.Dir, "registry")); err != nil {
		return err
	}
	if b.registry, err = embedded.New(embedded.Config{Disk: b.registryDisk, Log: log}); err != nil {
		return err
	}
	b.client, err = embedded.NewLocal(b.registry, owner, b.cfg.Registry.Lease)
	return err
}

// bind joins claims and registry. The book is loaded last: what the tree brought
// from disk marks services dirty.
func (b *Bridge) bind(owner registryclient.Owner) error {
	table, err := binding.OpenTable(filepath.Join(b.cfg.Data.Dir, "published.log"))
	if err != nil {
		return err
	}
	cfg := binding.Config{Book: b.book, Client: b.client, Owner: owner, Table: table, Guard: b.guard, Log: b.log.With("component", "binding")}
	cfg.ServeAfter = max(b.cfg.Registry.StartWait, time.Nanosecond)
	cfg.ServeBlind = b.cfg.Registry.StartWithoutRegistry == "serve"
	if !b.store.Whole() {
		cfg.Leftovers = b.cfg.Registry.Lease
	}
	if b.registry != nil {
		// There is nothing to wait for in our own process: a second worker would only
		// take processors from clients. With one, what a burst of registrations brings
		// to a service while another is published is published in one go.
		cfg.Workers = 1
	}
	b.binding, err = binding.New(cfg)
	if err != nil {
		return err
	}
	if err := b.book.Load(b.tree); err != nil {
		return err
	}
	return b.guard.Load()
}

// listen opens all listeners, so that a port in use is known before anything
// runs.
func (b *Bridge) listen() error {
	open := func(key, address string) (net.Listener, error) {
		ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; stop what listens there, or choose another address", key, err)
		}
		return ln, nil
	}
	var err error
	if b.clients, err = open("server.listen", b.cfg.Server.Listen); err != nil {
		return err
	}
	if b.cfg.Server.TLS.Listen != "" {
		if b.secure, err = open("server.tls.listen", b.cfg.Server.TLS.Listen); err != nil {
			return err
		}
	}
	if b.registry != nil && b.cfg.Registry.Embedded.Listen != "" {
		if b.registryAPI, err = open("registry.embedded.listen", b.cfg.Registry.Embedded.Listen); err != nil {
			return err
		}
	}
	if b.cfg.Admin.Listen != "" {
		if b.admin, err = open("admin.listen", b.cfg.Admin.Listen); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bridge) serverConfig() server.Config {
	s := b.cfg.Server
	shortest, longest := s.SessionTimeouts()
	return server.Config{
		Tree: b.tree, Sessions: b.sessions, Ready: b.binding.Ready,
		HandshakeTimeout: s.HandshakeTimeout, WriteTimeout: s.WriteTimeout, DrainTimeout: s.DrainTimeout,
		MaxFrame: s.MaxFrame, MaxSetWatchesFrame: s.MaxSetWatchesFrame,
		MaxConnections: s.MaxConnections, MaxConnectionsPerAddress: s.MaxConnectionsPerAddress,
		MaxPendingBytes: s.MaxPendingBytes, MaxPendingTotal: s.MaxPendingTotal,
		StaleAfter: s.StaleAfter, ExpireStale: s.ExpireStale, BoundDir: b.boundDir,
		ExtendedTypes: s.ExtendedTypes, SuperDigest: s.SuperDigest,
		FourLetterWords: s.FourLetterWords,
		SuperUser:       s.TLS.SuperUser,
		About: server.About{
			ClientPort: b.clients.Addr().(*net.TCPAddr).Port, SecureClientPort: b.securePort(),
			TickTime: s.TickTime, MinSessionTimeout: shortest, MaxSessionTimeout: longest,
			DataDir: b.cfg.Data.Dir, DataSize: func() int64 { return sizeOf(b.cfg.Data.Dir) },
		},
		Log: b.log.With("component", "server"),
	}
}

// sizeOf sums the files of a directory, in bytes.
func sizeOf(dir string) (total int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
	}
	return total
}

// ClientAddr is where ZooKeeper clients connect, "host:port".
func (b *Bridge) ClientAddr() string { return b.clients.Addr().String() }

// RegistryURL is the base URL of the registry's HTTP API, "" if there is none; of
// Nacos, its servers.
func (b *Bridge) RegistryURL() string {
	if b.registryAPI != nil {
		return "http://" + b.registryAPI.Addr().String()
	}
	if b.nacos != nil {
		return "nacos://" + strings.Join(b.cfg.Registry.Nacos.Servers, ",")
	}
	return b.cfg.Registry.Address
}

// AdminURL is the base URL of the admin listener, "" if there is none.
func (b *Bridge) AdminURL() string {
	if b.admin == nil {
		return ""
	}
	return "http://" + b.admin.Addr().String()
}

// Stats are the counters of the side that ZooKeeper clients see.
func (b *Bridge) Stats() server.Stats { return b.server.Stats() }

// AwaitReady waits until ZooKeeper clients are served. When ctx ends first, the
// error says what was missing.
func (b *Bridge) AwaitReady(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, reason := b.binding.Ready()
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the bridge is not ready: %s: %w", reason, ctx.Err())
		}
	}
}

// Run serves until ctx ends or a part fails, then stops the parts and closes what
// New opened. First stops whoever ends sessions and removes nodes: a client that is
// sent away must find its session when the bridge is back. Then clients are sent
// away one by one, then the publishers stop, last the store. It is called once.
func (b *Bridge) Run(ctx context.Context) error {
	defer b.close()
	// Stages stop one after another; a failure anywhere stops all.
	g, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	ending, stopEnding := context.WithCancel(failed)
	facing, stopFacing := context.WithCancel(failed)
	inner, stopInner := context.WithCancel(failed)
	keeping, stopKeeping := context.WithCancel(failed)
	defer stopEnding()
	defer stopFacing()
	defer stopInner()
	defer stopKeeping()

	var endingParts, facingParts, innerParts errgroup.Group
	start := func(stage *errgroup.Group, ctx context.Context, name string, run func(context.Context) error) {
		ended := make(chan struct{})
		g.Go(func() error {
			defer close(ended)
			if err := run(ctx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
		stage.Go(func() error { <-ended; return nil })
	}
	var keepingParts errgroup.Group
	start(&keepingParts, keeping, "store", b.store.Run)
	if b.registry != nil {
		start(&keepingParts, keeping, "embedded registry", b.registry.Run)
	}
	start(&endingParts, ending, "sessions", b.sessions.Run)
	start(&endingParts, ending, "opening", b.letIn)
	start(&endingParts, ending, "reaper", b.reaper().Run)
	start(&endingParts, ending, "guard", b.guard.Run)
	if b.excesses != nil {
		start(&innerParts, inner, "quota log", b.tellExcesses)
	}
	if b.takeovers != nil {
		start(&innerParts, inner, "log of what is taken over", b.tellTakeovers)
	}
	start(&innerParts, inner, "registry client", b.client.Run)
	start(&innerParts, inner, "registry binding", b.binding.Run)
	start(&facingParts, facing, "server", func(ctx context.Context) error { return b.serveClients(ctx) })
	if b.secure != nil {
		start(&facingParts, facing, "server through TLS", b.serveSecure)
		start(&innerParts, inner, "certificates", b.certs.Run)
	}
	if b.registryAPI != nil {
		start(&facingParts, inner, "registry API", b.serveRegistryAPI)
	}
	if b.admin != nil {
		start(&innerParts, inner, "admin", b.serveAdmin)
	}
	b.log.Info("serving", "clients", b.ClientAddr(), "tls", b.SecureAddr(), "registry", b.RegistryURL(), "admin", b.AdminURL(),
		"bridge", b.cfg.Bridge.ID, "incarnation", b.store.Incarnation(), "data", b.cfg.Data.Dir)

	g.Go(func() error {
		select {
		case <-ctx.Done():
		case <-failed.Done():
			return nil
		}
		b.draining.Store(true)
		b.log.Info("stopping: closing client connections, sessions stay")
		stopEnding()
		_ = endingParts.Wait()
		drain, cancel := context.WithTimeout(failed, b.cfg.Server.DrainTimeout+time.Second)
		err := b.server.Drain(drain)
		cancel()
		stopFacing()
		stopInner()
		_ = facingParts.Wait()
		_ = innerParts.Wait()
		stopKeeping()
		if errors.Is(err, context.DeadlineExceeded) {
			b.log.Warn("connections were still open at the end of the drain")
			err = nil
		}
		return err
	})
	err := g.Wait()
	if err == nil {
		b.log.Info("stopped")
	}
	return err
}

func (b *Bridge) serveRegistryAPI(ctx context.Context) error {
	return embedded.ServeHTTP(ctx, b.registry, embedded.HTTPConfig{
		Listener: b.registryAPI, Token: b.cfg.Registry.Token, Log: b.log.With("component", "registry"),
	})
}

func (b *Bridge) serveAdmin(ctx context.Context) error {
	sources := metrics.Sources{
		Ready:    func() bool { ok, _ := b.binding.Ready(); return ok && !b.draining.Load() },
		Server:   b.server.Stats,
		Sessions: b.sessions.Stats,
		Tree:     b.tree.Stats,
		Binding:  b.binding.Stats,
		Link:     b.client.LinkState,
		Guard:    b.guard.Stats,
		Store:    b.store.Stats,
	}
	if b.registry != nil {
		sources.Registry = b.registry.Stats
	}
	if b.nacos != nil {
		sources.Nacos = b.nacos.Stats
	}
	return admin.Serve(ctx, b.admin, admin.Config{
		Ready: func() (bool, []string) {
			ok, reason := b.binding.Ready()
			if b.draining.Load() {
				ok, reason = false, "the bridge is stopping"
			}
			return ok, []string{reason}
		},
		Explain:   func(path string) fmt.Stringer { return b.explain(path) },
		Stale:     b.stale(),
		Held:      b.held(),
		Metrics:   metrics.Handler(metrics.New(sources)),
		ZooKeeper: metrics.Handler(metrics.NewZooKeeper(b.server.Monitor)),
		Commands:  b.commands(),
		Pprof:     b.cfg.Admin.Pprof,
		Log:       b.log.With("component", "admin"),
	})
}

// close closes what is open; listeners that were served are closed already.
func (b *Bridge) close() {
	for _, ln := range []net.Listener{b.clients, b.secure, b.registryAPI, b.admin} {
		if ln != nil {
			_ = ln.Close()
		}
	}
	if b.registryDisk != nil {
		_ = b.registryDisk.Close()
	}
	if b.store != nil {
		_ = b.store.Close()
	}
}
