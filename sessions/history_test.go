package sessions_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"zkbridge/sessions"
)

// action is one step of a random history. What it does not need it ignores.
type action struct {
	Kind    string
	Who     int           // index of a session, modulo those there are
	Timeout time.Duration // to be granted
	Wrong   bool          // present a wrong password
	Pause   time.Duration // before the step
}

func actions() *rapid.Generator[[]action] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) action {
		return action{
			Kind:    rapid.SampledFrom([]string{"create", "create", "attach", "attach", "attach", "touch", "touch", "detach", "begin", "finish", "late touch"}).Draw(t, "kind"),
			Who:     rapid.IntRange(0, 5).Draw(t, "who"),
			Timeout: time.Duration(rapid.SampledFrom([]int{1, 2, 3, 5, 8}).Draw(t, "timeout")) * time.Second,
			Wrong:   rapid.IntRange(0, 4).Draw(t, "wrong") == 0,
			Pause:   time.Duration(rapid.SampledFrom([]int{0, 0, 1, 500, 999, 1000, 1001, 2000, 5000}).Draw(t, "pause")) * time.Millisecond,
		}
	}), 1, 60)
}

// subject is what the history knows about a session without asking it.
type subject struct {
	s       *sessions.Session
	passwd  []byte
	seen    time.Time
	timeout time.Duration
	state   string // open, closing, ended
	carrier *conn  // whom the session must be bound to
	conns   []*conn
	ends    int // how many times somebody was told to remove its nodes
	waits   []chan error
}

// history plays actions against a manager and a model of it.
type history struct {
	m   *sessions.Manager
	all []*subject
	by  map[*sessions.Session]*subject
}

// TestHistories: whatever clients and clocks do, no two connections carry one
// session, no session that is closing or has ended is resumed, each ends exactly
// once, and none ends by silence at any other moment than the exact one.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		story := actions().Draw(rt, "story")
		var wrong error
		synctest.Test(t, func(t *testing.T) { wrong = play(t, story) })
		if wrong != nil {
			rt.Fatal(wrong)
		}
	})
}

func play(t *testing.T, story []action) error {
	h := &history{by: make(map[*sessions.Session]*subject)}
	h.m = newManager(t, func(c *sessions.Config) {
		c.Expire = func(s *sessions.Session) { h.by[s].ends++ }
	})
	run(t, h.m)
	for i, a := range story {
		time.Sleep(a.Pause)
		synctest.Wait()
		h.silence()
		if err := h.step(t, a); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, a, err)
		}
		synctest.Wait()
		if err := h.check(); err != nil {
			return fmt.Errorf("after step %d, %+v: %w", i, a, err)
		}
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	h.silence()
	for _, x := range h.all {
		if x.state == "closing" {
			h.finish(x)
		}
	}
	synctest.Wait()
	for i, x := range h.all {
		if x.ends != 1 {
			return fmt.Errorf("session %d ended %d times", i, x.ends)
		}
	}
	return h.check()
}

// silence lets the model's sessions expire.
func (h *history) silence() {
	for _, x := range h.all {
		if x.state == "open" && !time.Now().Before(x.seen.Add(x.timeout)) {
			x.state, x.carrier = "ended", nil
		}
	}
}

