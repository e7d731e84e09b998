package registry_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/registry"
	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/registryclient/registrytest"
	"zkbridge/translate"
	"zkbridge/zkproto"
)

// Natives come, change and go, and are seen at once.
func TestImport(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		b.register(dubboA.service(), dubboA.native())
		synctest.Wait()
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		changed := dubboA.with("weight=5")
		b.register(dubboA.service(), changed.native())
		b.register(dubboA.service(), otherA.native())
		synctest.Wait()
		require.ElementsMatch(t, []string{changed.name(), otherA.name()}, r.children(dubboA.dir()))
		b.deregister(dubboA.service(), "10.0.0.1:20880")
		b.deregister(dubboA.service(), "10.0.0.2:20880")
		synctest.Wait()
		require.Empty(t, r.children(dubboA.dir()))
		b.register(rc.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: "order-svc"}, dubboA.native())
		settle()
		require.Empty(t, r.taken(), "natives are nothing to publish")
		require.Equal(t, 1, r.binding.Stats().Subscribed, "what no layout wants is not followed")
	})
}

// Pitfall P21: until the names and the first list of each
// service are in the tree the bridge is not ready, and says why.
func TestPitfall21Ready(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		b.register(dubboA.service(), dubboA.native())
		b.register(dubboB.service(), dubboB.native())
		r := newRig(t, b, options{idle: true, faults: func(f *registrytest.Faulty) { f.Cut("no route to host") }})
		ready, reason := r.binding.Ready()
		require.False(t, ready)
		require.Equal(t, "the registry binding has not started", reason)
		r.start()
		after(10 * time.Minute)
		ready, reason = r.binding.Ready()
		require.False(t, ready)
		require.Equal(t, "waiting for the names of the services of public/DEFAULT_GROUP (the registry is away: no route to host)", reason)
		r.faulty.Delay(0, time.Second)
		r.faulty.Heal()
		after(1500 * time.Millisecond)
		ready, reason = r.binding.Ready()
		require.False(t, ready)
		require.Equal(t, "waiting for the first list of 2 services, such as public/DEFAULT_GROUP/providers:com.acme.A::", reason)
		after(time.Second)
		ready, _ = r.binding.Ready()
		require.True(t, ready)
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		require.Equal(t, []string{dubboB.name()}, r.children(dubboB.dir()))
		r.faulty.Cut("again")
		after(10 * time.Minute)
		ready, _ = r.binding.Ready()
		require.True(t, ready, "ready stays ready")
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		require.False(t, r.binding.Stats().Link.Up)
	})
}

// Without a root there is nothing to wait for; with an empty registry the empty
// list of names is the picture.
func TestReadyWithNothingToImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{spaces: []claims.Space{{Name: "t", Namespace: "{t}", Group: "g", Roots: []claims.Root{{Pattern: "/{t}/dubbo", Layouts: []translate.Layout{translate.NewDubbo("c1")}}}}}})
		ready, _ := r.binding.Ready()
		require.True(t, ready)
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		ready, _ := r.binding.Ready()
		require.True(t, ready)
	})
}

type nobody struct{}

func (nobody) Leads(string) bool { return false }

// A bridge that does not lead the import publishes, but imports nothing.
func TestNotTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nacosLike(registrytest.NewFake())
		b.register(dubboB.service(), dubboB.native())
		r := newRig(t, b, options{change: func(c *registry.Config) { c.Leader = nobody{} }})
		require.NoError(t, r.register(r.session(), dubboA))
		settle()
		ready, _ := r.binding.Ready()
		require.True(t, ready)
		require.Empty(t, r.children(dubboB.dir()))
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
	})
}

// A root that a pattern resolves to while we run is followed from then on.
func TestNewTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := registrytest.NewFake()
		r := newRig(t, nacosLike(fake), options{spaces: []claims.Space{{Name: "t", Namespace: "{t}", Group: "g", Roots: []claims.Root{{Pattern: "/{t}/dubbo", Layouts: []translate.Layout{translate.NewDubbo("c1")}}}}}})
		fake.Register(rc.Service{Namespace: "blue", Group: "g", Name: dubboA.service().Name}, dubboA.native())
		settle()
		require.Equal(t, 0, r.binding.Stats().Subscribed)
		r.mkdir("/blue/dubbo")
		synctest.Wait()
		require.Equal(t, []string{dubboA.name()}, r.children("/blue"+dubboA.dir()))
	})
}

