//go:build compat

package dubbo

import (
	"context"
	"slices"
	"testing"
	"time"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/native"
	"zkbridge/compat-tests/observer"
	"zkbridge/compat-tests/scenario"
)

const registryService = "providers:" + Interface + "::"

// besideRegistry goes on with a run on the bridge after the scenario: the
// consumer is up, its list is empty.
func (v Version) besideRegistry(t *testing.T, r *scenario.Run) {
	t.Helper()
	if r.Target.RegistryURL() == "" {
		return
	}
	v.nativeInstance(t, r)
	if process, ok := r.Target.(control.RegistryProcess); ok {
		v.registryAway(t, r, process)
	}
}

// nativeInstance registers, over HTTP, a Dubbo service that knows no registry:
// the consumer calls it, as long as its heart-beats go on.
func (v Version) nativeInstance(t *testing.T, r *scenario.Run) {
	t.Helper()
	const ttl = 4 * time.Second
	registry := native.Registry{URL: r.Target.RegistryURL()}
	port := r.Port(t, "N")
	service := v.Provider(t, scenario.Place{Name: "native", Port: port, Dir: r.Dir()})
	service.AwaitReady(t)

	beats := keep(t, r, registry, port, ttl)
	registered := time.Now()
	list, err := r.Consumer.AwaitList(t.Context(), 10*time.Second, address(port))
	if err != nil {
		t.Fatalf("%s: registered natively: %v", r.Target.Name(), err)
	}
	mustCall(t, r, port)
	time.Sleep(2 * ttl) // its heart-beats keep it beyond its time to live
	mustCall(t, r, port)
	last := beats.end()
	// Dubbo may wait five seconds before it believes a change that follows others;
	// that the server is prompt is the observer's verdict.
	gone, err := r.Consumer.AwaitList(t.Context(), ttl+8*time.Second)
	if err != nil {
		t.Fatalf("%s: the native instance's time is over: %v", r.Target.Name(), err)
	}
	if gone.At.Before(last.Add(ttl)) {
		t.Errorf("%s: the native instance was gone %v after its last heart-beat, its time to live is %v", r.Target.Name(), gone.At.Sub(last), ttl)
	}
	t.Logf("%s: a native instance was in the consumer's list after %v, and gone %v after its last heart-beat (ttl %v)",
		r.Target.Name(), list.At.Sub(registered).Round(time.Millisecond), gone.At.Sub(last).Round(time.Millisecond), ttl)
	r.Kill(t, service)
}

// heart is a native instance that is kept alive.
type heart struct {
	stop chan struct{}
	last chan time.Time // when the last heart-beat was sent
}

// end stops the beating and returns when the last beat was sent.
func (h heart) end() time.Time {
	close(h.stop)
	return <-h.last
}

// keep registers an instance, and again every quarter of its time to live, which
// is a heart-beat.
func keep(t *testing.T, r *scenario.Run, registry native.Registry, port int, ttl time.Duration) heart {
	t.Helper()
	metadata := native.Metadata("native-provider", Interface, "greet", "dubbo")
	beat := func() (time.Time, error) {
		asked := time.Now()
		err := registry.Register(context.WithoutCancel(t.Context()), registryService, address(port), ttl, metadata)
		r.Watch.Record(observer.Event{Kind: observer.NativeUp, Asked: asked, Service: Interface + "::", Address: address(port), Timeout: ttl})
		return asked, err
	}
	if _, err := beat(); err != nil {
		t.Fatal(err)
	}
	h := heart{stop: make(chan struct{}), last: make(chan time.Time, 1)}
	go func() {
		ticks := time.NewTicker(ttl / 4)
		defer ticks.Stop()
		var last time.Time
		for {
			select {
			case <-ticks.C:
				asked, err := beat()
				if err != nil {
					t.Errorf("%s: heart-beat: %v", r.Target.Name(), err)
				}
				last = asked
			case <-h.stop:
				h.last <- last
				return
			}
		}
	}()
	return h
}

// registryAway stops the registry's process: everything goes on, and is complete
// in the registry once it is back.
func (v Version) registryAway(t *testing.T, r *scenario.Run, process control.RegistryProcess) {
	t.Helper()
	first := r.Provider(t, "C")
	first.AwaitReady(t)
	r.Await(t, 30*time.Second, first)

	const limit = 20 * time.Second
	mark := r.Consumer.Mark()
	var second *apps.App
	r.RegistryAway(t, process, limit, func() {
		second = r.Provider(t, "D")
		second.AwaitReady(t)
		r.Await(t, 30*time.Second, first, second)
		answered := map[string]bool{}
		for range 40 { // which one answers is chance
			answer, err := r.Consumer.Call(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if answered[answer] = true; len(answered) == 2 {
				break
			}
		}
		for _, p := range []*apps.App{first, second} {
			if !answered[answerFrom(p.Port)] {
				t.Errorf("%s: the registry is away: the consumer never called %s: %v", r.Target.Name(), address(p.Port), answered)
			}
		}
	})
	started := time.Now()
	want := []string{address(first.Port), address(second.Port)}
	slices.Sort(want)
	registry := native.Registry{URL: r.Target.RegistryURL()}
	for end := started.Add(limit); ; {
		got, err := registry.Addresses(t.Context(), registryService)
		slices.Sort(got)
		if err == nil && slices.Equal(got, want) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s: the registry is back and lists %v (%v), want %v", r.Target.Name(), got, err, want)
		}
		time.Sleep(20 * time.Millisecond) // between two lists
	}
	t.Logf("%s: the registry was complete %v after its start", r.Target.Name(), time.Since(started).Round(time.Millisecond))
	for _, list := range r.Consumer.Lists(mark) {
		if !slices.Contains(list.Addresses, address(first.Port)) {
			t.Errorf("%s: while the registry was away the consumer's list was %v", r.Target.Name(), list.Addresses)
		}
	}
	r.End(t, second)
	r.Await(t, 30*time.Second, first)
	r.End(t, first)
	r.Await(t, 30*time.Second)
}

func mustCall(t *testing.T, r *scenario.Run, port int) {
	t.Helper()
	answer, err := r.Consumer.Call(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := answerFrom(port); answer != want {
		t.Errorf("%s: a call answers %q, want %q", r.Target.Name(), answer, want)
	}
}
