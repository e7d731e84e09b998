//go:build compat

package registry

import (
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/dubbo"
	"zkbridge/compat-tests/native"
	"zkbridge/compat-tests/observer"
	"zkbridge/compat-tests/scenario"
)

// session is the longest session that the bridge grants: one that outlives its
// client's second registration, which Dubbo makes up to ten seconds after it is
// back.
const session = 12 * time.Second

var away = flag.Duration("away", 2*session, "how long the registry is away")

func TestMain(m *testing.M) {
	os.Exit(control.Isolate(m, dubbo.V336.Fetch, dubbo.V2723.Fetch, scenario.FetchObserver))
}

const (
	service = dubbo.Interface + "::"
	name    = "providers:" + service
	ttl     = 4 * time.Second

	startLimit = 40 * time.Second
	// lieFor is how long each lie is told.
	lieFor = 6 * time.Second
	// comeBack is how long clients may take to come back after a restart, and to
	// read and register again.
	comeBack = 14 * time.Second
	// emptyFor is for how long the registry that came back knows of nobody.
	emptyFor = 2 * time.Second
	// truthLimit is how long the bridge's list may take to be whole again.
	truthLimit = 5 * time.Second
	// deadLimit is how long the bridge may show a dead provider of which its
	// registry does not say that it is gone: until the next probe five seconds
	// later, a second to the one after it, a second for each to be answered.
	deadLimit = 8 * time.Second
	// believeLimit is how long Dubbo may take to believe a list: it waits for five
	// seconds before one that follows others closely, and sometimes twice.
	believeLimit = 20 * time.Second
)

// instance is a registry-native application that serves nobody: its port answers,
// and its heart beats.
type instance struct {
	t       *testing.T
	address string
	port    net.Listener
	silent  *atomic.Bool // no heart is beating
	stop    context.CancelFunc
	ended   chan struct{}
}

// newInstance registers an instance; heart-beats that fail are sent again.
func newInstance(t *testing.T, registry native.Registry, silent *atomic.Bool) *instance {
	t.Helper()
	ports, err := control.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{t: t, address: dubbo.V336.Family().Address(ports[0]), silent: silent, ended: make(chan struct{})}
	if i.port, err = net.Listen("tcp", i.address); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	i.stop = cancel
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		var connections []net.Conn
		for {
			c, err := i.port.Accept()
			if err != nil {
				break
			}
			connections = append(connections, c)
		}
		for _, c := range connections {
			c.Close()
		}
	}()
	go func() {
		defer close(i.ended)
		beat := func() {
			if i.silent.Load() {
				return
			}
			_ = registry.Register(ctx, name, i.address, ttl, native.Metadata("native-provider", dubbo.Interface, "greet", "dubbo"))
		}
		beats := time.NewTicker(ttl / 4)
		defer beats.Stop()
		for beat(); ; {
			select {
			case <-beats.C:
				beat()
			case <-ctx.Done():
				i.port.Close()
				<-accepted
				return
			}
		}
	}()
	t.Cleanup(i.die)
	return i
}

// die ends the instance without a word: no heart-beat, and its port refuses.
func (i *instance) die() {
	i.stop()
	<-i.ended
}

// play is one run.
type play struct {
	*testing.T
	target    control.Target
	dir       string
	registry  native.Registry
	run       *scenario.Run
	consumers []*apps.App
	whole     []string // every address that lives
}

// cap is the shortest list that the cap allows of the whole one.
func (p *play) cap() int { return (len(p.whole) + 1) / 2 }

