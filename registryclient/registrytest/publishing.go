package registrytest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
)

func publicationIsSeen(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	s := service("providers:com.foo.Bar:1.0.0:")
	mine, others := record(t, a, s), record(t, o, s)
	i, j := Instance("10.0.0.1", 20880, "k", "v"), Instance("10.0.0.2", 20880)
	publish(t, a, alice, s, 1, j, i)
	mine.await(i, j)
	last := others.await(i, j)
	assert.Equal(t, s, last.Service)
}

func publicationReplaces(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	s := service("s")
	seen := record(t, o, s)
	i, j, k := Instance("10.0.0.1", 1), Instance("10.0.0.2", 1), Instance("10.0.0.3", 1)
	publish(t, a, alice, s, 1, i, j)
	seen.await(i, j)
	changed := Instance("10.0.0.2", 1, "version", "2")
	publish(t, a, alice, s, 2, changed, k)
	seen.await(changed, k)
}

func publicationIsIdempotent(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	s := service("s")
	seen := record(t, o, s)
	i, j := Instance("10.0.0.1", 1), Instance("10.0.0.2", 1)
	publish(t, a, alice, s, 1, i, j)
	publish(t, a, alice, s, 1, i, j)
	publish(t, a, alice, s, 2, j, i)
	publish(t, a, alice, s, 2, j, i, j) // a set: a record twice is the record
	end := Instance("10.0.0.9", 1)
	publish(t, o, bob, s, 1, end)
	seen.await(i, j, end)
}

func emptyListWithdraws(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	s, other := service("s"), service("other")
	seen, kept := record(t, o, s), record(t, o, other)
	i, j := Instance("10.0.0.1", 1), Instance("10.0.0.2", 1)
	publish(t, a, alice, s, 1, i)
	publish(t, a, alice, other, 1, i)
	publish(t, o, bob, s, 1, j)
	want := []rc.Instance{j}
	if n, ok := b.registry.(Native); ok {
		native := Instance("10.0.0.3", 1)
		n.Register(t, s, native)
		want = append(want, native)
	}
	seen.await(append([]rc.Instance{i}, want...)...)
	publish(t, a, alice, s, 2)
	seen.await(want...)
	kept.await(i)
	publish(t, a, alice, s, 3) // nothing is there to withdraw: fine
	publish(t, a, alice, s, 4, i)
	seen.await(append([]rc.Instance{i}, want...)...)
}

func lowerGenerationIsStale(t *testing.T, b *bench) {
	a := b.run(t, alice)
	s := service("s")
	seen := record(t, a, s)
	i, old := Instance("10.0.0.1", 1), Instance("10.0.0.2", 1)
	stale := func(generation uint64, list ...rc.Instance) {
		t.Helper()
		err := a.Publish(t.Context(), rc.Publication{Owner: alice, Service: s, Generation: generation, Instances: list})
		require.ErrorIs(t, err, rc.ErrStale)
		require.False(t, rc.Retryable(err))
	}
	publish(t, a, alice, s, 10, i)
	stale(9, old)
	stale(9)
	seen.await(i)
	publish(t, a, alice, s, 11)
	stale(10, i)
	seen.await()
	publish(t, a, alice, s, 11, i) // the same generation is accepted
	seen.await(i)
	publish(t, a, alice, service("another"), 1, old) // generations are counted for each service
}

func higherIncarnationReplaces(t *testing.T, b *bench) {
	before, stop := b.client(t, alice)
	watcher := b.run(t, bob)
	s, left := service("s"), service("left")
	seen, seenLeft := record(t, watcher, s), record(t, watcher, left)
	i, j := Instance("10.0.0.1", 1), Instance("10.0.0.2", 1)
	publish(t, before, alice, s, 1000, i)
	publish(t, before, alice, left, 1000, i)
	seen.await(i)
	seenLeft.await(i)
	stop()

	reborn := alice
	reborn.Incarnation++
	after := b.run(t, reborn)
	publish(t, after, reborn, s, 1, j)
	seen.await(j)
	// What the earlier life left is found and withdrawn, or is gone with its connection.
	own, err := after.OwnServices(t.Context(), reborn)
	require.NoError(t, err)
	if after.Capabilities().Leases {
		require.Equal(t, []rc.Service{left, s}, own)
	}
	publish(t, after, reborn, left, 1)
	seenLeft.await()

	if after.Capabilities().ConditionalWithdraw {
		late := b.registry.Client(t, alice)
		for _, list := range [][]rc.Instance{nil, {i}} {
			err := late.Publish(t.Context(), rc.Publication{Owner: alice, Service: s, Generation: 2000, Instances: list})
			require.ErrorIs(t, err, rc.ErrStale)
		}
		seen.await(j)
	}
}

func anothersOwnerIsInvalid(t *testing.T, b *bench) {
	a := b.run(t, alice)
	next := alice
	next.Incarnation++
	for _, o := range []rc.Owner{bob, next, {}} {
		err := a.Publish(t.Context(), rc.Publication{Owner: o, Service: service("s"), Generation: 1, Instances: []rc.Instance{Instance("10.0.0.1", 1)}})
		require.ErrorIs(t, err, rc.ErrInvalid)
	}
}

