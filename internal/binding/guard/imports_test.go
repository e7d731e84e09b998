package guard_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/guard"
	"zkbridge/registryclient"
)

const iface = "com.x.N"

func ats(from, to int) (list []string) {
	for n := from; n <= to; n++ {
		list = append(list, at(n))
	}
	return list
}

// gone waits, and says how long it took until a service shows nothing.
func (w *world) emptyAfter(iface string, limit time.Duration) (time.Duration, bool) {
	for began := time.Now(); time.Since(began) < limit; time.Sleep(100 * time.Millisecond) {
		synctest.Wait()
		if len(w.shown(iface)) == 0 {
			return time.Since(began), true
		}
	}
	return limit, false
}

// TestWithinTheCap goes at once: rolling deployments of natives are not held up.
func TestWithinTheCap(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.lists(iface, ats(11, 14)...)
		require.Len(t, w.shown(iface), 4)
		w.lists(iface, ats(12, 14)...)
		require.Equal(t, ats(12, 14), w.shown(iface))
		w.lists(iface, ats(13, 14)...)
		require.Equal(t, ats(13, 14), w.shown(iface))
		require.Empty(t, w.guard.Held())
	})
}

// TestRegistryLies: field reports 31, 38, 39 and 42. A registry that was emptied,
// knows half, or is asked for its list before anybody has registered there takes no
// more than the cap; its truth brings all back without a change of anything else.
func TestRegistryLies(t *testing.T) {
	for name, c := range map[string]struct {
		lie   []string
		stays int
	}{
		"empty":        {nil, 4},
		"half":         {ats(15, 18), 4},
		"three of all": {ats(11, 13), 4},
		"all but one":  {ats(12, 18), 7},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				all := ats(11, 18)
				for _, a := range all {
					w.is(a, open)
				}
				w.lists(iface, all...)
				w.lists(iface, c.lie...)
				require.Len(t, w.shown(iface), c.stays)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				w.lists(iface, c.lie...)
				require.Len(t, w.shown(iface), c.stays, "however often it says so")
				require.Empty(t, w.published(iface), "what is held of others is not published in our name")
				w.lists(iface, all...)
				require.Equal(t, all, w.shown(iface))
				require.Empty(t, w.guard.Held())
			})
		})
	}
}

// TestAllUnhealthy: an instance that its registry takes for ill is there until
// the registry takes it out.
func TestAllUnhealthy(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.lists(iface, ats(11, 14)...)
		var ill []registryclient.Instance
		for _, a := range ats(11, 14) {
			in := native(iface, a)
			in.Healthy = false
			ill = append(ill, in)
		}
		w.guard.Import(serviceOf(iface), ill)
		require.Equal(t, ats(11, 14), w.shown(iface))
	})
}

// TestFlapping: a registry that says all, none, all, none takes no more than the
// cap at any time, and changing halves never add up to more.
func TestFlapping(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		all := ats(11, 18)
		w.lists(iface, all...)
		for range 20 {
			for _, list := range [][]string{nil, all, ats(11, 14), ats(15, 18), ats(12, 12)} {
				w.lists(iface, list...)
				synctest.Wait()
				require.GreaterOrEqual(t, len(w.shown(iface)), 4)
				time.Sleep(300 * time.Millisecond)
			}
		}
		w.lists(iface, all...)
		require.Equal(t, all, w.shown(iface))
	})
}

// TestTrulyDeadOnesGo: behind a registry that lies, a dead provider is gone once
// its host has refused two probes; and if nothing is heard of it, when its time is
// over. Field report 40.
func TestTrulyDeadOnesGo(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		all := ats(11, 18)
		for _, a := range all {
			w.is(a, open)
		}
		w.lists(iface, all...)
		w.lists(iface)
		left := w.shown(iface)
		require.Len(t, left, 4)
		w.is(left[0], refusing)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		require.Equal(t, left[1:], w.shown(iface))
		w.is(left[1], nowhere)
		time.Sleep(10*time.Minute + 10*time.Second)
		synctest.Wait()
		require.Equal(t, left[2:], w.shown(iface))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, w.shown(iface), "guard.holdMax ends what answers, too")
	})
}