// awaitWhole waits until every list is whole, the bridge's within limit, and
// returns how long that took.
func (p *play) awaitWhole(limit time.Duration) time.Duration {
	p.Helper()
	began := time.Now()
	slices.Sort(p.whole)
	for shown := p.shown().Last(); !slices.Equal(shown, p.whole); shown = p.shown().Last() {
		if time.Since(began) > limit {
			p.Fatalf("the bridge shows %v after %v, want %v", shown, limit, p.whole)
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
	for _, c := range p.consumers {
		if _, err := c.AwaitList(p.Context(), time.Until(began.Add(limit+believeLimit)), p.whole...); err != nil {
			p.Fatal(err)
		}
	}
	return time.Since(began)
}

func (p *play) shown() observer.Timeline {
	p.Helper()
	return observer.TimelineOf(p.run.Watch.History(p.T), observer.ZooKeeperSide, service)
}

// during does something and fails if meanwhile a list, of a consumer or of the
// bridge, was shorter than least, or lacked one of those that must stay.
func (p *play) during(what string, least int, stay []string, do func()) {
	p.Helper()
	began := time.Now()
	marks := map[*apps.App]int{}
	for _, c := range p.consumers {
		marks[c] = c.Mark()
	}
	do()
	shortest := len(p.whole)
	for _, c := range p.consumers {
		for _, list := range c.Lists(marks[c]) {
			shortest = min(shortest, len(list.Addresses))
			if len(list.Addresses) < least {
				p.Errorf("%s: the list of %s shrank to %v, %d at least must stay", what, c.Name, list.Addresses, least)
			}
			for _, address := range stay {
				if !slices.Contains(list.Addresses, address) {
					p.Errorf("%s: the list of %s lacks %s: %v", what, c.Name, address, list.Addresses)
				}
			}
		}
	}
	line := p.shown().Between(began, time.Time{})
	if n := line.Shortest(); n < least {
		p.Errorf("%s: the bridge's list shrank to %d, %d at least must stay: %v", what, n, least, line)
	}
	for _, address := range stay {
		if s, ok := line.Without(address); ok {
			p.Errorf("%s: the bridge's list lacks %s: %v", what, address, s)
		}
	}
	if s, ok := line.Doubled(); ok {
		p.Errorf("%s: the bridge's list has an address twice: %v", what, s)
	}
	p.Logf("%s: in %v no list was shorter than %d of %d", what, time.Since(began).Round(time.Second), shortest, len(p.whole))
}

// dead ends an instance and returns a function that waits until it is in no list.
func (p *play) dead(i *instance) (gone func()) {
	p.Helper()
	i.die()
	died := time.Now()
	p.run.Fact(observer.Event{Kind: observer.ProcessEnded, Address: i.address})
	p.whole = slices.DeleteFunc(slices.Clone(p.whole), func(a string) bool { return a == i.address })
	return func() {
		p.Helper()
		began := time.Now()
		for slices.Contains(p.shown().Last(), i.address) {
			if time.Since(began) > deadLimit {
				p.Errorf("the bridge still shows a dead provider after %v", time.Since(began).Round(time.Millisecond))
				return
			}
			time.Sleep(50 * time.Millisecond) // between two looks
		}
		p.Logf("the bridge had let a dead provider go %v after its end", time.Since(died).Round(100*time.Millisecond))
		for _, c := range p.consumers {
			for slices.Contains(c.List().Addresses, i.address) {
				if time.Since(began) > deadLimit+believeLimit {
					p.Errorf("%s still has a dead provider after %v", c.Name, time.Since(began).Round(time.Millisecond))
					return
				}
				time.Sleep(50 * time.Millisecond) // between two looks
			}
		}
		p.Logf("it was in no consumer's list %v after its end", time.Since(died).Round(100*time.Millisecond))
	}
}

func TestRegistry(t *testing.T) {
	l := newLiar(t)
	dir := control.ScratchDir(t, "target")
	p := &play{T: t, dir: dir}
	p.target = control.Start(t, control.BridgeRegistry, control.Options{MinSession: session, MaxSession: session, Dir: dir, Registry: l.inFront})
	process := p.target.(control.RegistryProcess)
	p.registry = native.Registry{URL: p.target.RegistryURL()}
	p.run = scenario.Open(t, p.target, dubbo.V336.Family())

	place := func(name string) scenario.Place {
		return scenario.Place{Name: name, ZooKeeper: p.run.Addr(), Port: p.run.Port(t, name), Dir: p.run.Dir()}
	}
	provider := dubbo.V336.Provider(t, place("provider"))
	registered := dubbo.V336.Family().Address(provider.Port)
	p.consumers = []*apps.App{dubbo.V336.Consumer(t, place("consumer-336")), dubbo.V2723.Consumer(t, place("consumer-2723"))}
	p.whole = []string{registered}
	var natives []*instance
	var silent atomic.Bool
	for range 7 {
		i := newInstance(t, p.registry, &silent)
		natives = append(natives, i)
		p.whole = append(p.whole, i.address)
	}
	provider.AwaitReady(t)
	for _, c := range p.consumers {
		c.AwaitReady(t)
	}
	p.awaitWhole(startLimit)
	full := slices.Clone(p.whole)

	var gone func()
	p.during("the registry is away", len(full), full, func() {
		if err := process.KillRegistry(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(*away) // the length of the outage is the point
		gone = p.dead(natives[6])
	})
	// The bridge starts anew with nobody to ask: it knows from its disk.
	p.during("the bridge is killed -9 and starts while the registry is away", len(p.whole), p.whole, func() {
		began := time.Now()
		if err := p.target.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("without its registry the bridge serves %v after its end", time.Since(began).Round(10*time.Millisecond))
		time.Sleep(comeBack)
		p.awaitWhole(truthLimit)
	})
	p.during("the registry comes back and knows nothing", len(p.whole), p.whole, func() {
		if err := os.RemoveAll(filepath.Join(dir, "registry")); err != nil {
			t.Fatal(err)
		}
		l.pretendSettled()
		silent.Store(true)
		if err := process.StartRegistry(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.awaitStream(t, 2*truthLimit)
		time.Sleep(emptyFor) // it has nothing, and says that this is all
		silent.Store(false)
		gone()
	})
	t.Logf("all lists were whole %v later", p.awaitWhole(truthLimit).Round(time.Millisecond))

	for _, lie := range []struct {
		name string
		lie  Lie
	}{{"all unhealthy", allUnhealthy}, {"all gone", allGone}, {"half gone", halfGone}} {
		p.during("the registry says: "+lie.name, p.cap(), []string{registered}, func() {
			l.tell(lie.lie)
			time.Sleep(lieFor)
			l.tell(nil)
			t.Logf("%s: all lists were whole %v after the truth", lie.name, p.awaitWhole(truthLimit).Round(time.Millisecond))
		})
	}
	p.during("the registry says: all, none, all, none", p.cap(), []string{registered}, func() {
		for range 4 {
			l.tell(allGone)
			time.Sleep(500 * time.Millisecond)
			l.tell(nil)
			time.Sleep(500 * time.Millisecond)
		}
		p.awaitWhole(truthLimit)
	})
	p.during("a provider dies while the registry says: all gone", p.cap()-1, []string{registered}, func() {
		l.tell(allGone)
		time.Sleep(time.Second)
		p.dead(natives[5])()
		l.tell(nil)
		p.awaitWhole(truthLimit)
	})
}