func badInstanceRefusesList(t *testing.T, b *bench) {
	a := b.run(t, alice)
	s := service("s")
	seen := record(t, a, s)
	i := Instance("10.0.0.1", 1)
	publish(t, a, alice, s, 1, i)
	for _, bad := range []rc.Instance{Instance("10.0.0.2", 65536), Instance("10.0.0.2", -1), Instance("", 1)} {
		err := a.Publish(t.Context(), rc.Publication{Owner: alice, Service: s, Generation: 2, Instances: []rc.Instance{Instance("10.0.0.3", 1), bad}})
		var e *rc.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, rc.Invalid, e.Kind)
		require.Equal(t, s, e.Service)
	}
	seen.await(i)
	publish(t, a, alice, s, 2, i, Instance("10.0.0.4", 65535), Instance("10.0.0.4", 0))
	seen.await(i, Instance("10.0.0.4", 65535), Instance("10.0.0.4", 0))
}

func badNamesAreInvalid(t *testing.T, b *bench) {
	a := b.run(t, alice)
	for _, s := range []rc.Service{
		{Namespace: "public", Group: "DEFAULT_GROUP"},
		{Namespace: "public", Name: "s"},
		{Namespace: "public", Group: "DEFAULT_GROUP", Name: "white space"},
		{Namespace: "public", Group: "DEFAULT_GROUP", Name: "tab\t"},
	} {
		err := a.Publish(t.Context(), rc.Publication{Owner: alice, Service: s, Generation: 1, Instances: []rc.Instance{Instance("10.0.0.1", 1)}})
		require.ErrorIs(t, err, rc.ErrInvalid, "publish %q", s)
		err = a.Subscribe(t.Context(), s, func(rc.Snapshot) { t.Errorf("got a call for %q, want none", s) })
		require.ErrorIs(t, err, rc.ErrInvalid, "subscribe %q", s)
	}
	err := a.WatchNames(t.Context(), "public", "", func([]string) { t.Error("got a call for an empty group, want none") })
	require.ErrorIs(t, err, rc.ErrInvalid)
}

func valuesAreCopies(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	s := service("s")
	list := []rc.Instance{Instance("10.0.0.1", 1, "k", "v")}
	publish(t, a, alice, s, 1, list...)
	list[0].Metadata["k"] = "changed later"
	list[0].Port = 2
	seen := record(t, o, s)
	seen.await(Instance("10.0.0.1", 1, "k", "v"))
	publish(t, o, bob, s, 1, Instance("10.0.0.9", 1)) // lists are made anew
	seen.await(Instance("10.0.0.1", 1, "k", "v"), Instance("10.0.0.9", 1))
}

func fieldsAreKept(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	s := service("providers:com.foo.Bar$Inner:1.0.0:grp/x?y#z%2F&a=b+c,d;e")
	many := Instance("10.0.0.1", 20880)
	for k := range 40 {
		many.Metadata[fmt.Sprintf("key%02d", k)] = strings.Repeat("v", k%7)
	}
	list := []rc.Instance{
		many,
		Instance("10.0.0.2", 1, "spaces", " a b ", "signs", "=&;:/?#%\"'<>\\", "cjk", "服务", "lines", "a\nb\r\n", "empty", ""),
		Instance("fe80::1", 1),
		Instance("host.example", 1),
		{IP: "10.0.0.3", Port: 1, Cluster: "zone-b", Weight: 0.25, Enabled: true, Healthy: false, Metadata: map[string]string{"a": "b"}},
		{IP: "10.0.0.4", Port: 1, Cluster: "DEFAULT", Weight: 0, Enabled: true, Healthy: true},
	}
	off := rc.Instance{IP: "10.0.0.5", Port: 1, Cluster: "DEFAULT", Weight: 1, Healthy: true}
	seen := record(t, o, s)
	publish(t, a, alice, s, 1, append(list[:len(list):len(list)], off)...)
	if !a.Capabilities().HidesDisabled {
		list = append(list, off)
	}
	seen.await(list...)
}

func concurrentPublications(t *testing.T, b *bench) {
	a, o := b.run(t, alice), b.run(t, bob)
	const services, rounds = 8, 20
	var work sync.WaitGroup
	for n := range services {
		for _, c := range []struct {
			client rc.Client
			owner  rc.Owner
		}{{a, alice}, {o, bob}} {
			work.Go(func() {
				s := service(fmt.Sprint("s", n))
				for g := range rounds {
					p := rc.Publication{Owner: c.owner, Service: s, Generation: uint64(g), Instances: []rc.Instance{Instance("10.0.0."+fmt.Sprint(c.owner.Bridge), 1+g)}}
					if err := persist(c.client, p); err != nil {
						t.Errorf("got error %v, want none", err)
					}
				}
			})
		}
	}
	// Of those who race for one service the newest generation stays.
	racing := service("racing")
	for g := range rounds {
		work.Go(func() {
			p := rc.Publication{Owner: alice, Service: racing, Generation: uint64(g), Instances: []rc.Instance{Instance("10.0.0.1", 1+g)}}
			if err := persist(a, p); err != nil && !errors.Is(err, rc.ErrStale) {
				t.Errorf("got error %v, want none or stale", err)
			}
		})
	}
	work.Wait()
	for n := range services {
		record(t, o, service(fmt.Sprint("s", n))).await(Instance("10.0.0.1", rounds), Instance("10.0.0.2", rounds))
	}
	record(t, o, racing).await(Instance("10.0.0.1", rounds))
}
