package embedded_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/registryclient/registrytest"
)

var (
	bridge = rc.Owner{Cluster: "c1", Bridge: 1, Incarnation: 1}
	native = registrytest.Instance
)

func service(name string) rc.Service {
	return rc.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: name}
}

// start runs a registry in the test's bubble until its end.
func start(t *testing.T, cfg embedded.Config) *embedded.Registry {
	t.Helper()
	reg, _ := startStop(t, cfg)
	return reg
}

func startStop(t *testing.T, cfg embedded.Config) (reg *embedded.Registry, stop func()) {
	t.Helper()
	reg, err := embedded.New(cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := reg.Run(ctx); err != nil {
			t.Errorf("got error %v from Run, want nil", err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return reg, stop
}

// seen is what a subscription was told, and when.
type seen struct {
	mu    sync.Mutex
	calls []rc.Snapshot
	at    []time.Time
}

func follow(t *testing.T, c rc.Client, s rc.Service) *seen {
	t.Helper()
	w := &seen{}
	var following sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	following.Go(func() {
		err := c.Subscribe(ctx, s, func(snap rc.Snapshot) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.calls, w.at = append(w.calls, snap), append(w.at, time.Now())
		})
		if err != nil {
			t.Errorf("got error %v from Subscribe, want nil", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		following.Wait()
	})
	return w
}

// last gives the addresses that were shown last, and when.
func (w *seen) last() (string, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) == 0 {
		return "nothing", time.Time{}
	}
	var list []string
	for _, i := range w.calls[len(w.calls)-1].Instances {
		list = append(list, i.Address())
	}
	return strings.Join(list, " "), w.at[len(w.at)-1]
}

func (w *seen) shows(t *testing.T, want string) (at time.Time) {
	t.Helper()
	synctest.Wait()
	got, at := w.last()
	require.Equal(t, want, got)
	return at
}

func client(t *testing.T, reg *embedded.Registry, o rc.Owner) *embedded.Local {
	t.Helper()
	c, err := embedded.NewLocal(reg, o, 0)
	require.NoError(t, err)
	return c
}

func TestInstanceEndsExactlyWithItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		w := follow(t, client(t, reg, bridge), service("s"))
		began := time.Now()
		register := func(address string, ttl time.Duration) {
			t.Helper()
			_, err := reg.Register(service("s"), native(address, 1), ttl)
			require.NoError(t, err)
		}
		register("10.0.0.1", 10*time.Second)
		register("10.0.0.2", 3*time.Second)
		time.Sleep(7 * time.Second)
		at := w.shows(t, "10.0.0.1:1")
		assert.Equal(t, 3*time.Second, at.Sub(began), "end of the instance that sent no heart-beat")

		ttl, err := reg.Heartbeat(service("s"), "10.0.0.1:1")
		require.NoError(t, err)
		assert.Equal(t, 10*time.Second, ttl)
		time.Sleep(9*time.Second + 999*time.Millisecond)
		w.shows(t, "10.0.0.1:1")
		time.Sleep(time.Second)
		at = w.shows(t, "")
		assert.Equal(t, 17*time.Second, at.Sub(began), "end of the instance after its heart-beat")

		_, err = reg.Heartbeat(service("s"), "10.0.0.1:1")
		require.ErrorIs(t, err, rc.ErrNotFound)
		require.ErrorIs(t, reg.Deregister(service("s"), "10.0.0.1:1"), rc.ErrNotFound)
	})
}

func TestRegisteringAgainIsAHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		w := follow(t, client(t, reg, bridge), service("s"))
		w.shows(t, "")
		for range 5 {
			_, err := reg.Register(service("s"), native("10.0.0.1", 1), 10*time.Second)
			require.NoError(t, err)
			time.Sleep(9 * time.Second)
		}
		w.shows(t, "10.0.0.1:1")
		assert.Len(t, w.calls, 2, "an equal registration is no change")
		_, err := reg.Register(service("s"), native("10.0.0.1", 1), time.Second) // a shorter one holds too
		require.NoError(t, err)
		time.Sleep(time.Second + time.Millisecond)
		w.shows(t, "")
	})
}

func TestDeregisteredInstanceDoesNotExpireItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		w := follow(t, client(t, reg, bridge), service("s"))
		_, err := reg.Register(service("s"), native("10.0.0.1", 1), 2*time.Second)
		require.NoError(t, err)
		require.NoError(t, reg.Deregister(service("s"), "10.0.0.1:1"))
		created, err := reg.Register(service("s"), native("10.0.0.1", 1), time.Minute)
		require.NoError(t, err)
		assert.True(t, created)
		time.Sleep(30 * time.Second)
		w.shows(t, "10.0.0.1:1")
	})
}

func TestStandstillExpiresNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		w := follow(t, client(t, reg, bridge), service("s"))
		_, err := reg.Register(service("s"), native("10.0.0.1", 1), 10*time.Second)
		require.NoError(t, err)
		time.Sleep(9 * time.Second)
		reg.Standstill(5 * time.Second)
		time.Sleep(5 * time.Second)
		w.shows(t, "10.0.0.1:1")
		time.Sleep(2 * time.Second)
		w.shows(t, "")
		assert.EqualValues(t, 1, reg.Stats().Stalls)
	})
}

func TestLeaseLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		w := follow(t, client(t, reg, rc.Owner{Cluster: "other", Bridge: 1, Incarnation: 1}), service("s"))
		p := rc.Publication{Owner: bridge, Service: service("s"), Generation: 5, Instances: []rc.Instance{native("10.0.0.1", 1)}}
		first, err := reg.Publish(p, 30*time.Second)
		require.NoError(t, err)
		time.Sleep(20 * time.Second)
		again, err := reg.Renew(bridge, 30*time.Second)
		require.NoError(t, err)
		assert.Equal(t, first.ID, again.ID)
		time.Sleep(29 * time.Second)
		w.shows(t, "10.0.0.1:1")
		time.Sleep(time.Second)
		w.shows(t, "")
		assert.Zero(t, reg.Stats().Owners)

		// A late message of the same incarnation is refused as before, and the owner
		// learns that it has to publish again.
		p.Generation = 4
		_, err = reg.Publish(p, 30*time.Second)
		require.ErrorIs(t, err, rc.ErrStale)
		again, err = reg.Renew(bridge, 30*time.Second)
		require.NoError(t, err)
		assert.NotEqual(t, first.ID, again.ID)
		p.Generation = 5
		_, err = reg.Publish(p, 30*time.Second)
		require.NoError(t, err)
		w.shows(t, "10.0.0.1:1")

		// After an hour without a lease the owner is forgotten.
		time.Sleep(30*time.Second + time.Hour + time.Second)
		w.shows(t, "")
		assert.Empty(t, reg.Owners())
		p.Generation = 1
		_, err = reg.Publish(p, 30*time.Second)
		require.NoError(t, err)
	})
}

func TestReplacedIncarnationEndsWithItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		next := bridge
		next.Incarnation++
		c := client(t, reg, next)
		kept, replaced := follow(t, c, service("kept")), follow(t, c, service("replaced"))
		publish := func(o rc.Owner, name string, generation uint64, list ...rc.Instance) {
			t.Helper()
			_, err := reg.Publish(rc.Publication{Owner: o, Service: service(name), Generation: generation, Instances: list}, 30*time.Second)
			require.NoError(t, err)
		}
		publish(bridge, "kept", 100, native("10.0.0.1", 1))
		publish(bridge, "replaced", 100, native("10.0.0.1", 1))
		time.Sleep(10 * time.Second)
		publish(next, "replaced", 1, native("10.0.0.2", 1))
		kept.shows(t, "10.0.0.1:1") // no gap while the bridge's clients come back
		replaced.shows(t, "10.0.0.2:1")
		own, err := reg.OwnServices(next)
		require.NoError(t, err)
		assert.Equal(t, []rc.Service{service("kept"), service("replaced")}, own)
		_, err = reg.Renew(bridge, 30*time.Second)
		require.ErrorIs(t, err, rc.ErrStale)

		time.Sleep(19 * time.Second)
		_, err = reg.Renew(next, 30*time.Second)
		require.NoError(t, err)
		kept.shows(t, "10.0.0.1:1")
		time.Sleep(time.Second + time.Millisecond)
		kept.shows(t, "")
		replaced.shows(t, "10.0.0.2:1")
	})
}

func TestLocalKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		c := client(t, reg, bridge)
		w := follow(t, c, service("s"))
		require.NoError(t, c.Publish(t.Context(), rc.Publication{Owner: bridge, Service: service("s"), Generation: 1, Instances: []rc.Instance{native("10.0.0.1", 1)}}))
		run := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { c.Run(ctx) })
			return func() {
				cancel()
				running.Wait()
			}
		}
		stop := run()
		time.Sleep(time.Hour)
		w.shows(t, "10.0.0.1:1")
		stop()
		time.Sleep(31 * time.Second)
		w.shows(t, "")
		stop = run() // what was published is there again
		defer stop()
		w.shows(t, "10.0.0.1:1")
	})
}

func TestLocalOutlivesItsRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, stop := startStop(t, embedded.Config{})
		c := client(t, reg, bridge)
		w := follow(t, c, service("s"))
		require.NoError(t, c.Publish(t.Context(), rc.Publication{Owner: bridge, Service: service("s"), Generation: 1, Instances: []rc.Instance{native("10.0.0.1", 1)}}))
		w.shows(t, "10.0.0.1:1")
		stop()
		w.shows(t, "10.0.0.1:1")
		assert.False(t, c.LinkState().Up)
		assert.NotEmpty(t, c.LinkState().Reason)
		err := c.Publish(t.Context(), rc.Publication{Owner: bridge, Service: service("s"), Generation: 2})
		require.ErrorIs(t, err, rc.ErrUnavailable)
	})
}

func TestNameOutlivesItsLastInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		c := client(t, reg, bridge)
		var mu sync.Mutex
		var names []string
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.WatchNames(ctx, "public", "DEFAULT_GROUP", func(n []string) {
			mu.Lock()
			defer mu.Unlock()
			names = n
		})
		shown := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			require.ElementsMatch(t, want, names)
		}
		_, err := reg.Register(service("s"), native("10.0.0.1", 1), 10*time.Second)
		require.NoError(t, err)
		time.Sleep(65 * time.Second)
		shown("s")
		_, err = reg.Register(service("s"), native("10.0.0.1", 1), 10*time.Second) // back in time
		require.NoError(t, err)
		time.Sleep(69 * time.Second)
		shown("s")
		time.Sleep(time.Second)
		shown()
		assert.Zero(t, reg.Stats().Services)
	})
}

func TestRestartGivesOneFullTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		reg, stop := startStop(t, embedded.Config{Disk: disk})
		_, err := reg.Register(service("s"), native("10.0.0.1", 1, "k", "v"), 10*time.Second)
		require.NoError(t, err)
		p := rc.Publication{Owner: bridge, Service: service("s"), Generation: 7, Instances: []rc.Instance{native("10.0.0.2", 1)}}
		_, err = reg.Publish(p, 30*time.Second)
		require.NoError(t, err)
		p.Service, p.Instances = service("withdrawn"), nil
		_, err = reg.Publish(p, 30*time.Second)
		require.NoError(t, err)
		revision := reg.Stats().Revision
		stop()
		time.Sleep(time.Hour) // everything would have ended

		reg, err = embedded.New(embedded.Config{Disk: disk})
		require.NoError(t, err)
		time.Sleep(time.Hour) // and the clock starts with Run
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go reg.Run(ctx)
		w := follow(t, client(t, reg, bridge), service("s"))
		began := time.Now()
		w.shows(t, "10.0.0.1:1 10.0.0.2:1")
		assert.Equal(t, "v", w.calls[0].Instances[0].Metadata["k"])
		assert.Equal(t, rc.Yes, w.calls[0].Instances[1].Own)
		assert.Greater(t, w.calls[0].Revision, revision)
		assert.False(t, reg.Stats().Settled)
		for _, s := range []string{"s", "withdrawn"} { // generations are remembered
			_, err = reg.Publish(rc.Publication{Owner: bridge, Service: service(s), Generation: 6}, 30*time.Second)
			require.ErrorIs(t, err, rc.ErrStale)
		}
		time.Sleep(9 * time.Second)
		w.shows(t, "10.0.0.1:1 10.0.0.2:1")
		time.Sleep(time.Second + time.Millisecond)
		at := w.shows(t, "10.0.0.2:1")
		assert.Equal(t, 10*time.Second, at.Sub(began))
		time.Sleep(20 * time.Second)
		at = w.shows(t, "")
		assert.Equal(t, 30*time.Second, at.Sub(began))
		assert.True(t, reg.Stats().Settled)
	})
}

