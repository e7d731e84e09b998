//go:build compat

package everything

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/dubbo"
	"zkbridge/compat-tests/dubbogo"
	"zkbridge/compat-tests/native"
	"zkbridge/compat-tests/observer"
	"zkbridge/compat-tests/scenario"
)

var away = flag.Duration("away", 2*scenario.MaxSession, "how long bridge and registry are gone")

func TestMain(m *testing.M) {
	os.Exit(control.Isolate(m, dubbo.V336.Fetch, dubbo.V2723.Fetch, dubbogo.Fetch, scenario.FetchObserver))
}

// Limits of the drill.
const (
	startLimit  = 40 * time.Second
	returnLimit = 20 * time.Second // from the bridge's start until every view is as before
	afterwards  = 12 * time.Second // for which it stays so: clients re-read for ten seconds
	listLimit   = 8 * time.Second
	pace        = 100 * time.Millisecond
)

// fleet is what stands in front of one bridge.
type fleet struct {
	run       *scenario.Run
	family    scenario.Family
	providers []*apps.App
	consumers []*apps.App
	// loses says that on a real server too a consumer may lose its list for good
	// when its connection has been lost.
	loses bool
}

// place is where an application of the fleet runs.
func (f *fleet) place(t *testing.T, name string) scenario.Place {
	return scenario.Place{Name: name, ZooKeeper: f.run.Addr(), Port: f.run.Port(t, name), Dir: f.run.Dir()}
}

func (f *fleet) addresses() []string {
	var all []string
	for _, p := range f.providers {
		all = append(all, f.family.Address(p.Port))
	}
	slices.Sort(all)
	return all
}

// Two versions of Dubbo, each with a provider and a consumer, call each other.
func TestDubboJava(t *testing.T) {
	t.Parallel()
	drill(t, dubbo.V336.Family(), func(f *fleet) {
		for _, v := range []struct {
			name    string
			version dubbo.Version
		}{{"336", dubbo.V336}, {"2723", dubbo.V2723}} {
			f.providers = append(f.providers, v.version.Provider(t, f.place(t, "provider-"+v.name)))
			f.consumers = append(f.consumers, v.version.Consumer(t, f.place(t, "consumer-"+v.name)))
		}
	})
}

func TestDubboGo(t *testing.T) {
	t.Parallel()
	drill(t, dubbogo.Family(), func(f *fleet) {
		f.loses = true
		for _, name := range []string{"a", "b"} {
			f.providers = append(f.providers, dubbogo.Provider(t, f.place(t, "provider-"+name)))
		}
		f.consumers = append(f.consumers, dubbogo.Consumer(t, f.place(t, "consumer")))
	})
}

