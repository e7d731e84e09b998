package registrytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
)

func firstCallIsComplete(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	s := service("s")
	var all []rc.Instance
	for k := range 100 {
		all = append(all, Instance(fmt.Sprintf("10.0.1.%d", k), 1))
	}
	publish(t, a, alice, s, 1, all...)
	record(t, o, s).await(all...) // the registry shows it from now on
	late := record(t, o, s)
	late.await(all...)
	slices.SortFunc(all, rc.Instance.Compare)
	assert.True(t, slices.EqualFunc(instances(late.all()[0]), all, rc.Instance.Equal), "the first call was not the complete list")
	unknown := record(t, o, service("unknown"))
	unknown.await()
	assert.Equal(t, service("unknown"), unknown.all()[0].Service)
}

func callsAreSerial(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	s := service("s")
	var inside atomic.Int32
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	var calls []rc.Snapshot
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- o.Subscribe(ctx, s, func(snap rc.Snapshot) {
			if inside.Add(1) != 1 {
				t.Error("two calls at the same time")
			}
			defer inside.Add(-1)
			once.Do(func() {
				close(entered)
				<-release
			})
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, snap)
		})
	}()
	<-entered
	quick := record(t, o, s)
	const changes = 50
	for g := 1; g <= changes; g++ {
		publish(t, a, alice, s, uint64(g), Instance("10.0.0.1", g))
	}
	quick.await(Instance("10.0.0.1", changes)) // a slow reader delays nobody else
	close(release)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		if len(calls) == 0 {
			return false
		}
		last := instances(calls[len(calls)-1])
		return len(last) == 1 && last[0].Port == changes
	}, Within, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	if b.hasRevisions(calls) {
		for k := 1; k < len(calls); k++ {
			assert.Greater(t, calls[k].Revision, calls[k-1].Revision)
		}
	}
}

// hasRevisions tells whether the registry counts.
func (b *bench) hasRevisions(calls []rc.Snapshot) bool {
	return slices.ContainsFunc(calls, func(s rc.Snapshot) bool { return s.Revision > 0 })
}

func subscriptionEnds(t *testing.T, b *bench) {
	a := b.run(t, alice)
	s := service("s")
	r := record(t, a, s)
	publish(t, a, alice, s, 1, Instance("10.0.0.1", 1))
	r.await(Instance("10.0.0.1", 1))
	r.stop()
	n := len(r.all())
	again := record(t, a, s)
	publish(t, a, alice, s, 2, Instance("10.0.0.1", 2))
	again.await(Instance("10.0.0.1", 2))
	assert.Len(t, r.all(), n, "calls after the end")

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, a.Subscribe(gone, s, func(rc.Snapshot) {}))
	require.NoError(t, a.WatchNames(gone, s.Namespace, s.Group, func([]string) {}))
	require.NoError(t, a.WatchLink(gone, func(rc.LinkState) {}))
}

// recordNames watches the names of the suite's group until the test ends.
func recordNames(t *testing.T, c rc.Client) (all func() [][]string) {
	t.Helper()
	var mu sync.Mutex
	var calls [][]string
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- c.WatchNames(ctx, "public", "DEFAULT_GROUP", func(names []string) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, names)
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("got error %v from WatchNames, want nil", err)
		}
	})
	return func() [][]string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(calls)
	}
}

func awaitNames(t *testing.T, all func() [][]string, want ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		calls := all()
		return len(calls) > 0 && slices.Equal(calls[len(calls)-1], want)
	}, Within, 2*time.Millisecond, "got %v, want %v at the end", lazy(func() any { return all() }), want)
}

func namesAreWatched(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	names := recordNames(t, o)
	awaitNames(t, names)
	publish(t, a, alice, service("providers:b::"), 1, Instance("10.0.0.1", 1))
	awaitNames(t, names, "providers:b::")
	publish(t, a, alice, service("providers:a::"), 1, Instance("10.0.0.1", 1))
	elsewhere := service("elsewhere")
	elsewhere.Group = "OTHER"
	publish(t, a, alice, elsewhere, 1, Instance("10.0.0.1", 1))
	elsewhere.Group, elsewhere.Namespace = "DEFAULT_GROUP", "other"
	publish(t, a, alice, elsewhere, 1, Instance("10.0.0.1", 1))
	publish(t, a, alice, service("providers:c::"), 1, Instance("10.0.0.1", 1))
	awaitNames(t, names, "providers:a::", "providers:b::", "providers:c::")
	// Following a service does not make it exist.
	record(t, o, service("only-followed")).stop()
	unborn := record(t, o, service("unborn"))
	unborn.await()
	publish(t, a, alice, service("zz"), 1, Instance("10.0.0.1", 1))
	awaitNames(t, names, "providers:a::", "providers:b::", "providers:c::", "zz")
}

