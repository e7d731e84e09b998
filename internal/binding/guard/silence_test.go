package guard_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/guard"
)

// providers connects clients, the n-th of which registers address n under the
// interface that name gives.
func (w *world) providers(count int, name func(n int) string) []*client {
	w.t.Helper()
	list := make([]*client, 0, count)
	for n := 1; n <= count; n++ {
		c := w.connect(timeout)
		if err := c.register(name(n), at(n)); err != nil {
			w.t.Fatalf("register %d: %v", n, err)
		}
		list = append(list, c)
	}
	return list
}

func together(int) string { return "com.x.S" }
func apart(n int) string  { return fmt.Sprintf("com.x.S%d", n) }

// silence cuts clients off at one moment, and gives it.
func silence(list ...*client) time.Time {
	for _, c := range list {
		c.session.Touch()
	}
	for _, c := range list {
		c.cut()
	}
	return time.Now()
}

// TestASingleExpiryPassesOnTime is design rule 3, and the right behaviour of field
// reports 2 and 40: a dead provider goes exactly when its timeout is over.
func TestASingleExpiryPassesOnTime(t *testing.T) {
	for name, c := range map[string]struct {
		providers int
		name      func(int) string
	}{
		"the only provider of its service":  {1, apart},
		"one of many services":              {12, apart},
		"one of two of a service":           {2, together},
		"one of three of a service":         {3, together},
		"one of a service, alone in bridge": {1, together},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				list := w.providers(c.providers, c.name)
				time.Sleep(time.Minute)
				since := silence(list[0])
				time.Sleep(timeout - time.Millisecond)
				synctest.Wait()
				require.Contains(t, w.shown(c.name(1)), at(1))
				time.Sleep(time.Millisecond)
				synctest.Wait()
				require.NotContains(t, w.shown(c.name(1)), at(1))
				require.Equal(t, since.Add(timeout), list[0].endedAt())
				require.Empty(t, w.guard.Held())
				require.Zero(t, w.guard.Stats().Extensions)
			})
		})
	}
}

// TestTwoWhoDieTogetherAreNoMass: below guard.massSessions nothing is suspicious.
func TestTwoWhoDieTogetherAreNoMass(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		list := w.providers(4, apart)
		since := silence(list[0], list[1])
		time.Sleep(timeout)
		synctest.Wait()
		require.Equal(t, since.Add(timeout), list[0].endedAt())
		require.Equal(t, since.Add(timeout), list[1].endedAt())
		require.Empty(t, w.guard.Held())
	})
}

// TestMassSilence: of many who fall silent at once the deadline is extended once,
// then their sessions end, as ZooKeeper's would, and their addresses are held.
func TestMassSilence(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		list := w.providers(10, apart)
		time.Sleep(time.Minute)
		since := silence(list[:4]...)
		time.Sleep(timeout)
		synctest.Wait()
		for _, c := range list[:4] {
			require.False(t, c.ended(), "the deadline is extended")
		}
		time.Sleep(timeout + time.Second)
		synctest.Wait()
		for n, c := range list[:4] {
			require.WithinDuration(t, since.Add(2*timeout), c.endedAt(), 10*time.Millisecond)
			require.Equal(t, []string{at(n + 1)}, w.shown(apart(n+1)))
			require.Equal(t, []string{at(n + 1)}, w.published(apart(n+1)), "natives see it too")
			class, why := w.heldAt(apart(n+1), at(n+1))
			require.Equal(t, guard.Expired.String(), class)
			require.Contains(t, why, "silent at once")
		}
		require.Len(t, w.guard.Held(), 4)
		for _, c := range list[4:] {
			require.False(t, c.ended())
		}
		require.EqualValues(t, 4, w.guard.Stats().Extensions)
	})
}

// TestMassSilenceThatEnds: who comes back within the extension has lost nothing.
// It is field report 63 seen from the server.
func TestMassSilenceThatEnds(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		list := w.providers(10, together)
		silence(list...)
		time.Sleep(timeout + timeout/2)
		for _, c := range list {
			require.False(t, c.ended())
			c.heal()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, c := range list {
			require.False(t, c.ended())
		}
		require.Len(t, w.shown("com.x.S"), 10)
		require.Empty(t, w.guard.Held())
	})
}

// TestMostOfAService: two of three of one service are suspicious though the bridge
// has many sessions.
func TestMostOfAService(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		others := w.providers(20, apart)
		one, two, three := w.connect(timeout), w.connect(timeout), w.connect(timeout)
		for n, c := range []*client{one, two, three} {
			require.NoError(t, c.register("com.x.S", at(101+n)))
		}
		silence(one, two)
		time.Sleep(2*timeout + time.Second)
		synctest.Wait()
		require.True(t, one.ended())
		require.True(t, two.ended())
		require.Equal(t, []string{at(101), at(102), at(103)}, w.shown("com.x.S"))
		require.Len(t, w.guard.Held(), 2)
		require.False(t, others[0].ended())
	})
}