func drill(t *testing.T, family scenario.Family, start func(f *fleet)) {
	target := control.Start(t, control.BridgeRegistry, control.Options{MinSession: family.MinSession, MaxSession: scenario.MaxSession})
	registry := target.(control.RegistryProcess)
	f := &fleet{run: scenario.Open(t, target, family), family: family}
	start(f)
	for _, a := range slices.Concat(f.providers, f.consumers) {
		a.AwaitReady(t)
	}
	want := f.addresses()
	for _, c := range f.consumers {
		if _, err := c.AwaitList(t.Context(), startLimit, want...); err != nil {
			t.Fatal(err)
		}
	}
	awaitViews(t, f, target, startLimit, want)

	calls := f.keepCalling(t)
	time.Sleep(time.Second) // of calls while all is well

	mark := f.marks()
	f.run.Fact(observer.Event{Kind: observer.ServerDown})
	f.run.Fact(observer.Event{Kind: observer.RegistryDown})
	down := time.Now()
	if err := registry.KillRegistry(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := target.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(*away) // the length of the outage is the point
	for n, c := range f.consumers {
		for _, list := range c.Lists(mark[n]) {
			if !slices.Equal(list.Addresses, want) {
				t.Errorf("%s: nothing of discovery runs, and its list became %v, was %v", c.Name, list.Addresses, want)
			}
		}
	}

	mark = f.marks()
	up := time.Now()
	if err := registry.StartRegistry(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := target.Start(t.Context()); err != nil { // returns when it serves
		t.Fatal(err)
	}
	served := time.Now()
	f.run.Fact(observer.Event{Kind: observer.ServerUp, Timeout: returnLimit})
	f.run.Fact(observer.Event{Kind: observer.RegistryUp, Timeout: returnLimit})
	awaitViews(t, f, target, time.Until(served.Add(returnLimit)), want)
	t.Logf("bridge and registry were away for %v and served %v after they were started; all lists were as before %v later",
		up.Sub(down).Round(time.Millisecond), served.Sub(up).Round(time.Millisecond), time.Since(served).Round(time.Millisecond))
	time.Sleep(afterwards) // and they stay so
	awaitViews(t, f, target, time.Second, want)

	for _, c := range f.consumers {
		if !f.loses {
			// A client that deletes and creates its own node takes itself away for a
			// moment, and Dubbo may wait five seconds before it believes the next list.
			if _, err := c.AwaitList(t.Context(), listLimit, want...); err != nil {
				t.Errorf("%s: in the end: %v", c.Name, err)
			}
		}
	}
	stats := calls()
	for n, c := range f.consumers {
		var shrunk []string
		for _, list := range c.Lists(mark[n]) {
			if len(list.Addresses) < len(want) {
				shrunk = append(shrunk, fmt.Sprintf("%s %v", list.At.Format("15:04:05.000"), list.Addresses))
			}
		}
		t.Logf("%s: %d calls, %d of them during the outage; shorter lists after the return: %v", c.Name, stats[n].total, stats[n].between(down, up), shrunk)
		for _, failed := range stats[n].failed {
			if f.loses && failed.at.After(served) {
				continue // its list is gone for good, as it may be on a real server
			}
			t.Errorf("%s: a call failed at %s (away from %s to %s): %s", c.Name, failed.at.Format("15:04:05.000"),
				down.Format("15:04:05.000"), served.Format("15:04:05.000"), failed.what)
		}
		if stats[n].between(down, up) < 10 {
			t.Errorf("%s: only %d calls were made during the outage", c.Name, stats[n].between(down, up))
		}
	}
	after := f.shown(t).Between(served, time.Time{})
	t.Logf("the bridge's shortest list since its return: %d of %d", after.Shortest(), len(want))
	if after.Shortest() < 1 && !f.loses {
		t.Errorf("the bridge has shown an empty list since its return: %v", after)
	}
	f.run.Close(t) // the observer's verdict
}

// awaitViews waits until the server and the registry list exactly these.
func awaitViews(t *testing.T, f *fleet, target control.Target, limit time.Duration, want []string) {
	t.Helper()
	registry := native.Registry{URL: target.RegistryURL()}
	for end := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) { // between two looks
		shown := f.shown(t).Last()
		got, err := registry.Addresses(t.Context(), f.family.Service)
		slices.Sort(got)
		if err == nil && slices.Equal(got, want) && slices.Equal(shown, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server shows %v, the registry %v (%v) after %v; want %v", shown, got, err, limit, want)
		}
	}
}

// shown is what the bridge showed, as the observer saw it.
func (f *fleet) shown(t *testing.T) observer.Timeline {
	t.Helper()
	return observer.TimelineOf(f.run.Watch.History(t), observer.ZooKeeperSide, strings.TrimPrefix(f.family.Service, "providers:"))
}

func (f *fleet) marks() []int {
	var marks []int
	for _, c := range f.consumers {
		marks = append(marks, c.Mark())
	}
	return marks
}

// calls is what one consumer's calls came to.
type calls struct {
	total  int
	at     []time.Time
	failed []failure
}

type failure struct {
	at   time.Time
	what string
}

func (c calls) between(from, to time.Time) (n int) {
	for _, at := range c.at {
		if at.After(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// keepCalling has every consumer call again and again until the function that it
// returns is called.
func (f *fleet) keepCalling(t *testing.T) func() []calls {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	stats := make([]calls, len(f.consumers))
	for n, c := range f.consumers {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(pace):
				}
				at := time.Now()
				answer, err := c.Call(t.Context())
				if err != nil {
					answer = err.Error()
				}
				stats[n].total++
				stats[n].at = append(stats[n].at, at)
				if !strings.HasPrefix(answer, "ok ") {
					stats[n].failed = append(stats[n].failed, failure{at, answer})
					if err != nil {
						return
					}
				}
			}
		})
	}
	end := sync.OnceFunc(func() { close(stop); all.Wait() })
	t.Cleanup(end)
	return func() []calls { end(); return stats }
}
