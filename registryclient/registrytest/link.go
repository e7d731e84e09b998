package registrytest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
)

// recordLink watches the link until the test ends.
func recordLink(t *testing.T, c rc.Client) (all func() []rc.LinkState) {
	t.Helper()
	var mu sync.Mutex
	var calls []rc.LinkState
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- c.WatchLink(ctx, func(s rc.LinkState) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, s)
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("got error %v from WatchLink, want nil", err)
		}
	})
	return func() []rc.LinkState {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(calls)
	}
}

func linkIsUp(t *testing.T, b *bench) {
	a := b.run(t, alice)
	states := recordLink(t, a)
	require.Eventually(t, func() bool { all := states(); return len(all) > 0 && all[len(all)-1].Up }, Within, time.Millisecond)
	now := a.LinkState()
	assert.True(t, now.Up)
	assert.Empty(t, now.Reason)
	assert.False(t, now.Since.IsZero())
	assert.Equal(t, now, states()[len(states())-1])
}

func capabilitiesAreCoherent(t *testing.T, b *bench) {
	a := b.run(t, alice)
	c := a.Capabilities()
	assert.Equal(t, c.Leases, c.LeaseTTL > 0, "LeaseTTL goes with Leases")
	assert.NotEqual(t, c.Leases, c.DiesWithConnection, "records are kept by a lease or by the connection")
	assert.Equal(t, c, a.Capabilities())
}

func linkLost(t *testing.T, b *bench) {
	cutter, ok := b.registry.(Cutter)
	if !ok {
		return // a registry in the same process has no link
	}
	a := b.run(t, alice)
	s, quiet, late := service("s"), service("quiet"), service("late")
	i, j := Instance("10.0.0.1", 1), Instance("10.0.0.2", 1)
	publish(t, a, alice, s, 1, i)
	publish(t, a, alice, quiet, 1, i)
	seen, names, states := record(t, a, s), recordNames(t, a), recordLink(t, a)
	stays := record(t, a, quiet)
	native, hasNative := b.registry.(Native)
	want := []rc.Instance{i}
	if hasNative {
		native.Register(t, s, j)
		native.Register(t, quiet, j)
		want = append(want, j)
	}
	seen.await(want...)
	stays.await(want...)
	awaitNames(t, names, "quiet", "s")
	before, beforeStays, beforeNames := len(seen.all()), len(stays.all()), len(names())

	cutter.Cut(t)
	require.Eventually(t, func() bool {
		// Somebody who wants something notices at the latest.
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a.OwnServices(within, alice)
		return !a.LinkState().Up
	}, Within, time.Millisecond, "the link is cut and its state is up")
	assert.NotEmpty(t, a.LinkState().Reason)
	require.Eventually(t, func() bool { all := states(); return !all[len(all)-1].Up }, Within, time.Millisecond)
	within, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := a.Publish(within, rc.Publication{Owner: alice, Service: late, Generation: 1, Instances: []rc.Instance{i}}); within.Err() == nil {
		require.ErrorIs(t, err, rc.ErrUnavailable)
		require.True(t, rc.Retryable(err))
	} else {
		require.Error(t, err)
	}
	k := Instance("10.0.0.3", 1)
	if hasNative {
		native.Deregister(t, s, j)
		native.Register(t, s, k)
		want = []rc.Instance{i, k}
	}
	// A subscription that begins now says nothing, rather than something wrong.
	during := record(t, a, quiet)

	cutter.Heal(t)
	awaitLink(t, a, true)
	seen.await(want...)
	publish(t, a, alice, late, 1, i)
	record(t, a, late).await(i)
	awaitNames(t, names, "late", "quiet", "s")
	if hasNative {
		during.await(i, j)
		native.Register(t, quiet, k)
		stays.await(i, j, k)
		stays.always(beforeStays-1, j)
		if !a.Capabilities().DiesWithConnection {
			during.always(0, j)
			during.always(0, i)
		}
	}
	if !a.Capabilities().DiesWithConnection {
		seen.always(before-1, i)
		stays.always(beforeStays-1, i)
	}
	for k, n := range names()[beforeNames-1:] {
		assert.Subset(t, n, []string{"quiet", "s"}, "call %d after the cut", k)
	}
	all := states()
	assert.True(t, slices.ContainsFunc(all, func(s rc.LinkState) bool { return !s.Up && s.Reason != "" }), "got %v, want a state that is down, with its reason", all)
	assert.True(t, all[len(all)-1].Up, "got %v, want up at the end", all)
}

func registryRestarted(t *testing.T, b *bench) {
	restarter, ok := b.registry.(Restarter)
	if !ok {
		return
	}
	a := b.run(t, alice)
	s, left, late := service("s"), service("left"), service("late")
	i, j := Instance("10.0.0.1", 1, "k", "v"), Instance("10.0.0.2", 1)
	publish(t, a, alice, s, 5, i)
	publish(t, a, alice, left, 5, i)
	want := []rc.Instance{i}
	if n, native := b.registry.(Native); native {
		n.Register(t, s, j)
		want = append(want, j)
	}
	seen, names := record(t, a, s), recordNames(t, a)
	seen.await(want...)
	awaitNames(t, names, "left", "s")
	publish(t, a, alice, left, 6) // must not come back from a snapshot
	before := len(seen.all())

	restarter.Stop(t)
	awaitLink(t, a, false)
	within, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.Error(t, a.Publish(within, rc.Publication{Owner: alice, Service: late, Generation: 1, Instances: []rc.Instance{i}}))

	restarter.Start(t)
	awaitLink(t, a, true)
	// Up means that everything has been published again.
	own, err := a.OwnServices(t.Context(), alice)
	require.NoError(t, err)
	require.Equal(t, []rc.Service{s}, own)
	publish(t, a, alice, late, 1, i)

	// Everybody else sees the same, and changes arrive.
	other := b.run(t, bob)
	record(t, other, s).await(want...)
	record(t, other, left).await()
	record(t, other, late).await(i)
	k := Instance("10.0.0.3", 1)
	publish(t, a, alice, s, 6, i, k)
	seen.await(append([]rc.Instance{k}, want...)...)
	record(t, other, s).await(append([]rc.Instance{k}, want...)...)
	if _, native := b.registry.(Native); native {
		seen.always(before-1, j) // what others registered was never missing
	}
	require.ErrorIs(t, a.Publish(t.Context(), rc.Publication{Owner: alice, Service: s, Generation: 5}), rc.ErrStale)
}
