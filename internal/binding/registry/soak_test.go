package registry_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/registryclient/registrytest"
	"zkbridge/zkproto"
)

// address is a provider without what two registrations of one may differ in.
func (p provider) address() provider { return p.with("") }

// TestNothingIsLostBetweenTheSides lets clients, natives, the link and the
// registry do what they like, in virtual time, and then lets things calm down:
// each address that somebody claims is on both sides, once, and no other. On the
// way no client's node may be missing, and no list may be published twice in
// a row.
func TestNothingIsLostBetweenTheSides(t *testing.T) {
	backends := map[string]func(*testing.T) backend{
		"says own":       func(t *testing.T) backend { return ownRegistry(t, embedded.Config{}, owner) },
		"cannot say own": func(*testing.T) backend { return nacosLike(registrytest.NewFake()) },
	}
	for name, make := range backends {
		for _, calm := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, calm %v", name, calm), func(t *testing.T) {
				for seed := range uint64(25) {
					synctest.Test(t, func(t *testing.T) { soak(t, make(t), rand.New(rand.NewPCG(seed, 1)), calm) })
					if t.Failed() {
						t.Fatalf("with the seed %d", seed)
					}
				}
			})
		}
	}
}

func soak(t *testing.T, b backend, rnd *rand.Rand, calm bool) {
	var world []provider
	for _, iface := range []string{"com.acme.A", "com.acme.B"} {
		for _, protocol := range []string{"dubbo", "tri"} {
			for _, port := range []int{1, 2} {
				for _, stamp := range []string{"timestamp=1", "timestamp=2"} {
					world = append(world, provider{iface, protocol, "10.0.0.1", port, stamp})
				}
			}
		}
	}
	r := newRig(t, b, options{})
	faults := rand.New(rand.NewPCG(rnd.Uint64(), 2)) // used by the publisher's goroutines, one at a time
	nodes := make(map[provider]int64)
	natives := make(map[string]provider) // by service and port
	at := func(p provider) string { return fmt.Sprint(p.iface, p.port) }
	var sessions []int64
	for range 3 {
		sessions = append(sessions, r.session())
	}
	for range 150 {
		p, s := world[rnd.IntN(len(world))], rnd.IntN(len(sessions))
		op := rnd.IntN(20)
		switch {
		case op < 8:
			err := r.register(sessions[s], p)
			if _, exists := nodes[p]; exists {
				require.ErrorIs(t, err, zkproto.NodeExists)
			} else {
				require.NoError(t, err)
				nodes[p] = sessions[s]
			}
		case op < 11:
			if _, exists := nodes[p]; exists {
				require.NoError(t, r.remove(sessions[s], p))
				delete(nodes, p)
			}
		case op < 13:
			r.end(sessions[s])
			for q, owner := range nodes {
				if owner == sessions[s] {
					delete(nodes, q)
				}
			}
			sessions[s] = r.session()
		case op < 15:
			b.register(p.service(), p.native())
			natives[at(p)] = p
		case op < 17:
			if q, ok := natives[at(p)]; ok {
				b.deregister(q.service(), q.native().Address())
				delete(natives, at(p))
			}
		case calm:
		case op == 17:
			r.faulty.Cut("pulled out")
		case op == 18:
			r.faulty.Heal()
			r.failWith(nil)
		default:
			r.failWith(func(p rc.Publication) error {
				switch faults.IntN(3) {
				case 0:
					return unavailable(p)
				case 1: // applied, and the answer lost
					return errors.Join(r.backend.client.Publish(t.Context(), p), unavailable(p))
				}
				return nil
			})
		}
		if rnd.IntN(3) > 0 {
			after(time.Duration(rnd.IntN(600)) * time.Millisecond)
		}
		for q := range nodes {
			require.Contains(t, r.children(q.dir()), q.name())
		}
	}
	r.failWith(nil)
	r.faulty.Heal()
	after(15 * time.Second)
	after(6 * time.Minute) // what is taken for our echo is not for longer than five

	for _, p := range world {
		var want []string
		claimed := false
		for q := range nodes {
			if q.dir() == p.dir() {
				want = append(want, q.name())
				claimed = claimed || at(q) == at(p)
			}
		}
		for _, q := range natives {
			if q.dir() == p.dir() && !slices.ContainsFunc(world, func(o provider) bool { _, ok := nodes[o]; return ok && o.address() == q.address() }) {
				want = append(want, q.name())
			}
		}
		slices.Sort(want)
		require.Equal(t, fmt.Sprintf("%q", want), fmt.Sprintf("%q", r.children(p.dir())), "shown below %s", p.dir())

		var there []rc.Instance
		for _, i := range b.list(p.service()) {
			if i.Port == p.port {
				there = append(there, i)
			}
		}
		native, ok := natives[at(p)]
		switch {
		case ok:
			require.Equal(t, []rc.Instance{native.native()}, there, "only the native one at %s", at(p))
		case claimed:
			require.Len(t, there, 1, "ours at %s", at(p))
		default:
			require.Empty(t, there, "nobody at %s", at(p))
		}
	}
	newest := make(map[rc.Service]uint64)
	calls := r.taken()
	for _, c := range calls {
		require.Greater(t, c.gen, newest[c.svc], "every call has its own generation")
		newest[c.svc] = c.gen
	}
	if calm {
		last := make(map[rc.Service][]rc.Instance)
		for _, c := range calls {
			require.False(t, slices.EqualFunc(last[c.svc], c.list, rc.Instance.Equal), "published twice: %v", listed(c.list))
			last[c.svc] = c.list
		}
	}
}

// A native that comes in the moment between our withdrawal and the registry's
// echo of it is taken for that echo, but not for longer than five minutes.
func TestNativeInTheWindowOfTheEcho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := nacosLike(registrytest.NewFake())
		r := newRig(t, b, options{})
		s := r.session()
		require.NoError(t, r.register(s, dubboA))
		settle()
		r.faulty.Delay(0, 5*time.Second)
		r.end(s)
		after(2 * time.Second)
		b.register(dubboA.service(), dubboA.native())
		after(10 * time.Second)
		require.Empty(t, r.children(dubboA.dir()))
		after(5*time.Minute + 15*time.Second)
		require.Equal(t, []string{dubboA.name()}, r.children(dubboA.dir()))
	})
}
