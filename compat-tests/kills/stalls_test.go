//go:build compat

package kills

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/observer"
)

const (
	stallTimeout = 4 * time.Second // of every session
	short        = 2 * time.Second
	long         = 2*stallTimeout + 2*time.Second
	probes       = time.Second     // between two of the guard's
	slack        = 2 * time.Second // for what nobody promises to the millisecond
)

// stage is four providers of one service and one of another: two of the four and
// the one behind the first relay, two behind the second.
type stage struct {
	*play
	relays [2]*control.Relay
	whole  []string // addresses of the first service
}

// TestStalls: what a stall of the server, a cut of all links or of half of them, and
// true deaths do to the lists. On a real server the same is done first, and logged:
// what the bridge does otherwise is that it holds what it cannot know about.
func TestStalls(t *testing.T) {
	for _, kind := range []control.Kind{control.ZooKeeper, control.Bridge} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				name string
				do   func(*stage)
			}{
				{"the server stands still for two timeouts", (*stage).stopServer},
				{"all links are cut for less than the timeout", (*stage).cutShort},
				{"all links are cut for longer than the timeout", (*stage).cutAll},
				{"half of the links are cut for longer than the timeout", (*stage).cutHalf},
				{"one of four dies", (*stage).killOne},
				{"three of four die at once", (*stage).killMost},
			} {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					perform(t, kind, c.do)
				})
			}
		})
	}
}