// TestOneAfterAnother: a service that loses its providers one by one within the
// window is suspicious from the moment that most of them are silent or gone.
func TestOneAfterAnother(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.providers(20, apart)
		list := []*client{w.connect(timeout), w.connect(timeout), w.connect(timeout)}
		for n, c := range list {
			require.NoError(t, c.register("com.x.S", at(101+n)))
		}
		first := silence(list[0])
		time.Sleep(8 * time.Second)
		silence(list[1])
		time.Sleep(2 * time.Second) // the first falls due: one silent of three, the other has hardly been
		synctest.Wait()
		require.Equal(t, first.Add(timeout), list[0].endedAt())
		time.Sleep(8 * time.Second) // the second: two of three within ten seconds
		synctest.Wait()
		require.False(t, list[1].ended())
		time.Sleep(timeout + time.Second)
		synctest.Wait()
		require.Equal(t, []string{at(102), at(103)}, w.shown("com.x.S"))
	})
}

// TestSessionsWithoutAddressesExpireOnTime, all at once, and are nobody's mass:
// consumers are not what the guard is about.
func TestSessionsWithoutAddressesExpireOnTime(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		list := make([]*client, 50)
		for i := range list {
			list[i] = w.connect(timeout)
		}
		provider := w.providers(1, apart)[0]
		since := silence(append(list, provider)...)
		time.Sleep(timeout)
		synctest.Wait()
		for _, c := range list {
			require.Equal(t, since.Add(timeout), c.endedAt())
		}
		require.Equal(t, since.Add(timeout), provider.endedAt(), "consumers that fall silent with it do not extend it")
		require.Empty(t, w.shown(apart(1)))
	})
}

// TestStall: when we stood still we heard nobody, so everybody has a whole timeout
// again, once; what dies then is not held.
func TestStall(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		provider, consumer := w.providers(1, apart)[0], w.connect(timeout)
		w.pause() // nothing notes that we run
		since := silence(provider, consumer)
		time.Sleep(timeout)
		synctest.Wait()
		require.False(t, provider.ended())
		require.False(t, consumer.ended())
		w.resume()
		time.Sleep(timeout)
		synctest.Wait()
		require.WithinDuration(t, since.Add(2*timeout), provider.endedAt(), 10*time.Millisecond)
		require.WithinDuration(t, since.Add(2*timeout), consumer.endedAt(), 10*time.Millisecond)
		require.Empty(t, w.guard.Held())
		require.EqualValues(t, 1, w.guard.Stats().Stalls)
	})
}

// TestRestoredSessionsThatNeverComeBack is field report 38: after a restart the
// clients come with new sessions, register after a while, and the sessions of
// before run out all at once. No list is empty in between, and nothing is doubled.
func TestRestoredSessionsThatNeverComeBack(t *testing.T) {
	inWorldOn(t, t.TempDir(), nil, func(t *testing.T, w *world) {
		list := w.providers(2, together)
		silence(list...)
		w.restart()
		require.Equal(t, []string{at(1), at(2)}, w.shown("com.x.S"))
		time.Sleep(timeout + time.Second)
		synctest.Wait()
		require.Len(t, w.shown("com.x.S"), 2)
		fresh := w.connect(timeout)
		require.Error(t, fresh.register("com.x.S", at(1)), "the session of before still has it")
		time.Sleep(timeout)
		synctest.Wait()
		require.Len(t, w.guard.Held(), 2)
		require.NoError(t, fresh.register("com.x.S", at(1)), "adopted")
		require.NoError(t, fresh.register("com.x.S", at(2)))
		require.Empty(t, w.guard.Held())
		require.Equal(t, []string{at(1), at(2)}, w.shown("com.x.S"))
		require.Equal(t, []string{at(1), at(2)}, w.published("com.x.S"))
	})
}

// TestSuspected: what the log may lack has to end, and its addresses are held.
func TestSuspected(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		provider := w.providers(1, apart)[0]
		w.guard.Suspect(provider.session.ID(), "the log may lack something")
		require.True(t, w.sessions.Expire(provider.session))
		_, why := w.heldAt(apart(1), at(1))
		require.Equal(t, "the log may lack something", why)
	})
}

// TestOff: without the guard every removal takes effect at once.
func TestOff(t *testing.T) {
	inWorld(t, func(c *guard.Config) { c.Off = true }, func(t *testing.T, w *world) {
		list := w.providers(10, together)
		w.lists("com.x.N", at(1), at(2), at(3))
		since := silence(list...)
		w.lists("com.x.N")
		require.Empty(t, w.shown("com.x.N"))
		time.Sleep(timeout)
		synctest.Wait()
		require.Equal(t, since.Add(timeout), list[9].endedAt())
		require.Empty(t, w.shown("com.x.S"))
	})
}
