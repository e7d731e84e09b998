package registry_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/registry"
	"zkbridge/internal/znode"
	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/registryclient/registrytest"
	"zkbridge/zkproto"
)

func TestAdditionsLeaveFastAndRemovalsSoon(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		s := r.session()
		begun := time.Since(r.born)
		require.NoError(t, r.register(s, dubboA))
		after(20 * time.Millisecond)
		calls := r.taken()
		require.Len(t, calls, 1)
		require.LessOrEqual(t, calls[0].at-begun, 20*time.Millisecond)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))

		begun = time.Since(r.born)
		require.NoError(t, r.remove(s, dubboA))
		after(500 * time.Millisecond)
		require.Empty(t, r.taken(), "it may be registering anew")
		after(500 * time.Millisecond)
		calls = r.taken()
		require.Len(t, calls, 1)
		require.LessOrEqual(t, calls[0].at-begun, time.Second)
		require.Empty(t, r.registry(dubboA))
		settle()
		require.Empty(t, r.taken())
		require.Equal(t, 0, r.binding.Stats().PublishedNow)
	})
}

// Pitfall P11: a delete followed by a create within the window is one update,
// or none if the list is the same; also while others come and go.
func TestPitfall11DeleteThenCreate(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		require.NoError(t, r.register(s, otherA))
		settle()
		require.Len(t, r.taken(), 1)

		require.NoError(t, r.remove(s, dubboA))
		after(800 * time.Millisecond)
		require.NoError(t, r.register(s, dubboA))
		settle()
		require.Empty(t, r.taken(), "the same list")

		require.NoError(t, r.remove(s, dubboA))
		after(5 * time.Millisecond)
		anew := dubboA.with("timestamp=2")
		require.NoError(t, r.register(s, anew))
		settle()
		require.Len(t, r.taken(), 1, "one update")

		require.NoError(t, r.remove(s, anew))
		after(100 * time.Millisecond)
		third := otherA
		third.port = 1
		require.NoError(t, r.register(s, third)) // goes at once, and takes nothing with it
		after(100 * time.Millisecond)
		calls := r.taken()
		require.Len(t, calls, 1)
		require.Len(t, calls[0].list, 3)
		require.NoError(t, r.register(s, anew))
		settle()
		require.Empty(t, r.taken())
	})
}

// A restart of a fleet: everybody deletes and creates, some time apart. No list
// that leaves lacks anybody.
// Field report 43.
func TestPitfall11Storm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		all := make([]provider, 100)
		for i := range all {
			all[i] = dubboA
			all[i].port = 10000 + i
			require.NoError(t, r.register(s, all[i]))
		}
		settle()
		r.taken()
		for i := range all {
			require.NoError(t, r.remove(s, all[i]))
			after(7 * time.Millisecond)
			all[i].extra = "timestamp=2"
			require.NoError(t, r.register(s, all[i]))
		}
		settle()
		calls := r.taken()
		require.LessOrEqual(t, len(calls), 71)
		for _, c := range calls {
			require.Len(t, c.list, 100)
		}
		require.Len(t, r.registry(dubboA), 100)
	})
}

// Two protocols on one port that both register anew do not take turns in the
// registry.
func TestPitfall2TakeoverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		require.NoError(t, r.register(s, triA))
		settle()
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		r.taken()
		for _, p := range []provider{dubboA, triA} {
			require.NoError(t, r.remove(s, p))
			after(10 * time.Millisecond)
			require.NoError(t, r.register(s, p))
		}
		settle()
		require.Empty(t, r.taken())
		require.NoError(t, r.remove(s, dubboA))
		settle()
		require.Equal(t, []string{triA.line()}, r.registry(dubboA))
		require.Len(t, r.taken(), 1)
	})
}

// Field report 3: however late the withdrawal of the old registration is, it
// does not remove the new one.
func TestReport3DelayedDeregister(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		a, bb := r.session(), r.session()
		require.NoError(t, r.register(a, dubboA))
		settle()
		require.ErrorIs(t, r.register(bb, dubboA), zkproto.NodeExists)
		r.faulty.Delay(5*time.Second, 0)
		require.NoError(t, r.remove(bb, dubboA))
		settle() // the withdrawal is under way now
		require.NoError(t, r.register(bb, dubboA))
		after(20 * time.Second)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		r.end(a)
		after(20 * time.Second)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		calls := r.taken()
		for i := 1; i < len(calls); i++ {
			require.Greater(t, calls[i].gen, calls[i-1].gen)
		}
		r.faulty.Delay(0, 0)
		r.end(bb)
		settle()
		require.Empty(t, r.registry(dubboA))
	})
}

