package sessions_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/sessions"
)

// TestExpiryIsExact: neither before the timeout nor at the tick after it.
func TestExpiryIsExact(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 4 * time.Second, 4001 * time.Millisecond, 12345678901, 40 * time.Second} {
		t.Run(timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var expired []time.Time
				m := newManager(t, func(c *sessions.Config) {
					c.Expire = func(*sessions.Session) { expired = append(expired, time.Now()) }
				})
				run(t, m)
				start := time.Now()
				s, c := create(t, m, timeout)
				at(start, timeout-1)
				require.False(t, s.Closing())
				at(start, timeout)
				require.Equal(t, []time.Time{start.Add(timeout)}, expired)
				require.True(t, s.Ended())
				require.True(t, c.kicked())
				at(start, 10*timeout)
				require.Len(t, expired, 1)
			})
		})
	}
}

// TestSignsOfLife: only a silent session expires, and its time counts from its
// last sign of life.
func TestSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t)
		run(t, m)
		start := time.Now()
		quiet, _ := create(t, m, 30*time.Second)
		alive, _ := create(t, m, 30*time.Second)
		for i := range 6 {
			at(start, time.Duration(i+1)*10*time.Second)
			require.Equal(t, 10*time.Second, alive.Touch(), "the silence that a touch ends")
		}
		require.True(t, quiet.Ended())
		require.False(t, alive.Closing())
		require.Equal(t, start.Add(60*time.Second), alive.LastSeen())
		require.Equal(t, start, alive.Established())
		at(start, 90*time.Second-1)
		require.False(t, alive.Closing())
		at(start, 90*time.Second)
		require.True(t, alive.Ended())
		require.Equal(t, uint64(2), m.Stats().Expired)
	})
}

// TestAttachChangesTheTimeout: the one granted to the newest connection counts,
// from the moment of the attach, be it shorter or longer.
func TestAttachChangesTheTimeout(t *testing.T) {
	for _, tc := range []struct {
		name          string
		first, second time.Duration
	}{
		{"shorter", 40 * time.Second, 4 * time.Second},
		{"longer", 4 * time.Second, 40 * time.Second},
		{"the same", 10 * time.Second, 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newManager(t)
				run(t, m)
				start := time.Now()
				s, c := create(t, m, tc.first)
				at(start, time.Second)
				m.Detach(s, c)
				at(start, 3*time.Second)
				_, err := m.Attach(t.Context(), s.ID(), s.Passwd(), tc.second, new(conn))
				require.NoError(t, err)
				at(start, 3*time.Second+tc.second-1)
				require.False(t, s.Closing())
				at(start, 3*time.Second+tc.second)
				require.True(t, s.Ended())
			})
		})
	}
}

// TestExpiryNeedsNoConnection: a connection that is there does not keep a silent
// session alive, and one that is not does not end it.
//
// Pitfall P32: a lost connection is not a lost session.
func TestExpiryNeedsNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t)
		run(t, m)
		start := time.Now()
		s, c := create(t, m, 10*time.Second)
		m.Detach(s, c)
		at(start, 9*time.Second)
		s.Touch() // a request of the lost connection that was still on its way
		at(start, 18*time.Second)
		require.False(t, s.Closing())
		at(start, 19*time.Second)
		require.True(t, s.Ended())
		require.False(t, c.kicked())
	})
}

// TestOrderOfExpiry: while its nodes are being removed a session is closing, its
// connection is still there, and those behind it in the line are still open.
func TestOrderOfExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m *sessions.Manager
		var first, second, third *sessions.Session
		var c *conn
		m = newManager(t, func(cfg *sessions.Config) {
			cfg.Expire = func(s *sessions.Session) {
				if s == first {
					require.True(t, s.Closing())
					require.False(t, s.Ended())
					require.False(t, c.kicked())
					require.False(t, m.BeginEnd(s))
					require.False(t, second.Closing())
					time.Sleep(time.Second) // a large session
					third.Touch()
				}
			}
		})
		start := time.Now()
		first, c = create(t, m, 10*time.Second)
		time.Sleep(time.Millisecond)
		second, _ = create(t, m, 10*time.Second)
		third, _ = create(t, m, 10*time.Second)
		run(t, m)
		at(start, 11*time.Second)
		require.True(t, first.Ended())
		require.True(t, second.Ended())
		require.False(t, third.Closing(), "it spoke before its turn came")
		at(start, 21*time.Second)
		require.True(t, third.Ended())
	})
}

func TestClosedSessionDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, func(c *sessions.Config) {
			c.Expire = func(s *sessions.Session) { t.Errorf("session %v expired", s) }
		})
		run(t, m)
		s, _ := create(t, m, 4*time.Second)
		require.True(t, m.BeginEnd(s))
		time.Sleep(time.Minute)
		require.False(t, s.Ended())
		m.Finish(s)
		time.Sleep(time.Minute)
	})
}

// TestRunFindsWhatWaits: sessions that fell due while nobody ran are over as
// soon as Run starts.
func TestRunFindsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t)
		s, _ := create(t, m, 4*time.Second)
		time.Sleep(time.Minute)
		require.False(t, s.Closing())
		run(t, m)
		synctest.Wait()
		require.True(t, s.Ended())
	})
}

// verdict is an authority's answer.
type verdict struct {
	over bool
	err  error
}

// authority answers with what is sent to it, and says whom it was asked about.
type authority struct {
	asked   chan *sessions.Session
	answers chan verdict
}

func newAuthority() *authority {
	return &authority{asked: make(chan *sessions.Session, 1000), answers: make(chan verdict, 1000)}
}

func (a *authority) Over(ctx context.Context, s *sessions.Session) (bool, error) {
	a.asked <- s
	select {
	case v := <-a.answers:
		return v.over, v.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func TestAuthority(t *testing.T) {
	const timeout = 10 * time.Second
	for _, tc := range []struct {
		name string
		// story is told from the moment the session is due and the authority is
		// being asked.
		story func(t *testing.T, start time.Time, m *sessions.Manager, a *authority, s *sessions.Session)
		over  time.Duration // when the session must be over, since start
	}{
		{"says yes", func(t *testing.T, start time.Time, _ *sessions.Manager, a *authority, s *sessions.Session) {
			at(start, timeout+2*time.Second)
			require.False(t, s.Closing(), "due is not over")
			a.answers <- verdict{over: true}
		}, timeout + 2*time.Second},
		{"says yes, but a touch came between due and verdict", func(t *testing.T, start time.Time, _ *sessions.Manager, a *authority, s *sessions.Session) {
			at(start, timeout+time.Second)
			s.Touch()
			at(start, timeout+2*time.Second)
			a.answers <- verdict{over: true}
			synctest.Wait()
			require.False(t, s.Closing())
			require.Empty(t, a.asked)
			a.answers <- verdict{over: true}
		}, timeout + time.Second + timeout},
		{"says yes, but an attach came between due and verdict", func(t *testing.T, start time.Time, m *sessions.Manager, a *authority, s *sessions.Session) {
			at(start, timeout+time.Second)
			_, err := m.Attach(t.Context(), s.ID(), s.Passwd(), time.Second, new(conn))
			require.NoError(t, err)
			// The new timeout has passed too, but the answer is about the old silence.
			at(start, timeout+4*time.Second)
			a.answers <- verdict{over: true}
			synctest.Wait()
			require.False(t, s.Closing())
			require.Len(t, a.asked, 1, "the new silence is a new question")
			a.answers <- verdict{over: true}
		}, timeout + 4*time.Second},
		{"says no", func(t *testing.T, start time.Time, _ *sessions.Manager, a *authority, s *sessions.Session) {
			at(start, timeout+2*time.Second)
			a.answers <- verdict{over: false}
			at(start, timeout+2*time.Second+timeout-1)
			require.Empty(t, a.asked)
			a.answers <- verdict{over: true}
		}, timeout + 2*time.Second + timeout},
		{"does not know", func(t *testing.T, start time.Time, m *sessions.Manager, a *authority, s *sessions.Session) {
			a.answers <- verdict{err: errors.New("ensemble away")}
			synctest.Wait()
			require.False(t, s.Closing())
			require.Empty(t, a.asked)
			a.answers <- verdict{err: errors.New("ensemble away")}
			at(start, timeout+time.Second)
			require.Len(t, a.asked, 1)
			require.Equal(t, uint64(2), m.Stats().Unanswered)
			a.answers <- verdict{over: true}
		}, timeout + 2*time.Second},
		{"never answers", func(t *testing.T, start time.Time, m *sessions.Manager, a *authority, s *sessions.Session) {
			at(start, timeout+5*time.Second) // the question is given up
			require.Equal(t, uint64(1), m.Stats().Unanswered)
			require.False(t, s.Closing())
			a.answers <- verdict{over: true}
		}, timeout + 6*time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority()
				m := newManager(t, func(c *sessions.Config) { c.Authority = a })
				run(t, m)
				start := time.Now()
				s, _ := create(t, m, timeout)
				at(start, timeout-1)
				require.Empty(t, a.asked)
				at(start, timeout)
				require.Same(t, s, <-a.asked)
				require.Equal(t, 1, m.Stats().Asking)

				tc.story(t, start, m, a, s)
				if left := tc.over - time.Since(start); left > 0 {
					at(start, tc.over-1)
					require.False(t, s.Closing())
				}
				at(start, tc.over)
				require.True(t, s.Ended())
				require.Equal(t, uint64(1), m.Stats().Expired)
				require.Zero(t, m.Stats().Asking)
			})
		})
	}
}