func (h *history) step(t *testing.T, a action) error {
	if a.Kind == "create" {
		c := new(conn)
		s, err := h.m.Create(a.Timeout, c)
		if err != nil {
			return err
		}
		if h.by[s] != nil || s.ID() == 0 || s.ID() == sessions.ReservedID(1) {
			return fmt.Errorf("id %v is not a new one", s)
		}
		x := &subject{s: s, passwd: s.Passwd(), seen: time.Now(), timeout: a.Timeout, state: "open", carrier: c, conns: []*conn{c}}
		h.all, h.by[s] = append(h.all, x), x
		return nil
	}
	if len(h.all) == 0 {
		return nil
	}
	x := h.all[a.Who%len(h.all)]
	switch a.Kind {
	case "attach":
		return h.attach(t, x, a)
	case "touch":
		x.s.Touch()
		if x.state == "open" {
			x.seen = time.Now()
		}
	case "late touch": // of the oldest connection; a sign of life all the same
		x.s.Touch()
		h.m.Detach(x.s, new(conn))
		x.seen = time.Now()
	case "detach":
		if x.carrier != nil {
			h.m.Detach(x.s, x.carrier)
			x.carrier.Kick("left")
			x.carrier = nil
		}
	case "begin":
		if won := h.m.BeginEnd(x.s); won != (x.state == "open") {
			return fmt.Errorf("BeginEnd of a session that is %s: %v", x.state, won)
		} else if won {
			x.state = "closing"
			x.ends++
		}
	case "finish":
		h.finish(x)
	}
	return nil
}

func (h *history) finish(x *subject) {
	h.m.Finish(x.s)
	if x.state == "closing" {
		x.state, x.carrier = "ended", nil
	}
}

func (h *history) attach(t *testing.T, x *subject, a action) error {
	c := new(conn)
	passwd := append([]byte(nil), x.passwd...)
	if a.Wrong {
		passwd[0] ^= 1
	}
	if x.state != "ended" {
		x.carrier = nil // kicked in any case
	}
	answer := make(chan error, 1)
	go func() {
		got, err := h.m.Attach(t.Context(), x.s.ID(), passwd, a.Timeout, c)
		if err == nil && got != x.s {
			err = errors.New("attached to another session")
		}
		answer <- err
	}()
	synctest.Wait()
	if x.state == "closing" && !a.Wrong {
		x.waits = append(x.waits, answer)
		return nil
	}
	select {
	case err := <-answer:
		resumed := err == nil
		if resumed != (x.state == "open" && !a.Wrong) || !resumed && !errors.Is(err, sessions.ErrExpired) {
			return fmt.Errorf("attach to a session that is %s: got %w", x.state, err)
		}
		if resumed {
			x.carrier, x.conns = c, append(x.conns, c)
			x.seen, x.timeout = time.Now(), a.Timeout
		}
		return nil
	default:
		return fmt.Errorf("attach to a session that is %s waits", x.state)
	}
}

// check compares everything that can be seen from outside with the model.
func (h *history) check() error {
	var want sessions.Stats
	for i, x := range h.all {
		if got := x.s.Closing(); got != (x.state != "open") {
			return fmt.Errorf("session %d is %s: Closing is %v", i, x.state, got)
		}
		if got := x.s.Ended(); got != (x.state == "ended") {
			return fmt.Errorf("session %d is %s: Ended is %v", i, x.state, got)
		}
		if got := x.s.Connected(); got != (x.carrier != nil) {
			return fmt.Errorf("session %d: Connected is %v", i, got)
		}
		for _, c := range x.conns {
			if c.kicked() != (c != x.carrier) {
				return fmt.Errorf("session %d: a connection was kicked: %v, carries it: %v", i, c.kicked(), c == x.carrier)
			}
		}
		if x.ends > 1 || (x.ends == 1) != (x.state != "open") {
			return fmt.Errorf("session %d is %s and ended %d times", i, x.state, x.ends)
		}
		if x.state == "ended" {
			for _, w := range x.waits {
				if err := <-w; !errors.Is(err, sessions.ErrExpired) {
					return fmt.Errorf("session %d: a client that waited was told %w", i, err)
				}
			}
			x.waits = nil
		}
		switch x.state {
		case "open":
			want.Open++
		case "closing":
			want.Closing++
		}
		if x.carrier != nil {
			want.Connected++
		}
		if len(x.waits) > 0 {
			want.Waiting++
		}
	}
	got := h.m.Stats()
	if got.Open != want.Open || got.Closing != want.Closing || got.Connected != want.Connected || got.Waiting != want.Waiting {
		return fmt.Errorf("stats: got %+v, want %+v", got, want)
	}
	return nil
}