// Field reports 7 and 12: a create that is repeated, by an application that
// believed its session expired or whose reply was lost, is refused and not
// registered twice.
func TestReport7And12OneRegistration(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA)) // applied; the reply is lost
		settle()
		require.ErrorIs(t, r.register(s, dubboA), zkproto.NodeExists)
		settle()
		require.Len(t, r.taken(), 1)
		require.NoError(t, r.remove(s, dubboA)) // applied; the reply is lost
		require.ErrorIs(t, r.remove(s, dubboA), zkproto.NoNode)
		settle()
		require.Len(t, r.taken(), 1)
		require.Empty(t, r.registry(dubboA))
	})
}

// Field report 12, between bridge and registry: the call was applied and its
// answer lost. It is repeated, and what has happened since is in it.
func TestReport12LostAnswerOfTheRegistry(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		s := r.session()
		lost := 0
		r.failWith(func(p rc.Publication) error {
			if lost++; lost == 1 {
				require.NoError(t, r.backend.client.Publish(t.Context(), p))
				return unavailable(p)
			}
			return nil
		})
		require.NoError(t, r.register(s, dubboA))
		after(50 * time.Millisecond)
		require.NoError(t, r.register(s, otherA))
		settle()
		calls := r.taken()
		require.Len(t, calls, 2)
		require.Len(t, calls[1].list, 2)
		require.Len(t, r.registry(dubboA), 2)
		require.Equal(t, uint64(1), r.binding.Stats().PublishFailures)
	})
}

// Pitfall P3: the registrations of all sessions under a service are one list.
func TestPitfall3OneListOfAllSessions(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		for i := range 5 {
			p := dubboA
			p.port += i
			require.NoError(t, r.register(r.session(), p))
			after(30 * time.Millisecond)
		}
		require.Len(t, r.registry(dubboA), 5)
		r.end(3)
		settle()
		require.Len(t, r.registry(dubboA), 4)
		calls := r.taken()
		for i := 1; i < len(calls); i++ {
			require.False(t, slices.EqualFunc(calls[i].list, calls[i-1].list, rc.Instance.Equal), "never the same list twice")
		}
	})
}

// Field report 20, pitfalls P26 and P27: directories, consumers and rules make
// no service in the registry.
func TestReport20EmptyDirectoriesMakeNoService(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		for _, p := range []string{dubboA.dir(), "/dubbo/metadata/providers", "/dubbo/x/consumers/consumer%3A%2F%2F10.0.0.1%2Fx", "/services/x"} {
			r.mkdir(p)
		}
		settle()
		require.Empty(t, r.taken())
		require.Equal(t, 0, r.binding.Stats().Subscribed)
	})
}

// Field report 21: a name that was escaped forty times is counted and logged,
// and its neighbours are published.
func TestReport21OverEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		settle()
		r.taken()
		name := strings.ReplaceAll(dubboA.name(), "%", "%"+strings.Repeat("25", 40))
		require.NoError(t, r.do(s, func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{Path: dubboA.dir() + "/" + name, ACL: zkproto.WorldAnyone(), Kind: znode.Ephemeral, Owner: s})
			return err
		}))
		settle()
		require.Empty(t, r.taken())
		require.Equal(t, map[string]uint64{"over-encoded": 1}, r.binding.Stats().NotTranslated)
		require.Contains(t, r.log.String(), "a znode is not published: it works for ZooKeeper clients only")
		require.Contains(t, r.log.String(), "znode="+dubboA.dir()+"/"+name[:300])
		require.Contains(t, r.children(dubboA.dir()), name)
	})
}