// A tenant that is gone, and whose directories a client has deleted, is not
// followed any more; and again when it comes back.
func TestTargetThatGoes(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{spaces: []claims.Space{{Name: "t", Namespace: "{t}", Group: "g", Roots: []claims.Root{{Pattern: "/{t}/dubbo", Layouts: []translate.Layout{translate.NewDubbo("c1")}}}}}})
		blue := rc.Service{Namespace: "blue", Group: "g", Name: dubboA.service().Name}
		remove := func(paths ...string) {
			for _, p := range paths {
				require.NoError(t, r.do(0, func(x *znode.Tx) error { return x.Delete(p, -1) }), p)
			}
		}
		for round := range 3 {
			b.register(blue, dubboA.native())
			r.mkdir("/blue/dubbo")
			r.mkdir("/blue" + otherA.dir())
			after(time.Second)
			require.Equal(t, []string{dubboA.name()}, r.children("/blue"+dubboA.dir()), "round %d", round)
			require.Equal(t, 1, r.binding.Stats().Subscribed)
			require.ErrorIs(t, r.do(0, func(x *znode.Tx) error { return x.Delete("/blue/dubbo", -1) }), zkproto.NotEmpty)

			// Hidden is not gone: the registry has it.
			remove("/blue" + dubboA.path())
			after(time.Second)
			require.Equal(t, 1, r.binding.Stats().Subscribed)
			b.deregister(blue, dubboA.native().Address())
			after(time.Second)
			remove("/blue"+dubboA.dir(), "/blue/dubbo/"+dubboA.iface, "/blue/dubbo")
			after(time.Second)
			require.Equal(t, 0, r.binding.Stats().Subscribed)
			require.Empty(t, r.book.Targets())
		}

		// What comes meanwhile is seen when it is back.
		b.register(blue, otherA.native())
		after(time.Second)
		require.Equal(t, 0, r.binding.Stats().Subscribed)
		r.mkdir("/blue/dubbo")
		after(time.Second)
		require.Equal(t, []string{otherA.name()}, r.children("/blue"+otherA.dir()))
	})
}

// names is a client whose registry does what it likes with names and refuses
// what it likes.
type names struct {
	rc.Client
	mu        sync.Mutex
	subscribe func(rc.Service) error
	watch     func() error
}

func (n *names) Subscribe(ctx context.Context, s rc.Service, fn func(rc.Snapshot)) error {
	n.mu.Lock()
	refuse := n.subscribe
	n.mu.Unlock()
	if refuse != nil {
		if err := refuse(s); err != nil {
			return err
		}
	}
	return n.Client.Subscribe(ctx, s, fn)
}

func (n *names) WatchNames(ctx context.Context, namespace, group string, fn func([]string)) error {
	n.mu.Lock()
	refuse := n.watch
	n.mu.Unlock()
	if refuse != nil {
		if err := refuse(); err != nil {
			return err
		}
	}
	return n.Client.WatchNames(ctx, namespace, group, fn)
}

func (n *names) set(subscribe func(rc.Service) error, watch func() error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subscribe, n.watch = subscribe, watch
}

// A registry that refuses to tell the names keeps the gate closed with its
// reason; one service that it refuses does not. Both are tried again.
func TestRefusedSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nacosLike(registrytest.NewFake())
		n := &names{Client: b.client}
		b.client = n
		b.register(dubboA.service(), dubboA.native())
		b.register(dubboB.service(), dubboB.native())
		n.set(func(s rc.Service) error {
			if s == dubboA.service() {
				return &rc.Error{Op: "subscribe", Service: s, Kind: rc.Denied, Err: errors.New("not yours")}
			}
			return nil
		}, func() error { return &rc.Error{Op: "names", Kind: rc.Denied, Err: errors.New("wrong token")} })
		r := newRig(t, b, options{})
		after(time.Minute)
		ready, reason := r.binding.Ready()
		require.False(t, ready)
		require.Contains(t, reason, "(names: denied: wrong token)")
		n.set(n.subscribe, nil)
		after(time.Minute)
		ready, _ = r.binding.Ready()
		require.True(t, ready)
		require.Equal(t, []string{dubboB.name()}, r.children(dubboB.dir()))
		require.Empty(t, r.children(dubboA.dir()))
		require.NotZero(t, r.binding.Stats().SubscribeErrors)
		n.set(nil, nil)
		after(time.Minute)
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
	})
}