func perform(t *testing.T, kind control.Kind, do func(*stage)) {
	s := &stage{play: &play{T: t, history: &history{}, lists: map[observer.Side]int{}}}
	s.target = control.Start(t, kind, control.Options{
		MinSession: stallTimeout, MaxSession: stallTimeout,
		Bridge: []string{"guard:", fmt.Sprintf("  probeInterval: %v", probes), "  probeTimeout: 500ms"},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	z := &observer.ZooKeeper{Addr: s.target.Addr(), Root: "/dubbo", To: s.history}
	running.Go(func() {
		if err := z.Run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("the observer: %v", err)
		}
	})
	for i := range s.relays {
		relay, err := control.NewRelay("", s.target.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer relay.Close()
		s.relays[i] = relay
	}
	for i := range 5 {
		service := services[0]
		if i == 4 {
			service = services[1]
		}
		a, err := newApp(s.play, fmt.Sprintf("app-%d", i), dubbo, service)
		if err != nil {
			t.Fatal(err)
		}
		a.server, a.timeout = s.relays[i%2].Addr(), stallTimeout
		a.mu.Lock()
		err = a.born()
		a.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		defer a.end()
		s.apps = append(s.apps, a)
		if i < 4 {
			s.whole = append(s.whole, a.address)
		}
	}
	slices.Sort(s.whole)
	s.await(5*time.Second, s.whole)
	do(s)
}

// real tells whether this is the real server: of it is only told what it does.
func (s *stage) real() bool { return s.target.Name() == string(control.ZooKeeper) }

func (s *stage) list() []string {
	list, _ := s.history.last(observer.ZooKeeperSide, services[0]+"::")
	return list
}

// await waits until the list is want.
func (s *stage) await(limit time.Duration, want []string) {
	s.Helper()
	for end := time.Now().Add(limit); !slices.Equal(s.list(), want); {
		if time.Now().After(end) {
			s.Fatalf("after %v the list is %v, want %v", limit, s.list(), want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// watched does something and goes on looking for a time after. It returns when, from
// the start, each address was missing for the first time.
func (s *stage) watched(do func(), after time.Duration) map[string]time.Duration {
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
		time.Sleep(after)
	}()
	missing := map[string]time.Duration{}
	for {
		list := s.list()
		for _, a := range s.whole {
			if _, known := missing[a]; !known && !slices.Contains(list, a) {
				missing[a] = time.Since(began)
			}
		}
		select {
		case <-done:
			s.Logf("%s: of %d providers %d were away, the first of them after %v", s.target.Name(), len(s.whole), len(missing), first(missing))
			return missing
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func first(m map[string]time.Duration) string {
	if len(m) == 0 {
		return "never"
	}
	return slices.Min(slices.Collect(maps.Values(m))).Round(10 * time.Millisecond).String()
}

// unharmed fails if somebody was away.
func (s *stage) unharmed(missing map[string]time.Duration) {
	s.Helper()
	if len(missing) > 0 && !s.real() {
		s.Errorf("providers that live were away: %v", missing)
	}
}

// lost is how many living clients were told that their session has expired.
func (s *stage) lost() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults)
}

func (s *stage) stopServer() {
	missing := s.watched(func() {
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			if err := syscall.Kill(s.target.Pid(), sig); err != nil {
				s.Error(err)
			}
			if sig == syscall.SIGSTOP {
				time.Sleep(2 * stallTimeout)
			}
		}
	}, 2*stallTimeout+slack)
	s.unharmed(missing)
	s.Logf("%s: %d sessions were lost", s.target.Name(), s.lost())
	if !s.real() && s.lost() > 0 {
		s.Errorf("%d sessions were ended because the bridge itself stood still: %v", s.lost(), s.faults)
	}
	s.await(slack, s.whole)
}

func (s *stage) cut(d time.Duration, relays ...*control.Relay) {
	for _, r := range relays {
		r.Refuse()
	}
	time.Sleep(d)
	for _, r := range relays {
		if err := r.Accept(); err != nil {
			s.Error(err)
		}
	}
}

func (s *stage) cutShort() {
	missing := s.watched(func() { s.cut(short, s.relays[:]...) }, stallTimeout+slack)
	if len(missing)+s.lost() > 0 {
		s.Errorf("a cut of %v with sessions of %v: %v were away, %d sessions lost", short, stallTimeout, missing, s.lost())
	}
}

// cutAll: the sessions end, for the clients are told the truth, but the addresses
// stay until they are claimed anew.
func (s *stage) cutAll() {
	missing := s.watched(func() { s.cut(long, s.relays[:]...) }, stallTimeout+slack)
	s.unharmed(missing)
	s.Logf("%s: %d sessions were lost", s.target.Name(), s.lost())
	s.await(wellLimit, s.whole)
}

func (s *stage) cutHalf() {
	missing := s.watched(func() { s.cut(long, s.relays[0]) }, stallTimeout+slack)
	s.unharmed(missing)
	s.await(wellLimit, s.whole)
}

// killOne: a single expiry passes, as on the real server.
func (s *stage) killOne() {
	dead := s.apps[1]
	missing := s.watched(func() { s.kill(dead) }, stallTimeout+2*slack+2*time.Second)
	at, gone := missing[dead.address]
	switch {
	case !gone || len(missing) != 1:
		s.Errorf("%v went, want %s alone", missing, dead.address)
	case at < stallTimeout-2*time.Second: // its last ping may be a third of the timeout old
		s.Errorf("it went %v after its death, with a session of %v", at, stallTimeout)
	case !s.real() && at > stallTimeout+slack:
		s.Errorf("it went %v after its death, with a session of %v", at, stallTimeout)
	}
}

// killMost: the silence of most is suspicious, so their deadlines are extended; two
// refused probes then show that it is true.
func (s *stage) killMost() {
	dead := s.apps[:3]
	missing := s.watched(func() {
		for _, a := range dead {
			s.kill(a)
		}
	}, 2*stallTimeout+2*probes+2*slack+2*time.Second)
	for _, a := range dead {
		at, gone := missing[a.address]
		if !gone {
			s.Errorf("%s is still there", a.address)
		} else if !s.real() && at > 2*stallTimeout+2*probes+2*slack {
			s.Errorf("%s went %v after its death", a.address, at)
		}
	}
	if _, gone := missing[s.apps[3].address]; gone {
		s.Errorf("%s lives and was away", s.apps[3].address)
	}
}

func (s *stage) kill(a *app) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.die()
	a.stop = nil // it is not ended twice
}