// The registry is away: everything goes on, and the newest lists leave when it
// is back; what came and went meanwhile does not.
//
// Pitfalls P35 and P36: no request of a client waits for the registry or fails with it.
func TestRegistryAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownRegistry(t, embedded.Config{}, owner), options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		r.backend.register(dubboB.service(), dubboB.native())
		settle()
		require.Equal(t, []string{dubboB.name()}, r.children(dubboB.dir()))
		r.taken()

		r.faulty.Cut("pulled out")
		after(time.Minute)
		require.NoError(t, r.remove(s, dubboA))
		require.NoError(t, r.register(s, dubboA))
		require.NoError(t, r.register(s, otherA))
		short := otherA
		short.port = 7
		require.NoError(t, r.register(s, short))
		after(time.Minute)
		require.NoError(t, r.remove(s, short))
		after(time.Minute)
		require.Empty(t, r.taken(), "nobody is asked who cannot answer")
		require.Equal(t, []string{dubboB.name()}, r.children(dubboB.dir()), "a lost link removes nothing")
		require.Contains(t, r.book.Explain(otherA.path()).String(), "registry: waiting: the registry is away: pulled out.")
		ready, _ := r.binding.Ready()
		require.True(t, ready)
		require.Greater(t, r.binding.Stats().OldestPendingAge, time.Minute)

		r.faulty.Heal()
		after(100 * time.Millisecond)
		require.Equal(t, []string{dubboA.line(), otherA.line()}, r.registry(dubboA))
		require.Len(t, r.taken(), 1)
		require.Contains(t, r.book.Explain(otherA.path()).String(), "registry: accepted at ")
		settle()
		require.Empty(t, r.taken())
		require.Contains(t, r.log.String(), "the registry is away")
		require.Contains(t, r.log.String(), "the registry is reachable")
	})
}

// A registry that answers but fails is asked again with pauses that grow, and
// the newest list wins.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		r.failWith(unavailable)
		require.NoError(t, r.register(s, dubboA))
		after(time.Minute)
		for range 20 { // news do not shorten the pauses
			require.NoError(t, r.register(s, otherA))
			require.NoError(t, r.remove(s, otherA))
			after(10 * time.Millisecond)
		}
		calls := r.taken()
		require.Greater(t, len(calls), 5)
		require.Less(t, len(calls), 25)
		for i := 1; i < len(calls); i++ {
			pause := calls[i].at - calls[i-1].at
			require.LessOrEqual(t, pause, 5*time.Second)
			if i > 2 {
				require.GreaterOrEqual(t, pause, 400*time.Millisecond)
			}
		}
		require.Contains(t, r.book.Explain(dubboA.path()).String(), "registry: waiting: publish public/DEFAULT_GROUP/providers:com.acme.A::: unavailable: no answer.")
		r.failWith(nil)
		after(6 * time.Second)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		require.Contains(t, r.log.String(), "publishing works again")

		// A new link is a reason not to wait any longer.
		r.failWith(unavailable)
		require.NoError(t, r.register(s, otherA))
		after(time.Minute)
		r.failWith(nil)
		r.faulty.Cut("for a moment")
		after(time.Millisecond)
		r.faulty.Heal()
		after(20 * time.Millisecond)
		require.Len(t, r.registry(dubboA), 2)
	})
}

// A withdrawal that fails is repeated as it is: what has gone does not come
// back meanwhile. And if it was applied and its answer lost, a create in
// between is published although the list is the one that was accepted last.
func TestWithdrawalFails(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		require.NoError(t, r.register(s, otherA))
		settle()
		r.taken()
		r.failWith(unavailable)
		require.NoError(t, r.remove(s, dubboA))
		after(10 * time.Second)
		r.failWith(nil)
		after(10 * time.Second)
		for _, c := range r.taken() {
			require.Equal(t, []string{otherA.line()}, listed(c.list))
		}
		require.Equal(t, []string{otherA.line()}, r.registry(dubboA))

		r.failWith(func(p rc.Publication) error {
			return errors.Join(r.backend.client.Publish(t.Context(), p), unavailable(p))
		})
		require.NoError(t, r.remove(s, otherA))
		after(950 * time.Millisecond)
		require.Empty(t, r.registry(dubboA))
		r.failWith(nil)
		require.NoError(t, r.register(s, otherA))
		settle()
		require.Equal(t, []string{otherA.line()}, r.registry(dubboA))
	})
}

