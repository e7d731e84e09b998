package guard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/guard"
)

// held brings a world to where the only two addresses of a service are held.
func held(t *testing.T, w *world) {
	t.Helper()
	list := w.providers(2, together)
	silence(list...)
	time.Sleep(2*timeout + 100*time.Millisecond)
	synctest.Wait()
	require.Len(t, w.guard.Held(), 2)
	require.Equal(t, []string{at(1), at(2)}, w.shown("com.x.S"))
}

// TestRefusedTwice: nobody listens there, which is evidence: it goes at once, and
// the last one too. Field report 40: protection that never ends is none.
func TestRefusedTwice(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.is(at(1), refusing)
		w.is(at(2), refusing)
		held(t, w)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		require.Empty(t, w.shown("com.x.S"))
		require.Empty(t, w.published("com.x.S"))
		require.Empty(t, w.guard.Held())
		require.EqualValues(t, 2, w.guard.Stats().Ended[guard.Refusal.String()])
	})
}

// TestNoAnswerIsNoEvidence: a host that says nothing and a router that knows no way
// are what a cut looks like.
func TestNoAnswerIsNoEvidence(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.is(at(1), unreachable)
		held(t, w)
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		require.Equal(t, []string{at(1), at(2)}, w.shown("com.x.S"))
		require.EqualValues(t, 0, w.guard.Stats().Refusals)
	})
}

// TestARefusalInBetweenIsForgotten: two in a row are asked for.
func TestARefusalInBetweenIsForgotten(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		held(t, w)
		for range 4 {
			w.is(at(1), refusing)
			w.mu.Lock()
			asked := w.asked[at(1)]
			w.mu.Unlock()
			for now := asked; now == asked; {
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				w.mu.Lock()
				now = w.asked[at(1)]
				w.mu.Unlock()
			}
			w.is(at(1), open)
			time.Sleep(11 * time.Second)
		}
		synctest.Wait()
		require.Contains(t, w.shown("com.x.S"), at(1))
	})
}

// TestTimeOut: what says nothing for guard.hold goes, never more of a service than
// the cap, and its last address after guard.holdMax. Field report 40.
func TestTimeOut(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		held(t, w)
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		require.Len(t, w.shown("com.x.S"), 2)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, w.shown("com.x.S"), 1, "half of two may go at once")
		require.WithinDuration(t, w.guard.Held()[0].Since.Add(time.Hour), w.guard.Held()[0].Until, time.Second)
		time.Sleep(49 * time.Minute)
		synctest.Wait()
		require.Len(t, w.shown("com.x.S"), 1)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Empty(t, w.shown("com.x.S"))
		require.EqualValues(t, 2, w.guard.Stats().Ended[guard.TimeOut.String()])
	})
}

// TestAnsweredProbes renew the time up to guard.holdMax.
func TestAnsweredProbes(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.is(at(1), open)
		w.is(at(2), open)
		held(t, w)
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		require.Len(t, w.shown("com.x.S"), 2)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Empty(t, w.shown("com.x.S"))
	})
}

// TestOneProbeAnAddress: a process with many services is asked once for all of
// them.
func TestOneProbeAnAddress(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		list := []*client{w.connect(timeout), w.connect(timeout), w.connect(timeout)}
		for n, c := range list {
			for i := range 20 {
				require.NoError(t, c.register(apart(i), at(n)))
			}
		}
		silence(list...)
		time.Sleep(2*timeout + 2*time.Second)
		synctest.Wait()
		require.Len(t, w.guard.Held(), 60)
		w.mu.Lock()
		require.LessOrEqual(t, w.asked[at(0)], 2)
		w.mu.Unlock()
		w.is(at(0), refusing)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		require.Len(t, w.guard.Held(), 40)
	})
}

// TestProbesAreBounded: never more at a time than the configuration says.
func TestProbesAreBounded(t *testing.T) {
	inWorld(t, func(c *guard.Config) { c.Probes = 4 }, func(t *testing.T, w *world) {
		list := w.providers(40, apart)
		silence(list...)
		time.Sleep(2*timeout + 3*time.Second)
		synctest.Wait()
		require.Len(t, w.guard.Held(), 40)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.LessOrEqual(t, len(w.asked), 16, "four a second, where none is answered")
	})
}

