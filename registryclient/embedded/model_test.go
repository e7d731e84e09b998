package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

// model is what a registry should be, told in the plainest way.
type model struct {
	natives map[rc.Service]map[string]modelNative
	owners  map[string]*modelOwner
}

type modelNative struct {
	instance rc.Instance
	ttl      time.Duration
	end      time.Time
}

// modelOwner is one owner; lives are its incarnations that still have records.
type modelOwner struct {
	newest uint32
	lives  map[uint32]*modelLife
}

type modelLife struct {
	end     time.Time
	records map[rc.Service]modelRecord
}

type modelRecord struct {
	generation uint64
	instances  []rc.Instance
}

// list gives what is to be seen under s now.
func (m *model) list(s rc.Service, now time.Time) []string {
	var list []string
	for _, n := range m.natives[s] {
		if n.end.After(now) {
			list = append(list, fmt.Sprint(n.instance))
		}
	}
	for _, o := range m.owners {
		for _, l := range o.lives {
			if l.end.After(now) {
				for _, i := range l.records[s].instances {
					list = append(list, fmt.Sprint(i))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestRegistryIsItsModel does random things at random times, restarts
// included, and compares the registry with the model after each.
func TestRegistryIsItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			disk := &memory{}
			var reg *embedded.Registry
			var stop func()
			run := func() {
				var err error
				if reg, err = embedded.New(embedded.Config{Disk: disk}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- reg.Run(ctx) }()
				synctest.Wait()
				stop = func() {
					cancel()
					if err := <-ended; err != nil {
						t.Fatal(err)
					}
				}
			}
			run()
			defer func() { stop() }()
			m := &model{natives: make(map[rc.Service]map[string]modelNative), owners: make(map[string]*modelOwner)}
			services := []rc.Service{service("a"), service("b")}
			drawService := func() rc.Service { return rapid.SampledFrom(services).Draw(t, "service") }
			drawInstance := func(cluster string) rc.Instance {
				i := native(fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 3).Draw(t, "ip")), 1)
				i.Cluster = cluster // so that natives' and owners' ones differ
				i.Weight = float64(rapid.IntRange(1, 2).Draw(t, "weight"))
				return i
			}
			ttl := 30 * time.Second
			alive := func(s rc.Service, address string) bool {
				n, ok := m.natives[s][address]
				return ok && n.end.After(time.Now())
			}
			t.Repeat(map[string]func(*rapid.T){
				"register": func(t *rapid.T) {
					s, i := drawService(), drawInstance("native")
					d := time.Duration(rapid.IntRange(1, 60).Draw(t, "ttl")) * time.Second
					had := alive(s, i.Address())
					created, err := reg.Register(s, i, d)
					if err != nil || created == had {
						t.Fatalf("got created %v, error %v, want %v", created, err, !had)
					}
					if m.natives[s] == nil {
						m.natives[s] = make(map[string]modelNative)
					}
					m.natives[s][i.Address()] = modelNative{i, d, time.Now().Add(d)}
				},
				"heartbeat": func(t *rapid.T) {
					s, i := drawService(), drawInstance("native")
					_, err := reg.Heartbeat(s, i.Address())
					if alive(s, i.Address()) != (err == nil) || err != nil && !errors.Is(err, rc.ErrNotFound) {
						t.Fatalf("got error %v", err)
					}
					if err == nil {
						n := m.natives[s][i.Address()]
						n.end = time.Now().Add(n.ttl)
						m.natives[s][i.Address()] = n
					}
				},
				"deregister": func(t *rapid.T) {
					s, i := drawService(), drawInstance("native")
					err := reg.Deregister(s, i.Address())
					if alive(s, i.Address()) != (err == nil) {
						t.Fatalf("got error %v", err)
					}
					delete(m.natives[s], i.Address())
				},
				"publish": func(t *rapid.T) {
					o := rc.Owner{Cluster: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "owner"), Bridge: 1}
					mo := m.owners[o.Cluster]
					if mo == nil {
						mo = &modelOwner{newest: 1, lives: make(map[uint32]*modelLife)}
						m.owners[o.Cluster] = mo
					}
					o.Incarnation = max(1, mo.newest-1) + uint32(rapid.IntRange(0, 2).Draw(t, "incarnation"))
					p := rc.Publication{Owner: o, Service: drawService(), Generation: uint64(rapid.IntRange(1, 3).Draw(t, "generation"))}
					for range rapid.IntRange(0, 2).Draw(t, "size") {
						p.Instances = append(p.Instances, drawInstance(o.Cluster))
					}
					_, err := reg.Publish(p, ttl)
					if newest := mo.lives[mo.newest]; o.Incarnation < mo.newest && newest != nil && !newest.end.After(time.Now()) {
						delete(mo.lives, mo.newest) // it lapsed: who comes then begins anew
						delete(mo.lives, o.Incarnation)
						mo.newest = o.Incarnation
					}
					life := mo.lives[o.Incarnation]
					stale := o.Incarnation < mo.newest || life != nil && p.Generation < life.records[p.Service].generation
					if stale != errors.Is(err, rc.ErrStale) || !stale && err != nil {
						t.Fatalf("got error %v, want stale: %v", err, stale)
					}
					if o.Incarnation < mo.newest {
						return
					}
					mo.newest = o.Incarnation
					if life == nil {
						life = &modelLife{records: make(map[rc.Service]modelRecord)}
						mo.lives[o.Incarnation] = life
					}
					if !life.end.After(time.Now()) { // it lapsed; generations are remembered
						for s, r := range life.records {
							life.records[s] = modelRecord{generation: r.generation}
						}
					}
					life.end = time.Now().Add(ttl) // any word of the owner renews, a stale one too
					if stale {
						return
					}
					life.records[p.Service] = modelRecord{p.Generation, p.Instances}
					for n, l := range mo.lives {
						if n != o.Incarnation {
							delete(l.records, p.Service)
						}
					}
				},
				"renew": func(t *rapid.T) {
					for name, mo := range m.owners {
						if _, err := reg.Renew(rc.Owner{Cluster: name, Bridge: 1, Incarnation: mo.newest}, ttl); err != nil {
							t.Fatal(err)
						}
						life := mo.lives[mo.newest]
						if life == nil {
							continue
						}
						if !life.end.After(time.Now()) {
							for s, r := range life.records {
								life.records[s] = modelRecord{generation: r.generation}
							}
						}
						life.end = time.Now().Add(ttl)
					}
				},
				"time passes": func(t *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond)
					synctest.Wait()
				},
				"restart": func(t *rapid.T) {
					stop()
					now := time.Now()
					time.Sleep(time.Duration(rapid.IntRange(0, 60).Draw(t, "s")) * time.Second)
					run()
					for _, list := range m.natives {
						for a, n := range list {
							if n.end.After(now) {
								n.end = time.Now().Add(n.ttl)
								list[a] = n
							}
						}
					}
					for _, mo := range m.owners {
						for _, l := range mo.lives {
							if !l.end.After(now) {
								for s, r := range l.records {
									l.records[s] = modelRecord{generation: r.generation}
								}
							}
							l.end = time.Now().Add(ttl)
						}
					}
				},
				"": func(t *rapid.T) {
					for _, s := range services {
						want := m.list(s, time.Now())
						if got := listOf(reg, s); !slices.Equal(got, want) {
							t.Fatalf("%s: got %v, want %v", s, got, want)
						}
					}
					names := make(map[rc.Service]bool)
					for name := range m.owners {
						own, err := reg.OwnServices(rc.Owner{Cluster: name, Bridge: 1, Incarnation: 1})
						if err != nil {
							t.Fatal(err)
						}
						clear(names)
						for _, l := range m.owners[name].lives {
							for s, r := range l.records {
								if l.end.After(time.Now()) && len(r.instances) > 0 {
									names[s] = true
								}
							}
						}
						if want := slices.SortedFunc(maps.Keys(names), rc.Service.Compare); !slices.Equal(own, want) {
							t.Fatalf("own services of %s: got %v, want %v", name, own, want)
						}
					}
				},
			})
		})
	})
}

// listOf reads the list of a service as a subscriber gets it.
func listOf(reg *embedded.Registry, s rc.Service) []string {
	c, err := embedded.NewLocal(reg, rc.Owner{Cluster: "reader", Bridge: 1, Incarnation: 1}, 0)
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var list []string
	c.Subscribe(ctx, s, func(snap rc.Snapshot) {
		list = nil
		for _, i := range snap.Instances {
			list = append(list, fmt.Sprint(i.Instance))
		}
		cancel()
	})
	slices.Sort(list)
	return list
}
