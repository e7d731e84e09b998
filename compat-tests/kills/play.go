//go:build compat

package kills

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/native"
	"zkbridge/compat-tests/observer"
)

const (
	sessionTimeout = 6 * time.Second
	nativeTTL      = 8 * time.Second
	roundsTogether = 20               // kills between two times that all has to be well
	wellLimit      = 20 * time.Second // from the last kill to that
)

// limits are what the judge forgives: a dead session's address stays for as long as
// docs/guard.md says, which is another timeout and two probes where others died
// with it. How soon a provider is in the other side's list is measured elsewhere, on
// a machine that starts no servers meanwhile.
var limits = observer.Limits{Late: 3 * time.Second, Linger: 3 * time.Second, Expiry: sessionTimeout + 6*time.Second}

var services = []string{"com.example.KillsA", "com.example.KillsB", "com.example.KillsC"}

// play is one run against one target.
type play struct {
	*testing.T
	seed    uint64
	target  control.Target
	history *history
	apps    []*app
	natives []*instance
	pause   sync.RWMutex // held by who comes and goes; taken alone where all has to be well

	mu     sync.Mutex
	faults []string

	acknowledged, refused atomic.Int64          // of the document
	lists                 map[observer.Side]int // seen and judged
	registrations         int                   // acknowledged; those that lived on are counted again
	rounds                int
	kills                 int
}

// instance is registered at the registry itself.
type instance struct {
	service string
	address string
	there   atomic.Bool
}

func (p *play) fault(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// expired is told of every session that a living client lost: while the machine
// goes on a restart must not end one.
func (p *play) expired(a *app, id int64) {
	p.fault("%s of %s was told that session 0x%x has expired: it lives, and was never away for its timeout", a.address, a.name, uint64(id))
}

func (p *play) makeDirectories(conn *zk.Conn, service string) {
	for _, dir := range []string{"/dubbo", "/dubbo/" + service, directory(service)} {
		_, _ = conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll))
	}
}

// start brings everybody up.
func (p *play) start(ctx context.Context, running *sync.WaitGroup) {
	z := &observer.ZooKeeper{Addr: p.target.Addr(), Root: "/dubbo", To: p.history}
	r := &observer.Registry{URL: p.target.RegistryURL(), Namespace: "public", Group: "DEFAULT_GROUP", To: p.history}
	for name, run := range map[string]func(context.Context) error{
		"zookeeper": z.Run, "registry": r.Run, "stalls": (&observer.Stalls{To: p.history}).Run,
	} {
		running.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				p.fault("the observer of %s: %v", name, err)
			}
		})
	}
	for i := range 6 {
		p.add(fmt.Sprintf("dubbo-%d", i), dubbo, services...)
	}
	for i := range 3 {
		p.add(fmt.Sprintf("curator-%d", i), curator, services[i])
	}
	for i := range 3 {
		p.addNative(ctx, running, services[i]+"::")
	}
	running.Go(func() { p.write(ctx) })
	for i, a := range p.apps[:4] { // the others only stand
		random := rand.New(rand.NewPCG(p.seed, uint64(i)))
		running.Go(func() { p.comeAndGo(ctx, a, random) })
	}
}

