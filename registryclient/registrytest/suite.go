package registrytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
)

// Registry is a registry under test, empty at first.
type Registry interface {
	// Client makes the client of owner. The suite calls its Run.
	Client(t *testing.T, owner rc.Owner) rc.Client
}

// Native is a registry at which applications register themselves. The
// instances are kept alive, also after a restart of the registry.
type Native interface {
	Register(t *testing.T, s rc.Service, i rc.Instance)
	Deregister(t *testing.T, s rc.Service, i rc.Instance)
}

// Cutter can cut the way between the clients made so far and the registry. The
// registry and its native instances do not notice.
type Cutter interface {
	Cut(t *testing.T)
	Heal(t *testing.T)
}

// Restarter can kill the registry and start it again, with whatever it keeps.
type Restarter interface {
	Stop(t *testing.T)
	Start(t *testing.T)
}

// Factory makes a registry for one test, which ends it with t.Cleanup.
type Factory func(t *testing.T) Registry

// Within is how long the suite waits for anything that must happen.
const Within = 15 * time.Second

// Run checks every obligation of registryclient on registries made by factory.
// Registries that implement Native, Cutter and Restarter are checked for that too.
func Run(t *testing.T, factory Factory) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"publication is seen whole", publicationIsSeen},
		{"publication replaces the whole list", publicationReplaces},
		{"publication is idempotent", publicationIsIdempotent},
		{"empty list withdraws own records only", emptyListWithdraws},
		{"lower generation is stale", lowerGenerationIsStale},
		{"higher incarnation replaces", higherIncarnationReplaces},
		{"another's owner is invalid", anothersOwnerIsInvalid},
		{"one bad instance refuses the list", badInstanceRefusesList},
		{"bad names are invalid", badNamesAreInvalid},
		{"published values are copies", valuesAreCopies},
		{"fields and metadata are kept", fieldsAreKept},
		{"concurrent publications", concurrentPublications},
		{"first call is the complete picture", firstCallIsComplete},
		{"calls are serial and latest-wins", callsAreSerial},
		{"subscription ends with its context", subscriptionEnds},
		{"names", namesAreWatched},
		{"own services", ownServices},
		{"own marks", ownMarks},
		{"equal records", equalRecords},
		{"native instances", nativeInstances},
		{"link is up", linkIsUp},
		{"capabilities are coherent", capabilitiesAreCoherent},
		{"link lost", linkLost},
		{"registry restarted", registryRestarted},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{registry: factory(t)}
			c.test(t, b)
		})
	}
}

// bench is what one test works with.
type bench struct {
	registry Registry
}

// client makes a client that runs until the test ends or stop is called.
func (b *bench) client(t *testing.T, o rc.Owner) (c rc.Client, stop func()) {
	t.Helper()
	c = b.registry.Client(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("got error %v from Run, want nil", err)
			}
		case <-time.After(Within):
			t.Error("Run did not end with its context")
		}
	})
	t.Cleanup(stop)
	awaitLink(t, c, true)
	return c, stop
}

func (b *bench) run(t *testing.T, o rc.Owner) rc.Client {
	t.Helper()
	c, _ := b.client(t, o)
	return c
}

func awaitLink(t *testing.T, c rc.Client, up bool) {
	t.Helper()
	require.Eventually(t, func() bool { return c.LinkState().Up == up }, Within, time.Millisecond, "link up: want %v", up)
}

var (
	alice = rc.Owner{Cluster: "alice", Bridge: 1, Incarnation: 7}
	bob   = rc.Owner{Cluster: "bob", Bridge: 2, Incarnation: 1}
	carol = rc.Owner{Cluster: "carol", Bridge: 1, Incarnation: 1}
)

func service(name string) rc.Service {
	return rc.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: name}
}

// Instance makes a healthy, enabled instance of weight 1; pairs are metadata.
func Instance(ip string, port int, pairs ...string) rc.Instance {
	i := rc.Instance{IP: ip, Port: port, Cluster: "DEFAULT", Weight: 1, Enabled: true, Healthy: true, Metadata: map[string]string{}}
	for k := 0; k+1 < len(pairs); k += 2 {
		i.Metadata[pairs[k]] = pairs[k+1]
	}
	return i
}

// publish publishes and repeats while the registry is unavailable, as the
// bridge does.
func publish(t *testing.T, c rc.Client, o rc.Owner, s rc.Service, generation uint64, list ...rc.Instance) {
	t.Helper()
	require.NoError(t, persist(c, rc.Publication{Owner: o, Service: s, Generation: generation, Instances: list}))
}

// persist publishes p, again and again while the registry is unavailable.
func persist(c rc.Client, p rc.Publication) error {
	within, cancel := context.WithTimeout(context.Background(), Within)
	defer cancel()
	for {
		err := c.Publish(within, p)
		if !rc.Retryable(err) || within.Err() != nil {
			return err
		}
		wait(within, 10*time.Millisecond)
	}
}

// recording is a subscription and everything that it was told.
type recording struct {
	t    *testing.T
	stop func()

	mu    sync.Mutex
	calls []rc.Snapshot
}

// record subscribes until the test ends.
func record(t *testing.T, c rc.Client, s rc.Service) *recording {
	t.Helper()
	r := &recording{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Subscribe(ctx, s, func(snap rc.Snapshot) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.calls = append(r.calls, snap)
		})
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("got error %v from Subscribe, want nil", err)
			}
		case <-time.After(Within):
			t.Error("Subscribe did not end with its context")
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *recording) all() []rc.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// await waits for a last snapshot with these instances, equal ones merged or not.
func (r *recording) await(want ...rc.Instance) rc.Snapshot {
	r.t.Helper()
	slices.SortFunc(want, rc.Instance.Compare)
	var last rc.Snapshot
	require.Eventually(r.t, func() bool {
		all := r.all()
		if len(all) == 0 {
			return false
		}
		last = all[len(all)-1]
		return slices.EqualFunc(instances(last), want, rc.Instance.Equal)
	}, Within, 2*time.Millisecond, "got %v, want %v", lazy(func() any { return r.all() }), want)
	return last
}

// always checks that every call, from the n-th on, has the instance.
func (r *recording) always(n int, want rc.Instance) {
	r.t.Helper()
	for k, s := range r.all() {
		if k >= n && !slices.ContainsFunc(s.Instances, func(o rc.Observed) bool { return o.Instance.Equal(want) }) {
			r.t.Errorf("call %d: got %v, want %v in it: a list was shown without an instance that never ended", k, s.Instances, want)
		}
	}
}

func instances(s rc.Snapshot) []rc.Instance {
	list := make([]rc.Instance, len(s.Instances))
	for k, o := range s.Instances {
		list[k] = o.Instance
	}
	return list
}

// lazy formats what fn gives at the time when it is printed.
type lazy func() any

func (l lazy) String() string { return fmt.Sprint(l()) }