// What the registry refuses is found, left out, logged with its znode, and
// taken when it has changed, when the limit was raised, or with the next link.
func TestRefusedInstanceIsIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		refusing := true
		r.failWith(func(p rc.Publication) error {
			for _, i := range p.Instances {
				if refusing && i.Port >= 20885 && i.Metadata["weight"] == "" {
					return invalid(p, "this registry wants weights; give one")
				}
			}
			return nil
		})
		var all []provider
		for i := range 8 {
			p := dubboA
			p.port += i
			all = append(all, p)
		}
		require.NoError(t, r.register(s, all[0]))
		settle()
		for _, p := range all[1:] {
			require.NoError(t, r.register(s, p))
		}
		settle()
		want := []string{all[0].line(), all[1].line(), all[2].line(), all[3].line(), all[4].line()}
		require.Equal(t, want, r.registry(dubboA))
		st := r.binding.Stats()
		require.Equal(t, 3, st.RefusedNow)
		require.Equal(t, 5, st.PublishedNow)
		require.Contains(t, r.log.String(), "znode="+all[5].path())
		require.Contains(t, r.log.String(), "this registry wants weights; give one")
		require.Contains(t, r.book.Explain(all[6].path()).String(), "registry: refused: this registry wants weights; give one.")
		for _, c := range r.taken() {
			if len(c.list) > 0 {
				require.Contains(t, listed(c.list), all[0].line(), "what is good stays")
			}
		}
		settle()
		require.Empty(t, r.taken(), "what is refused is not asked again and again")

		// Others come and go beside it.
		require.NoError(t, r.register(s, otherA))
		settle()
		require.Len(t, r.taken(), 1)

		// It changes.
		require.NoError(t, r.remove(s, all[5]))
		require.NoError(t, r.register(s, all[5].with("weight=1")))
		settle()
		require.Contains(t, r.registry(dubboA), all[5].line())
		require.Equal(t, 2, r.binding.Stats().RefusedNow)

		// The limit is raised.
		r.mu.Lock()
		refusing = false
		r.mu.Unlock()
		after(6 * time.Minute)
		require.Len(t, r.registry(dubboA), 9)
		require.Equal(t, 0, r.binding.Stats().RefusedNow)
		require.Contains(t, r.log.String(), "the registry takes the instance now")
	})
}

// Pitfall P4: a limit that the registry tells is kept without asking.
func TestPitfall4MetadataLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ownRegistry(t, embedded.Config{Limits: embedded.Limits{Metadata: 300}}, owner)
		r := newRig(t, b, options{})
		s := r.session()
		long := otherA.with(fmt.Sprintf("methods=%0300d", 7))
		require.NoError(t, r.register(s, dubboA))
		require.NoError(t, r.register(s, long))
		settle()
		require.Len(t, r.taken(), 1)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		require.Contains(t, r.log.String(), "the registry takes 300: raise the registry's limit, or make the provider register less (Dubbo: simplified=true)")
		require.Contains(t, r.log.String(), "znode="+long.path())
		require.Equal(t, []string{dubboA.name(), long.name()}, r.children(dubboA.dir()))
		require.NoError(t, r.remove(s, long))
		settle()
		require.Equal(t, 0, r.binding.Stats().RefusedNow)
		require.Empty(t, r.taken())
	})
}

// A service whose very name is refused costs two calls, not one for each
// instance.
func TestRefusedService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		r.failWith(func(p rc.Publication) error {
			if p.Service == dubboA.service() {
				return invalid(p, "the name is too long")
			}
			return nil
		})
		for i := range 50 {
			p := dubboA
			p.port += i
			require.NoError(t, r.register(s, p))
		}
		require.NoError(t, r.register(s, dubboB))
		settle()
		require.Len(t, r.taken(), 3)
		require.Equal(t, 50, r.binding.Stats().RefusedNow)
		require.Equal(t, []string{dubboB.line()}, r.registry(dubboB))
		r.end(s)
		settle()
		require.Equal(t, 0, r.binding.Stats().RefusedNow)
	})
}

// What was good and is refused now goes, without the rest.
func TestGoodTurnsBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		require.NoError(t, r.register(s, otherA))
		settle()
		r.failWith(func(p rc.Publication) error {
			if slices.ContainsFunc(p.Instances, func(i rc.Instance) bool { return i.IP == "10.0.0.1" }) {
				return invalid(p, "not that one")
			}
			return nil
		})
		third := otherA
		third.port = 9
		require.NoError(t, r.register(s, third))
		settle()
		require.Equal(t, []string{third.line(), otherA.line()}, r.registry(dubboA))
		require.Equal(t, 1, r.binding.Stats().RefusedNow)
	})
}

// Not more than the given number of calls are under way, and a slow service
// does not hold up another.
func TestWorkersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, most := 0, 0
		r := newRig(t, nacosLike(registrytest.NewFake()), options{change: func(c *registry.Config) { c.Workers = 3 }})
		r.failWith(nil)
		s := r.session()
		slow := make(chan struct{})
		r.faulty.FailPublish(func(p rc.Publication) error {
			r.mu.Lock()
			now++
			most = max(most, now)
			r.mu.Unlock()
			if p.Service == dubboA.service() {
				<-slow
			} else {
				time.Sleep(10 * time.Millisecond)
			}
			r.mu.Lock()
			now--
			r.mu.Unlock()
			return nil
		})
		require.NoError(t, r.register(s, dubboA))
		for i := range 20 {
			p := dubboB
			p.iface += fmt.Sprint(i)
			require.NoError(t, r.register(s, p))
		}
		after(200 * time.Millisecond)
		require.Equal(t, 3, most)
		require.Equal(t, uint64(20), r.binding.Stats().Published)
		require.Equal(t, 1, r.binding.Stats().PublishPending)
		close(slow)
		settle()
		require.Equal(t, uint64(21), r.binding.Stats().Published)
	})
}