func TestLimits(t *testing.T) {
	reg := running(t, embedded.Config{Limits: embedded.Limits{Metadata: 10, Instances: 2, Services: 2}})
	long := func(n int) string { return strings.Repeat("ä", n) }
	for _, c := range []struct {
		name string
		s    rc.Service
		i    rc.Instance
		ttl  time.Duration
		want string // in the error; empty: none
	}{
		{"good", service("s"), native("10.0.0.1", 1), 0, ""},
		{"longest metadata", service("s"), native("10.0.0.1", 1, "k", long(9)), 0, ""},
		{"metadata too long", service("s"), native("10.0.0.1", 1, "k", long(10)), 0, "has 11 characters in keys and values, the limit is 10"},
		{"longest name", service(long(512)), native("10.0.0.1", 1), 0, ""},
		{"name too long", service(long(513)), native("10.0.0.1", 1), 0, "513 characters, the limit is 512"},
		{"name with a line feed", service("a\nb"), native("10.0.0.1", 1), 0, "not allowed"},
		{"name with @@", service("a@@b"), native("10.0.0.1", 1), 0, "not allowed"},
		{"name that begins with @", service("@b"), native("10.0.0.1", 1), 0, "not allowed"},
		{"name ..", service(".."), native("10.0.0.1", 1), 0, "not allowed"},
		{"namespace with a point", rc.Service{Namespace: "a.b", Group: "g", Name: "s"}, native("10.0.0.1", 1), 0, "the namespace \"a.b\" has the character '.'"},
		{"group too long", rc.Service{Namespace: "n", Group: strings.Repeat("g", 129), Name: "s"}, native("10.0.0.1", 1), 0, "the limit is 128"},
		{"group with a slash", rc.Service{Namespace: "n", Group: "g/h", Name: "s"}, native("10.0.0.1", 1), 0, "has the character '/'"},
		{"address with a space", service("s"), native("10.0.0.1 ", 1), 0, "not allowed"},
		{"address too long", service("s"), native(strings.Repeat("h", 129), 1), 0, "not allowed"},
		{"weight", service("s"), rc.Instance{IP: "10.0.0.1", Weight: 10_001}, 0, "from 0 to 10000"},
		{"cluster", service("s"), rc.Instance{IP: "10.0.0.1", Cluster: "a_b"}, 0, "the cluster \"a_b\""},
		{"ttl too short", service("s"), native("10.0.0.1", 1), 999 * time.Millisecond, "choose a ttl from 1s to 24h0m0s"},
		{"ttl too long", service("s"), native("10.0.0.1", 1), 25 * time.Hour, "choose a ttl from 1s to 24h0m0s"},
		{"second instance", service("s"), native("10.0.0.2", 1), 0, ""},
		{"third instance", service("s"), native("10.0.0.3", 1), 0, "would have 3 instances, the limit is 2"},
		{"third service", service("third"), native("10.0.0.3", 1), 0, "there are 2 services, which is the limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := reg.Register(c.s, c.i, c.ttl)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, rc.ErrInvalid)
			assert.ErrorContains(t, err, c.want)
			var p *embedded.Problem
			require.ErrorAs(t, err, &p)
			assert.NotEmpty(t, p.Remedy)
		})
	}
	_, err := reg.Publish(rc.Publication{Owner: bridge, Service: service("s"), Instances: []rc.Instance{native("10.0.0.3", 1)}}, time.Minute)
	require.ErrorContains(t, err, "would have 3 instances")
	for _, o := range []rc.Owner{{Cluster: "c", Bridge: 255, Incarnation: 1}, {Cluster: "c", Incarnation: 1}, {Cluster: "c", Bridge: 1}, {Cluster: "a/b", Bridge: 1, Incarnation: 1}, {Bridge: 1, Incarnation: 1}} {
		_, err := reg.Renew(o, time.Minute)
		require.ErrorIs(t, err, rc.ErrInvalid, "owner %s", o)
	}
	assert.NotZero(t, reg.Stats().Refused)
}

func TestEmptyServicesLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := start(t, embedded.Config{})
		c := client(t, reg, bridge)
		for n := range 100 {
			s := service(fmt.Sprint("s", n))
			ctx, cancel := context.WithCancel(t.Context())
			var following sync.WaitGroup
			following.Go(func() { c.Subscribe(ctx, s, func(rc.Snapshot) {}) })
			synctest.Wait()
			_, err := reg.Register(s, native("10.0.0.1", 1), time.Second)
			require.NoError(t, err)
			cancel()
			following.Wait()
		}
		assert.Equal(t, 100, reg.Stats().Services)
		time.Sleep(2 * time.Minute)
		assert.Zero(t, reg.Stats().Services)
		assert.Zero(t, reg.Stats().Watches)
		assert.Zero(t, embedded.Remembered(reg))
	})
}