// TestLinkCameBack: for a window after the link is back nothing that the registry
// lacks goes, be it within the cap: it may have forgotten everybody (field report
// 31). While the link is lost nothing goes either.
func TestLinkCameBack(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.guard.Link(true)
		w.lists(iface, ats(11, 14)...)
		w.guard.Link(false)
		w.lists(iface, ats(12, 14)...)
		require.Len(t, w.shown(iface), 4)
		class, _ := w.heldAt(iface, at(11))
		require.Equal(t, guard.LinkLost.String(), class)
		time.Sleep(time.Minute)
		w.guard.Link(true)
		time.Sleep(time.Second)
		w.lists(iface)
		require.Len(t, w.shown(iface), 4)
		time.Sleep(3 * time.Second)
		w.lists(iface, ats(11, 14)...) // they beat their hearts again
		require.Len(t, w.shown(iface), 4)
		require.Empty(t, w.guard.Held())
	})
}

// TestFirstLink: at the start the link comes up as well, and what the registry says
// from then on counts.
func TestFirstLink(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.guard.Link(false)
		w.guard.Link(true)
		w.lists(iface, ats(11, 14)...)
		w.lists(iface, ats(12, 14)...)
		require.Equal(t, ats(12, 14), w.shown(iface))
	})
}

// TestTheLastAddress of a service goes a moment later, if it is the only one: an
// empty list is something to be sure of (field report 39). If others go with it
// all are held.
func TestTheLastAddress(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.lists("com.x.A", at(1))
			w.lists("com.x.B", at(2))
			w.lists("com.x.A")
			require.Equal(t, []string{at(1)}, w.shown("com.x.A"))
			took, ok := w.emptyAfter("com.x.A", time.Minute)
			require.True(t, ok)
			require.LessOrEqual(t, took, 3200*time.Millisecond)
			require.Equal(t, []string{at(2)}, w.shown("com.x.B"))
			require.Empty(t, w.guard.Held())
		})
	})
	t.Run("answers", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.is(at(1), open) // taken off line while its process goes on
			w.lists("com.x.A", at(1))
			w.lists("com.x.A")
			_, ok := w.emptyAfter("com.x.A", 4*time.Second)
			require.True(t, ok)
		})
	})
	t.Run("of all services", func(t *testing.T) {
		inWorld(t, nil, func(t *testing.T, w *world) {
			for i := range 10 {
				w.lists(apart(i), at(i))
			}
			for i := range 10 {
				w.lists(apart(i))
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(9 * time.Minute)
			synctest.Wait()
			for i := range 10 {
				require.Equal(t, []string{at(i)}, w.shown(apart(i)))
			}
			require.Len(t, w.guard.Held(), 10)
			time.Sleep(51*time.Minute + 5*time.Second)
			synctest.Wait()
			require.Len(t, w.guard.Held(), 9, "then service by service")
			time.Sleep(100 * time.Second)
			synctest.Wait()
			require.Empty(t, w.guard.Held())
		})
	})
}

// TestPeerUnreachable: all that one bridge published goes at once: it is cut off,
// and what it vouches for is held in every service, cap or not (field report 30).
func TestPeerUnreachable(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		whole := func(i int) []registryclient.Instance {
			return []registryclient.Instance{native(apart(i), at(10+i)), bridged("two", apart(i), at(20+i)), bridged("three", apart(i), at(30+i))}
		}
		for i := range 5 {
			w.guard.Import(serviceOf(apart(i)), whole(i))
		}
		for i := range 5 {
			w.guard.Import(serviceOf(apart(i)), whole(i)[:2])
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		for i := range 5 {
			require.Len(t, w.shown(apart(i)), 3)
			class, _ := w.heldAt(apart(i), at(30+i))
			require.Equal(t, guard.PeerLost.String(), class)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for i := range 5 {
			require.Len(t, w.shown(apart(i)), 2)
		}
		for i := range 5 {
			w.guard.Import(serviceOf(apart(i)), whole(i))
			require.Len(t, w.shown(apart(i)), 3)
		}
		require.Empty(t, w.guard.Held())
	})
}