// A registry that does not answer is given up after a time and asked again.
func TestCallWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		r.faulty.Delay(time.Hour, 0)
		require.NoError(t, r.register(s, dubboA))
		after(11 * time.Second)
		r.faulty.Delay(0, 0)
		after(11 * time.Second)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		require.NotZero(t, r.binding.Stats().PublishFailures)
	})
}

func TestDeniedIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nacosLike(registrytest.NewFake()), options{})
		s := r.session()
		r.failWith(func(p rc.Publication) error {
			return &rc.Error{Op: "publish", Service: p.Service, Kind: rc.Denied, Err: errors.New("wrong token")}
		})
		require.NoError(t, r.register(s, dubboA))
		after(30 * time.Second)
		require.NotZero(t, r.binding.Stats().PublishRefusals)
		require.Contains(t, r.log.String(), "wrong token")
		r.failWith(nil)
		after(11 * time.Second)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
	})
}

// What became of each of many providers is found without walking through all of
// them, and told of each by itself.
func TestOutcomeInALargeDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ownRegistry(t, embedded.Config{Limits: embedded.Limits{Instances: 300}}, owner), options{})
		session := r.session()
		for i := range 302 {
			p := dubboA
			p.host = fmt.Sprintf("10.0.%d.%d", i%7, i)
			require.NoError(t, r.register(session, p))
		}
		settle()
		accepted, refused := 0, 0
		for _, c := range r.book.Explain(dubboA.dir()).Claims {
			switch {
			case strings.HasPrefix(c.Outcome, "accepted at "):
				accepted++
			case strings.HasPrefix(c.Outcome, "refused: "):
				refused++
			}
		}
		require.Equal(t, 300, accepted)
		require.Equal(t, 2, refused)
	})
}

// What the registry refuses stands in nobody's way: another registration of that
// ip and port is published in its place, and one that was stays without a gap.
func TestRefusedMakesRoom(t *testing.T) {
	refuse := func(p rc.Publication) error {
		if slices.ContainsFunc(p.Instances, func(i rc.Instance) bool { return i.Metadata["long"] != "" }) {
			return invalid(p, "too long")
		}
		return nil
	}
	long := dubboA.with("long=1")
	t.Run("another protocol", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nacosLike(registrytest.NewFake()), options{})
			r.failWith(refuse)
			s := r.session()
			require.NoError(t, r.register(s, long))
			settle()
			require.Empty(t, r.registry(dubboA))
			require.Contains(t, r.book.Explain(long.path()).String(), "not published: the registry refuses it")
			require.NoError(t, r.register(s, triA))
			settle()
			require.Equal(t, []string{triA.line()}, r.registry(dubboA))
			require.Contains(t, r.book.Explain(triA.path()).String(), "published: as 10.0.0.1:20880")
			require.Equal(t, 1, r.binding.Stats().RefusedNow)

			// Together, as after a registry's restart.
			r.failWith(nil)
			after(6 * time.Minute)
			require.Equal(t, []string{long.line()}, r.registry(dubboA), "the first counts as soon as it is taken")
			require.Equal(t, 0, r.binding.Stats().RefusedNow)
		})
	})
	t.Run("a newer registration of the same address", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nacosLike(registrytest.NewFake()), options{})
			r.failWith(refuse)
			older, newer := r.session(), r.session()
			require.NoError(t, r.register(older, dubboA))
			require.NoError(t, r.register(older, otherA))
			settle()
			r.taken()
			require.NoError(t, r.register(newer, long))
			settle()
			after(11 * time.Minute) // it is tried again
			want := []string{dubboA.line(), otherA.line()}
			require.Equal(t, want, r.registry(dubboA))
			for _, c := range r.taken() {
				require.Equal(t, want, listed(c.list), "no call leaves it out")
			}
			require.Equal(t, 1, r.binding.Stats().RefusedNow)
			r.end(older) // what is left is refused
			settle()
			require.Empty(t, r.registry(dubboA))
			r.end(newer)
			settle()
			require.Equal(t, 0, r.binding.Stats().RefusedNow)
		})
	})
}