// A directory of a client whose name the registry does not take for a namespace
// is nothing to wait for at the next start; one of the configuration is.
func TestIllegalTarget(t *testing.T) {
	layouts := []translate.Layout{translate.NewDubbo("c1")}
	spaces := []claims.Space{
		{Name: "pattern", Namespace: "{t}", Group: "g", Roots: []claims.Root{{Pattern: "/apps/{t}/dubbo", Layouts: layouts}}},
		{Name: "fixed", Namespace: "public", Group: "DEFAULT_GROUP", Roots: []claims.Root{{Pattern: "/dubbo", Layouts: layouts}}},
	}
	start := func(t *testing.T, spaces []claims.Space) *rig {
		b := ownRegistry(t, embedded.Config{}, owner)
		b.register(dubboB.service(), dubboB.native())
		return newRig(t, b, options{spaces: spaces, prepare: func(r *rig) { r.mkdir("/apps/no such/dubbo") }})
	}
	synctest.Test(t, func(t *testing.T) {
		r := start(t, spaces)
		ready, reason := r.binding.Ready()
		require.True(t, ready, reason)
		require.Equal(t, []string{dubboB.name()}, r.children(dubboB.dir()))
	})
	synctest.Test(t, func(t *testing.T) {
		wrong := slices.Clone(spaces)
		wrong[1].Namespace = "no such"
		r := start(t, wrong)
		ready, reason := r.binding.Ready()
		require.False(t, ready)
		require.Contains(t, reason, "no such")
	})
}

// A name may go before its last instance does, and come back.
func TestNamesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nacosLike(registrytest.NewFake())
		r := newRig(t, b, options{})
		b.register(dubboA.service(), dubboA.native())
		synctest.Wait()
		r.faulty.LieNames(func([]string) []string { return nil })
		synctest.Wait()
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()), "the list has not said so")
		require.Equal(t, 1, r.binding.Stats().Subscribed)
		b.deregister(dubboA.service(), "10.0.0.1:20880")
		synctest.Wait()
		require.Empty(t, r.children(dubboA.dir()))
		require.Equal(t, 0, r.binding.Stats().Subscribed)
		r.faulty.LieNames(nil)
		b.register(dubboA.service(), dubboA.native())
		synctest.Wait()
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		require.Equal(t, 1, r.binding.Stats().Subscribed)
	})
}

// Pitfall P20: what a client registers it sees at once, however slow the
// registry is.
func TestPitfall20ReadYourWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		r.faulty.Delay(time.Minute, time.Minute)
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		require.NoError(t, r.remove(s, dubboA))
		require.Empty(t, r.children(dubboA.dir()))
	})
}

// Pitfall P9: the directory of a service that the registry has dropped stays.
func TestPitfall9DirectoryStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ownRegistry(t, embedded.Config{}, owner)
		r := newRig(t, b, options{})
		b.register(dubboA.service(), dubboA.native())
		synctest.Wait()
		b.deregister(dubboA.service(), "10.0.0.1:20880")
		after(10 * time.Minute)
		require.NotNil(t, r.children(dubboA.dir()))
		require.Empty(t, r.children(dubboA.dir()))
	})
}

// Pitfall P53: an application registers on both sides. Whatever comes
// first and goes first, it is shown once here and listed once there, and never
// missing.
func TestPitfall53DualRegistration(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		s := r.session()
		byNature := dubboA.with("timestamp=9")
		require.NoError(t, r.register(s, dubboA))
		settle()
		b.register(dubboA.service(), byNature.native())
		settle()
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		require.Len(t, r.registry(dubboA), 1)
		require.Contains(t, r.book.Explain(dubboA.path()).String(), "dual registration")
		r.taken()
		after(10 * time.Minute)
		require.Empty(t, r.taken(), "the two do not take turns")

		b.deregister(dubboA.service(), "10.0.0.1:20880")
		synctest.Wait()
		require.Len(t, r.registry(dubboA), 1, "ours, at once")
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))

		b.register(dubboA.service(), byNature.native())
		settle()
		r.end(s)
		synctest.Wait()
		require.Equal(t, []string{byNature.name()}, r.children(dubboA.dir()))
		settle()
		require.Equal(t, []string{byNature.name()}, r.children(dubboA.dir()))
		require.Len(t, r.registry(dubboA), 1)

		require.NoError(t, r.register(r.session(), dubboA))
		settle()
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		require.Equal(t, []rc.Instance{byNature.native()}, b.list(dubboA.service()))
	})
}