func (p *play) add(name string, m manner, services ...string) {
	a, err := newApp(p, name, m, services...)
	if err != nil {
		p.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.born(); err != nil {
		p.Fatal(err)
	}
	p.apps = append(p.apps, a)
}

// comeAndGo has an application deregister and register, die and be born.
func (p *play) comeAndGo(ctx context.Context, a *app, random *rand.Rand) {
	for ctx.Err() == nil {
		select {
		case <-time.After(time.Duration(200+random.IntN(1500)) * time.Millisecond):
		case <-ctx.Done():
			return
		}
		p.pause.RLock()
		a.mu.Lock()
		if ctx.Err() == nil {
			switch random.IntN(5) {
			case 0: // dies, and is back at once under the same name
				a.die()
				if err := a.born(); err != nil {
					p.fault("%s: %v", a.name, err)
				}
			case 1, 2: // one service goes and comes
				service := services[random.IntN(len(services))]
				a.remove(ctx, a.conn, service)
				time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
				a.create(ctx, a.conn, service)
			default: // changed: delete and create
				service := services[random.IntN(len(services))]
				a.remove(ctx, a.conn, service)
				a.create(ctx, a.conn, service)
			}
		}
		a.mu.Unlock()
		p.pause.RUnlock()
	}
}

func (p *play) addNative(ctx context.Context, running *sync.WaitGroup, service string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		p.Fatal(err)
	}
	go answer(l)
	n := &instance{service: service, address: l.Addr().String()}
	p.natives = append(p.natives, n)
	registry := native.Registry{URL: p.target.RegistryURL()}
	metadata := native.Metadata("native", service[:len(service)-2], "greet", "dubbo")
	running.Go(func() {
		defer l.Close()
		tick := time.NewTicker(nativeTTL / 8)
		defer tick.Stop()
		for {
			asked := time.Now()
			if err := registry.Register(ctx, "providers:"+service, n.address, nativeTTL, metadata); err == nil {
				n.there.Store(true)
				p.history.Record(observer.Event{
					At: time.Now(), Asked: asked, Kind: observer.NativeUp, Side: observer.RegistrySide, Service: service, Address: n.address, Timeout: nativeTTL,
				})
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

// write changes a document, and knows which of its versions it was told stands.
func (p *play) write(ctx context.Context) {
	conn, _, err := zk.Connect([]string{p.target.Addr()}, sessionTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		p.fault("the writer: %v", err)
		return
	}
	defer conn.Close()
	for n := int64(1); ctx.Err() == nil; {
		text := []byte(strconv.FormatInt(n, 10))
		_, err := conn.Set("/document", text, -1)
		if errors.Is(err, zk.ErrNoNode) {
			_, err = conn.Create("/document", text, 0, zk.WorldACL(zk.PermAll))
		}
		if err == nil {
			p.acknowledged.Store(n)
			n++
		} else {
			p.refused.Add(1)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// checkDocument reads the document: what was acknowledged is there.
func (p *play) checkDocument() {
	conn, _, err := zk.Connect([]string{p.target.Addr()}, sessionTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		p.fault("the reader: %v", err)
		return
	}
	defer conn.Close()
	told := p.acknowledged.Load()
	for end := time.Now().Add(wellLimit); ; {
		data, _, err := conn.Get("/document")
		if err == nil {
			if n, err := strconv.ParseInt(string(data), 10, 64); err != nil || n < told {
				p.fault("the document is at %q, and its writer was told %d", data, told)
			}
			return
		}
		if time.Now().After(end) {
			p.fault("the document cannot be read: %v; its writer was told %d", err, told)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// outage is what a round does.
type outage struct {
	name     string
	bridge   bool // it is taken away
	graceful bool
	registry bool // its process is killed
	pause    time.Duration
}

func (p *play) draw(random *rand.Rand) outage {
	o := outage{name: "kill -9", bridge: true}
	_, apart := p.target.(control.RegistryProcess)
	switch n := random.IntN(20); {
	case n < 2:
		o.name, o.graceful = "SIGTERM", true
	case n < 4 && apart:
		o.name, o.registry = "kill -9 of both", true
	case n < 6 && apart:
		o.name, o.registry, o.bridge = "kill -9 of the registry", true, false
	}
	if random.IntN(4) == 0 {
		o.pause = time.Duration(random.IntN(1500)) * time.Millisecond
	}
	return o
}

// strike is one round.
func (p *play) strike(ctx context.Context, o outage) {
	p.Helper()
	registry, _ := p.target.(control.RegistryProcess)
	began := time.Now()
	must := func(what string, err error) {
		if err != nil {
			p.Fatalf("seed %d, round %d: %s: %v", p.seed, p.rounds, what, err)
		}
	}
	if o.registry {
		must("kill the registry", registry.KillRegistry(ctx))
	}
	switch {
	case o.bridge && o.graceful:
		must("stop the bridge", p.target.Stop(ctx))
	case o.bridge:
		must("kill the bridge", p.target.Kill(ctx))
	}
	time.Sleep(o.pause)
	if o.registry {
		must("start the registry", registry.StartRegistry(ctx))
	}
	if o.bridge {
		must("start the bridge", p.target.Start(ctx))
	}
	now := time.Now()
	// What has to happen within a time has as much more of it as nobody was there.
	p.history.Record(observer.Event{At: now, Kind: observer.Stalled, Timeout: now.Sub(began)})
	p.history.Record(observer.Event{At: now, Kind: observer.ServerUp})
	p.kills++
}

// well waits until every list is what the clients were told, and judges what
// happened until then.
func (p *play) well() {
	p.Helper()
	p.pause.Lock()
	defer p.pause.Unlock()
	var problem string
	for end := time.Now().Add(wellLimit); ; {
		if problem = p.problem(); problem == "" {
			break
		}
		if time.Now().After(end) {
			p.fault("round %d: %v after the last kill %s", p.rounds, wellLimit, problem)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.checkDocument()
	alive := map[int64]bool{}
	names := map[string]bool{}
	for _, a := range p.apps {
		alive[a.session.Load()] = true
		for _, n := range a.names {
			names[n] = true
		}
	}
	events := p.history.take(func(e observer.Event) bool {
		return e.Kind == observer.NativeUp || alive[e.Session]
	})
	report := observer.Judge(events, limits)
	for side, n := range report.Lists {
		p.lists[side] += n
	}
	for _, e := range events {
		if e.Kind == observer.Created {
			p.registrations++
		}
	}
	for _, f := range report.Faults {
		p.fault("until round %d: %v", p.rounds, f)
		p.fault("  %s", timeline(events, f))
	}
}

// problem is what is not as the clients were told; "" if all is.
func (p *play) problem() string {
	for _, service := range services {
		var want []string
		for _, a := range p.apps {
			a.mu.Lock()
			if a.told[service] {
				want = append(want, a.address)
			}
			a.mu.Unlock()
		}
		for _, n := range p.natives {
			if n.service == service+"::" && n.there.Load() {
				want = append(want, n.address)
			}
		}
		slices.Sort(want)
		for _, side := range []observer.Side{observer.ZooKeeperSide, observer.RegistrySide} {
			if got, _ := p.history.last(side, service+"::"); !slices.Equal(got, want) {
				return fmt.Sprintf("the list of %s at the %s is %v, and the clients were told %v", service, side, got, want)
			}
		}
	}
	return ""
}

// timeline is what was seen of a fault's address around it.
func timeline(events []observer.Event, f observer.Fault) string {
	text := ""
	for _, e := range events {
		if d := e.At.Sub(f.At); d < -8*time.Second || d > 4*time.Second {
			continue
		}
		switch e.Kind {
		case observer.List:
			if e.Service != f.Service {
				continue
			}
			n := 0
			for _, i := range e.Items {
				if i.Address == f.Address {
					n++
				}
			}
			text += fmt.Sprintf("\n    %s list at the %s: %d times, of %d", e.At.Format("15:04:05.000"), e.Side, n, len(e.Items))
		case observer.ServerUp, observer.Stalled, observer.Blind:
			text += fmt.Sprintf("\n    %s %s %s %v", e.At.Format("15:04:05.000"), e.Kind, e.Side, e.Timeout.Round(time.Millisecond))
		case observer.Created, observer.Deleted, observer.ProcessEnded, observer.NativeUp, observer.NativeDown:
			if e.Address == f.Address && (e.Service == f.Service || e.Service == "") {
				text += fmt.Sprintf("\n    %s %s, asked at %s, session 0x%x", e.At.Format("15:04:05.000"), e.Kind, e.Asked.Format("15:04:05.000"), uint64(e.Session))
			}
		}
	}
	return text
}