// TestAdoption: whoever creates the name has it, and nothing that is late hits it.
func TestAdoption(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		held(t, w)
		old := w.book.Held()[0]
		fresh := w.connect(timeout)
		require.NoError(t, fresh.register("com.x.S", at(1)))
		require.Equal(t, []string{at(1), at(2)}, w.shown("com.x.S"))
		require.False(t, w.book.Drop(old.Path, old.Generation, "late"), "of an older generation")
		w.is(at(1), refusing) // whatever the probe says: it is claimed
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{at(1)}, w.shown("com.x.S"))
		require.EqualValues(t, 1, w.guard.Stats().Ended[guard.Adopted.String()])
		fresh.close()
		synctest.Wait()
		require.Empty(t, w.shown("com.x.S"), "it is an ordinary session's again")
	})
}

// TestDeletedByAClient: whoever may delete the node ends it at once. Field report 8.
func TestDeletedByAClient(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.is(at(1), open)
		held(t, w)
		require.NoError(t, w.remove(pathOf("com.x.S", at(1))))
		require.Equal(t, []string{at(2)}, w.shown("com.x.S"))
		require.Equal(t, []string{at(2)}, w.published("com.x.S"))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{at(2)}, w.shown("com.x.S"))
		require.EqualValues(t, 1, w.guard.Stats().Ended[guard.Word.String()])
	})
}

// TestOperator keeps one against everything, and drops the other.
func TestOperator(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		held(t, w)
		key := pathOf("com.x.S", at(1))
		require.NoError(t, w.guard.Keep(key))
		require.NoError(t, w.guard.Drop(pathOf("com.x.S", at(2))))
		require.Equal(t, []string{at(1)}, w.shown("com.x.S"))
		w.is(at(1), refusing)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		require.Equal(t, []string{at(1)}, w.shown("com.x.S"))
		require.True(t, w.guard.Held()[0].Kept)
		require.NoError(t, w.guard.Drop(key))
		require.Empty(t, w.shown("com.x.S"))
		require.ErrorContains(t, w.guard.Keep(key), "nothing is held under")
		require.ErrorContains(t, w.guard.Drop(key), "nothing is held under")
		require.EqualValues(t, 2, w.guard.Stats().Ended[guard.Operator.String()])
	})
}

// TestRestartWithHeldClaims: what is held stays held, and its time begins anew.
func TestRestartWithHeldClaims(t *testing.T) {
	inWorldOn(t, t.TempDir(), nil, func(t *testing.T, w *world) {
		held(t, w)
		before := w.book.Held()
		time.Sleep(5 * time.Minute)
		w.restart()
		after := w.book.Held()
		require.Len(t, after, 2)
		for i := range before {
			require.Equal(t, before[i].Path, after[i].Path)
			require.Equal(t, before[i].Why, after[i].Why)
			require.Equal(t, before[i].Generation.Czxid, after[i].Generation.Czxid)
		}
		require.Equal(t, []string{at(1), at(2)}, w.shown("com.x.S"))
		require.Equal(t, []string{at(1), at(2)}, w.published("com.x.S"))
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		require.Len(t, w.shown("com.x.S"), 2)
		w.is(at(1), refusing)
		w.is(at(2), refusing)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Empty(t, w.shown("com.x.S"))
		w.restart()
		require.Empty(t, w.shown("com.x.S"), "what has ended does not come back")
	})
}

// TestHeldIsExplained: with its reason.
func TestHeldIsExplained(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		held(t, w)
		text := w.book.Explain(pathOf("com.x.S", at(1))).String()
		require.Contains(t, text, "held: ")
		require.Contains(t, text, "silent at once")
		require.Contains(t, text, "owner: the bridge, which holds it")
		require.Contains(t, text, "shown to ZooKeeper clients: a client created it, and it is held.")
		require.Contains(t, text, "published: as 10.0.0.1:20880")

		w.lists(iface, ats(11, 12)...)
		w.guard.Link(true)
		w.guard.Link(false)
		w.lists(iface)
		text = w.book.Explain(dirOf(iface)).String()
		require.Contains(t, text, "held: the link to the registry is lost.")
		require.Contains(t, text, "an instance that the registry lists no more, and is held")
	})
}