func ownServices(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	ask := func(c rc.Client, owner rc.Owner) []rc.Service {
		t.Helper()
		list, err := c.OwnServices(t.Context(), owner)
		require.NoError(t, err)
		return list
	}
	require.Empty(t, ask(a, alice))
	publish(t, a, alice, service("b"), 1, Instance("10.0.0.1", 1))
	publish(t, a, alice, service("a"), 1, Instance("10.0.0.1", 1))
	publish(t, o, bob, service("c"), 1, Instance("10.0.0.1", 1))
	require.Equal(t, []rc.Service{service("a"), service("b")}, ask(a, alice))
	publish(t, a, alice, service("a"), 2)
	require.Equal(t, []rc.Service{service("b")}, ask(a, alice))
	require.Equal(t, []rc.Service{service("c")}, ask(o, bob))
}

// marks gives the ownership of each record, in the order of the list.
func marks(s rc.Snapshot) []rc.Ownership {
	list := make([]rc.Ownership, len(s.Instances))
	for k, o := range s.Instances {
		list[k] = o.Own
	}
	return list
}

func ownMarks(t *testing.T, b *bench) {
	a, stop := b.client(t, alice)
	o := b.run(t, bob)
	s := service("s")
	i, j, k := Instance("10.0.0.1", 1), Instance("10.0.0.2", 1), Instance("10.0.0.3", 1)
	list := []rc.Instance{i, j}
	toAlice, toBob := []rc.Ownership{rc.Yes, rc.No}, []rc.Ownership{rc.No, rc.Yes}
	publish(t, a, alice, s, 1, i)
	publish(t, o, bob, s, 1, j)
	if n, ok := b.registry.(Native); ok {
		n.Register(t, s, k)
		list = append(list, k)
		toAlice, toBob = append(toAlice, rc.No), append(toBob, rc.No)
	}
	if !a.Capabilities().SaysOwn {
		toAlice = make([]rc.Ownership, len(list))
		toBob = toAlice
	}
	assert.Equal(t, toAlice, marks(record(t, a, s).await(list...)))
	assert.Equal(t, toBob, marks(record(t, o, s).await(list...)))
	if !a.Capabilities().Leases {
		return
	}
	// The records of an earlier incarnation are ours too.
	stop()
	reborn := alice
	reborn.Incarnation++
	assert.Equal(t, toAlice, marks(record(t, b.run(t, reborn), s).await(list...)))
}

func equalRecords(t *testing.T, b *bench) {
	a, o, c := b.run(t, alice), b.run(t, bob), b.run(t, carol)
	if !c.Capabilities().MergesEqual {
		t.Skip("this registry shows equal records of several publishers one by one")
	}
	s := service("s")
	i := Instance("10.0.0.1", 1, "k", "v")
	seen := record(t, c, s)
	publish(t, a, alice, s, 1, i)
	publish(t, o, bob, s, 1, i, Instance("10.0.0.2", 1))
	seen.await(i, Instance("10.0.0.2", 1))
	publish(t, a, alice, s, 2)
	publish(t, a, alice, service("end"), 1, i)
	record(t, c, service("end")).await(i)
	seen.await(i, Instance("10.0.0.2", 1)) // one of two holders has let go
	seen.always(slices.IndexFunc(seen.all(), func(x rc.Snapshot) bool { return len(x.Instances) > 0 }), i)
	publish(t, o, bob, s, 2)
	seen.await()
}

func nativeInstances(t *testing.T, b *bench) {
	a := b.run(t, alice)
	n, ok := b.registry.(Native)
	require.Equal(t, a.Capabilities().Native, ok, "the suite must be able to register natively where applications can")
	if !ok {
		return
	}
	s := service("providers:com.foo.Native::")
	names, seen := recordNames(t, a), record(t, a, s)
	i, j := Instance("10.0.0.1", 1, "side", "provider"), Instance("10.0.0.2", 1)
	n.Register(t, s, i)
	seen.await(i)
	awaitNames(t, names, s.Name)
	publish(t, a, alice, s, 1, j)
	seen.await(i, j)
	changed := Instance("10.0.0.1", 1, "side", "provider", "weight", "5")
	n.Register(t, s, changed)
	seen.await(changed, j)
	n.Deregister(t, s, changed)
	seen.await(j)
	// Ours does not stand in the way of one with the same address, nor the reverse.
	same := Instance("10.0.0.2", 1, "native", "yes")
	n.Register(t, s, same)
	seen.await(j, same)
	publish(t, a, alice, s, 2)
	seen.await(same)
}