// TestClosedWhileAsked: a client's own end is not done twice.
func TestClosedWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority()
		m := newManager(t, func(c *sessions.Config) {
			c.Authority = a
			c.Expire = func(s *sessions.Session) { t.Errorf("session %v expired", s) }
		})
		run(t, m)
		s, _ := create(t, m, 4*time.Second)
		time.Sleep(5 * time.Second)
		require.Same(t, s, <-a.asked)
		require.True(t, m.BeginEnd(s))
		a.answers <- verdict{over: true}
		synctest.Wait()
		require.False(t, s.Ended())
		m.Finish(s)
		require.Zero(t, m.Stats().Expired)
	})
}

// TestSlowAuthority: a question without an answer delays neither other sessions'
// questions nor the end of Run, and a backlog is asked about in its turn.
func TestSlowAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority()
		m := newManager(t, func(c *sessions.Config) { c.Authority = a })
		run(t, m)
		const n = 600 // more than may be asked about at a time
		all := make([]*sessions.Session, n)
		start := time.Now()
		for i := range all {
			all[i], _ = create(t, m, 4*time.Second)
		}
		at(start, 4*time.Second)
		require.Len(t, a.asked, 256)
		require.Equal(t, n, m.Stats().Asking)

		for range n - 1 {
			a.answers <- verdict{over: true}
		}
		synctest.Wait()
		require.Equal(t, uint64(n-1), m.Stats().Expired)
		require.Equal(t, 1, m.Stats().Asking)
		require.Equal(t, 1, m.Stats().Open)
	})
}

// TestBacklogIsNotAskedInVain: a session that speaks or closes before its
// question is put needs none.
func TestBacklogIsNotAskedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority()
		m := newManager(t, func(c *sessions.Config) { c.Authority = a })
		run(t, m)
		start := time.Now()
		for range 256 {
			create(t, m, 4*time.Second)
		}
		at(start, time.Second)
		speaks, _ := create(t, m, 4*time.Second)
		closes, _ := create(t, m, 4*time.Second)
		at(start, 5*time.Second)
		require.Len(t, a.asked, 256)
		at(start, 6*time.Second)
		speaks.Touch()
		require.True(t, m.BeginEnd(closes))
		m.Finish(closes)
		for range 256 {
			a.answers <- verdict{over: true}
		}
		at(start, 10*time.Second-1)
		require.Len(t, a.asked, 256)
		at(start, 10*time.Second)
		require.Len(t, a.asked, 257)
		a.answers <- verdict{over: true}
		synctest.Wait()
		require.True(t, speaks.Ended())
		require.Equal(t, uint64(257), m.Stats().Expired)
	})
}

// TestLateTouchCountsToTheNanosecond: a session that is looked at a moment before
// its new deadline is left alone.
func TestLateTouchCountsToTheNanosecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t)
		run(t, m)
		start := time.Now()
		s, _ := create(t, m, 4*time.Second)
		at(start, 1)
		s.Touch()
		at(start, 4*time.Second)
		require.False(t, s.Closing())
		at(start, 4*time.Second+1)
		require.True(t, s.Ended())
	})
}

// TestSilenceOfTheAuthorityIsLoggedOnce: one line when it begins, one when it is
// over, however many sessions wait.
func TestSilenceOfTheAuthorityIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := newAuthority()
		m := newManager(t, func(c *sessions.Config) {
			c.Authority = a
			c.Log = slog.New(slog.NewTextHandler(&out, nil))
		})
		run(t, m)
		start := time.Now()
		for range 3 {
			create(t, m, 4*time.Second)
		}
		for range 6 {
			a.answers <- verdict{err: errors.New("ensemble away")}
		}
		at(start, 5*time.Second)
		for range 3 {
			a.answers <- verdict{over: true}
		}
		at(start, 6*time.Second)
		require.Equal(t, uint64(3), m.Stats().Expired)
		require.Equal(t, 1, strings.Count(out.String(), `level=WARN msg="nobody can say whether a silent session is over; it stays open" session=0x1000007`), out.String())
		require.Contains(t, out.String(), `error="ensemble away"`)
		require.Equal(t, 1, strings.Count(out.String(), `level=INFO msg="silent sessions can be judged again"`), out.String())
	})
}