// An application moves from ZooKeeper to the registry on the same ip and port:
// it is not taken for our own echo once ours was seen to be gone.
func TestProviderMovesToTheRegistry(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		settle()
		r.end(s)
		after(5 * time.Second)
		b.register(dubboA.service(), dubboA.native())
		synctest.Wait()
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
	})
}

// Field report 29: the registry loses the metadata that say whose an instance
// is. It makes no znode, and when the session ends nothing is left on either
// side.
func TestReport29TagsStripped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := registrytest.NewFake()
		r := newRig(t, nacosLike(fake), options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		settle()
		r.faulty.DropMetadata(translate.MarkerKey, "application", "timestamp")
		settle()
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		r.faulty.Cut("a new connection")
		after(time.Second)
		r.faulty.Heal()
		settle()
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
		require.Len(t, fake.Instances(dubboA.service()), 1)
		r.end(s)
		settle()
		require.Empty(t, r.children(dubboA.dir()))
		require.Empty(t, fake.Instances(dubboA.service()))
		after(10 * time.Minute)
		require.Empty(t, r.children(dubboA.dir()))
		require.NotZero(t, r.binding.Stats().Echoes)
	})
}

// The same while the echo of the withdrawal is late.
func TestReport29LateEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{faults: func(f *registrytest.Faulty) {
			f.DropMetadata(translate.MarkerKey)
			f.Delay(0, 2*time.Second)
		}})
		after(5 * time.Second)
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		after(3 * time.Second)
		r.end(s)
		for range 100 {
			require.Empty(t, r.children(dubboA.dir()))
			after(50 * time.Millisecond)
		}
	})
}

// What an earlier life of this bridge has left in the registry is published
// again whole, which withdraws what nobody claims any more.
func TestReconcileAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, err := embedded.New(embedded.Config{})
		require.NoError(t, err)
		before := over(t, reg, owner)
		lasting := dubboB.with("dynamic=false")
		stop := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { defer close(stop); _ = before.client.Run(ctx) }()
		synctest.Wait()
		for _, p := range []provider{dubboA, lasting} {
			i := p.native()
			require.NoError(t, before.client.Publish(ctx, rc.Publication{Owner: owner, Service: p.service(), Generation: 5, Instances: []rc.Instance{i}}))
		}
		cancel() // killed
		<-stop

		again := owner
		again.Incarnation++
		b := over(t, reg, again)
		r := newRig(t, b, options{
			change:  func(c *registry.Config) { c.Owner = again },
			prepare: func(r *rig) { require.NoError(t, r.register(0, lasting)) },
		})
		after(100 * time.Millisecond)
		require.Empty(t, r.registry(dubboA))
		require.Equal(t, []string{lasting.line()}, r.registry(lasting))
		require.Empty(t, r.children(dubboA.dir()), "what was ours is no registry claim")
		require.Len(t, r.taken(), 2)
		settle()
		require.Empty(t, r.taken())
		require.Equal(t, uint64(1), r.binding.Stats().Reconciliations)
	})
}

// What the table says of an earlier life is not true for ever.
func TestTableAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "published")
		fake := registrytest.NewFake()
		withTable := options{change: func(c *registry.Config) {
			table, err := registry.OpenTable(path)
			require.NoError(t, err)
			c.Table = table
		}}
		r := newRig(t, nacosLike(fake), withTable)
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		settle()
		r.stopBinding()
		r.stopClient()
		synctest.Wait()
		require.Empty(t, fake.Instances(dubboA.service()))
		fake.Register(dubboA.service(), dubboA.native()) // it has moved meanwhile

		again := newRig(t, nacosLike(fake), withTable)
		require.Empty(t, again.children(dubboA.dir()))
		after(5*time.Minute + 30*time.Second)
		require.Equal(t, []string{dubboA.name()}, again.children(dubboA.dir()))
	})
}