// TestOneOfAPeer: what one of another bridge's providers gives up goes, a moment
// later.
func TestOneOfAPeer(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		var all []registryclient.Instance
		for n := range 6 {
			all = append(all, bridged("two", iface, at(n)))
		}
		w.guard.Import(serviceOf(iface), all)
		w.guard.Import(serviceOf(iface), all[1:])
		time.Sleep(3200 * time.Millisecond)
		synctest.Wait()
		require.Len(t, w.shown(iface), 5)
		require.Empty(t, w.guard.Held())
	})
}

// TestHeldOfTheRegistryIsNotInTheWay: a client of ours that registers the address
// is published at once, and what is held ends.
func TestHeldOfTheRegistryIsNotInTheWay(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.lists(iface, ats(11, 12)...)
		w.guard.Link(false)
		w.lists(iface)
		require.Len(t, w.guard.Held(), 2)
		c := w.connect(timeout)
		require.NoError(t, c.register(iface, at(11)))
		require.Equal(t, []string{at(11)}, w.published(iface))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, w.guard.Held(), 1)
		require.Equal(t, ats(11, 12), w.shown(iface))
		c.close()
		synctest.Wait()
		require.Equal(t, ats(12, 12), w.shown(iface))
	})
}

// TestDualRegistration: an address that a client of ours vouches for goes from the
// registry without a word from the guard.
func TestDualRegistration(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		c := w.connect(timeout)
		require.NoError(t, c.register(iface, at(11)))
		w.lists(iface, at(11))
		require.Empty(t, w.published(iface))
		w.lists(iface)
		require.Empty(t, w.guard.Held())
		require.Equal(t, []string{at(11)}, w.published(iface))
		require.Equal(t, []string{at(11)}, w.shown(iface))
	})
}

// TestOperatorOverImports keeps and drops what is held of the registry.
func TestOperatorOverImports(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.lists(iface, ats(11, 14)...)
		w.guard.Link(false)
		w.lists(iface)
		list := w.guard.Held()
		require.Len(t, list, 4)
		require.NoError(t, w.guard.Keep(list[0].Key))
		require.NoError(t, w.guard.Drop(list[1].Key))
		require.Equal(t, []string{at(11), at(13), at(14)}, w.shown(iface))
		w.is(at(11), refusing)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Equal(t, []string{at(11)}, w.shown(iface), "kept")
	})
}

// TestColdStart: what others had registered is shown before the registry answers,
// and what it then does not know ends by evidence. Field report 42.
func TestColdStart(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(c *guard.Config) { c.Dir = dir }, func(t *testing.T, w *world) {
		require.False(t, w.guard.Picture())
		w.lists(iface, ats(11, 13)...)
		w.guard.Complete()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		w.restart()
		require.True(t, w.guard.Picture())
		w.mkdir(dirOf(iface))
		require.Equal(t, ats(11, 13), w.shown(iface))
		require.Len(t, w.guard.Held(), 3)
		w.is(at(13), refusing)
		w.lists(iface, ats(11, 12)...)
		require.Equal(t, ats(11, 13), w.shown(iface))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, ats(11, 12), w.shown(iface))
		require.Empty(t, w.guard.Held())
		w.lists(iface)
		w.restart()
		require.NotEmpty(t, w.shown(iface))
	})
}

// TestAFileOfImportsThatCannotBeRead is left out; the others are shown.
func TestAFileOfImportsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(c *guard.Config) { c.Dir = dir }, func(t *testing.T, w *world) {
		w.lists(iface, ats(11, 13)...)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "0.json"), []byte("{"), 0o600))
		w.restart()
		require.Len(t, w.guard.Held(), 3)
		require.EqualValues(t, 1, w.guard.Stats().DiskErrors)
	})
}

// TestColdStartWithoutTheGuard: until the registry speaks what was imported before is
// shown; then its word is all.
func TestColdStartWithoutTheGuard(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(c *guard.Config) { c.Dir, c.Off = dir, true }, func(t *testing.T, w *world) {
		w.lists(iface, ats(11, 13)...)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		w.restart()
		require.Equal(t, ats(11, 13), w.shown(iface))
		w.lists(iface, at(12))
		require.Equal(t, ats(12, 12), w.shown(iface))
		require.Empty(t, w.guard.Held())
	})
}