// A registry that has forgotten everything while it was away gets it again.
// Field report 31.
func TestRegistryForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := registrytest.NewFake()
		r := newRig(t, nacosLike(fake), options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		settle()
		fake.Stop()
		after(time.Minute)
		require.NoError(t, r.register(s, otherA))
		require.Len(t, r.children(dubboA.dir()), 2)
		fake.Start()
		after(time.Second)
		require.Len(t, fake.Instances(dubboA.service()), 2)
	})
	// The same when the client has not kept it either.
	synctest.Test(t, func(t *testing.T) {
		b := ownRegistry(t, embedded.Config{}, owner)
		forgetful := &amnesia{Client: b.client}
		b.client = forgetful
		r := newRig(t, b, options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		settle()
		r.taken()
		r.faulty.Cut("for a while")
		forgetful.forget(dubboA.service(), owner)
		after(time.Second)
		require.Empty(t, r.registry(dubboA))
		r.faulty.Heal()
		settle()
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		require.Len(t, r.taken(), 1)
	})
}

// amnesia is a client whose publications can get lost.
type amnesia struct {
	rc.Client
	above atomic.Uint64 // added to generations, so that a loss is newer than what is lost
}

func (a *amnesia) forget(s rc.Service, o rc.Owner) {
	_ = a.Client.Publish(context.Background(), rc.Publication{Owner: o, Service: s, Generation: a.above.Add(1 << 40)})
}

func (a *amnesia) Publish(ctx context.Context, p rc.Publication) error {
	p.Generation += a.above.Load()
	return a.Client.Publish(ctx, p)
}

// hesitant is a client whose registry cannot be asked at first what is ours.
type hesitant struct {
	rc.Client
	left atomic.Int32
}

func (h *hesitant) OwnServices(ctx context.Context, o rc.Owner) ([]rc.Service, error) {
	if h.left.Add(-1) >= 0 {
		return nil, &rc.Error{Op: "own services", Kind: rc.Unavailable, Err: errors.New("starting")}
	}
	return h.Client.OwnServices(ctx, o)
}

// The question what is ours is asked until it is answered.
func TestReconcileIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nacosLike(registrytest.NewFake())
		h := &hesitant{Client: b.client}
		h.left.Store(3)
		b.client = h
		r := newRig(t, b, options{})
		require.Contains(t, r.log.String(), "asking the registry for our services fails")
		require.Zero(t, r.binding.Stats().Reconciliations)
		after(5 * time.Second)
		require.Equal(t, uint64(1), r.binding.Stats().Reconciliations)
	})
}

// A flood of znodes that cannot be published is counted whole and written in
// part.
func TestNotesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{idle: true})
		s := r.session()
		for i := range 300 {
			p := dubboA.with("category=routers")
			p.port += i
			require.NoError(t, r.register(s, p))
		}
		bad := dubboB.native()
		bad.Metadata["protocol"] = "consumer"
		r.backend.register(dubboB.service(), bad)
		r.start()
		settle()
		require.Equal(t, map[string]uint64{"not-provider": 300}, r.binding.Stats().NotTranslated)
		require.Equal(t, map[string]uint64{"not-provider": 1}, r.binding.Stats().NotShown)
		require.Equal(t, 256, strings.Count(r.log.String(), "a znode is not published"))
		require.Contains(t, r.log.String(), "more of these were not written")
		require.Empty(t, r.taken())
	})
}

// The first lists arrive while the names are still being looked through: the gate
// does not wait for them once more.
func TestReadyThoughListsAreFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ownRegistry(t, embedded.Config{}, owner)
		for i := range 500 {
			p := provider{iface: fmt.Sprintf("com.acme.N%d", i), protocol: "dubbo", host: "10.0.0.1", port: 20880}
			b.register(p.service(), p.native())
		}
		r := newRig(t, b, options{})
		ready, reason := r.binding.Ready()
		require.True(t, ready, reason)
	})
}
