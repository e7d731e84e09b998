package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

// world is a registry behind HTTP and one Remote, in the bubble of a test, with
// the times that a user gets by default.
type world struct {
	t    *testing.T
	cfg  embedded.Config
	http embedded.HTTPConfig
	road *road
	reg  *embedded.Registry
	stop func() // ends the registry
	c    *embedded.Remote
}

func newWorld(t *testing.T, cfg embedded.Config, remote embedded.RemoteConfig) *world {
	w := &world{t: t, cfg: cfg, road: newRoad()}
	w.start()
	if remote.Owner == (rc.Owner{}) {
		remote.Owner = bridge
	}
	remote.Dial = w.road.dial
	var err error
	w.c, err = embedded.NewRemote(remote)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.c.Run(ctx); err != nil {
			t.Errorf("got error %v from Run, want nil", err)
		}
	})
	t.Cleanup(func() {
		w.road.cut()
		w.stop()
		cancel()
		running.Wait()
	})
	return w
}

func (w *world) start() {
	reg, stop := startStop(w.t, w.cfg)
	ln := newListener()
	ctx, cancel := context.WithCancel(w.t.Context())
	var serving sync.WaitGroup
	cfg := w.http
	cfg.Listener = ln
	serving.Go(func() {
		if err := embedded.ServeHTTP(ctx, reg, cfg); err != nil {
			w.t.Errorf("got error %v from ServeHTTP, want nil", err)
		}
	})
	w.reg = reg
	w.stop = func() {
		stop()
		cancel()
		serving.Wait()
	}
	w.road.to(ln)
}

// kill ends the registry; nothing is said to anybody.
func (w *world) kill() {
	w.road.cut()
	w.stop()
}

func (w *world) publish(generation uint64, name string, list ...rc.Instance) error {
	return w.c.Publish(w.t.Context(), rc.Publication{Owner: bridge, Service: service(name), Generation: generation, Instances: list})
}

func (w *world) register(name, ip string, ttl time.Duration) {
	w.t.Helper()
	_, err := w.reg.Register(service(name), native(ip, 1), ttl)
	require.NoError(w.t, err)
}

// link waits until nothing more happens at this moment and compares the link.
func (w *world) link(up bool, reason string) {
	w.t.Helper()
	synctest.Wait()
	s := w.c.LinkState()
	require.Equal(w.t, up, s.Up, "link: %v", s)
	require.Contains(w.t, s.Reason, reason)
}

// held gives what the registry itself shows.
func (w *world) held(name string) string {
	w.t.Helper()
	return fmt.Sprint(listOf(w.reg, service(name)))
}

func TestRemoteExpiryIsPushedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{})
		seen := follow(t, w.c, service("s"))
		time.Sleep(time.Second)
		began := time.Now()
		w.register("s", "10.0.0.1", 10*time.Second)
		time.Sleep(time.Second)
		at := seen.shows(t, "10.0.0.1:1")
		assert.Less(t, at.Sub(began), 20*time.Millisecond, "arrival of the registration")
		time.Sleep(20 * time.Second)
		at = seen.shows(t, "")
		assert.InDelta(t, 10*time.Second, at.Sub(began), float64(20*time.Millisecond), "arrival of the expiry")
	})
}

func TestRemoteKeepsItsLeaseForHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{})
		require.NoError(t, w.publish(1, "s", native("10.0.0.1", 1)))
		seen := follow(t, w.c, service("s"))
		time.Sleep(2 * time.Hour)
		seen.shows(t, "10.0.0.1:1")
		assert.Len(t, seen.calls, 1)
		assert.Zero(t, w.c.Stats().Reconnects)
	})
}

// A registry that forgot everything comes back. What others registered is not
// taken as gone until the registry has had the time to hear of them.
func TestForgetfulRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{})
		require.NoError(t, w.publish(1, "s", native("10.0.0.9", 1)))
		w.register("s", "10.0.0.1", time.Hour)
		w.register("s", "10.0.0.2", time.Hour)
		w.register("gone", "10.0.0.3", time.Hour)
		seen, gone := follow(t, w.c, service("s")), follow(t, w.c, service("gone"))
		time.Sleep(time.Second)
		seen.shows(t, "10.0.0.1:1 10.0.0.2:1 10.0.0.9:1")

		w.kill()
		time.Sleep(5 * time.Minute)
		w.link(false, "connection refused")
		seen.shows(t, "10.0.0.1:1 10.0.0.2:1 10.0.0.9:1")
		w.start()
		back := time.Now()
		time.Sleep(3 * time.Second) // the longest pause between two tries is two
		w.link(true, "")
		require.Contains(t, w.held("s"), "10.0.0.9", "our own publication is back")
		seen.shows(t, "10.0.0.1:1 10.0.0.2:1 10.0.0.9:1")
		w.register("s", "10.0.0.1", time.Hour) // one comes back, and goes for good
		time.Sleep(time.Second)
		require.NoError(t, w.reg.Deregister(service("s"), "10.0.0.1:1"))
		time.Sleep(time.Second)
		seen.shows(t, "10.0.0.2:1 10.0.0.9:1")
		gone.shows(t, "10.0.0.3:1")
		time.Sleep(30*time.Second - time.Since(back) - 100*time.Millisecond)
		seen.shows(t, "10.0.0.2:1 10.0.0.9:1")
		gone.shows(t, "10.0.0.3:1")
		time.Sleep(200 * time.Millisecond)
		seen.shows(t, "10.0.0.9:1")
		gone.shows(t, "")
	})
}

// Two forgetful restarts in a row, the second before the first is settled.
func TestForgetfulRestartTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{})
		w.register("s", "10.0.0.1", time.Hour)
		seen := follow(t, w.c, service("s"))
		time.Sleep(time.Second)
		for range 2 {
			w.kill()
			time.Sleep(time.Second)
			w.start()
			time.Sleep(20 * time.Second)
			seen.shows(t, "10.0.0.1:1")
		}
		w.register("s", "10.0.0.1", time.Hour)
		time.Sleep(time.Minute)
		seen.shows(t, "10.0.0.1:1")
		for _, s := range seen.calls {
			require.Len(t, s.Instances, 1)
		}
	})
}

func TestRestartWithdrawsWhatTheSnapshotStillHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		w := newWorld(t, embedded.Config{Disk: disk}, embedded.RemoteConfig{})
		require.NoError(t, w.publish(1, "s", native("10.0.0.1", 1)))
		time.Sleep(time.Second)
		stale, err := disk.Load()
		require.NoError(t, err)
		require.NoError(t, w.publish(2, "s"))
		w.kill()
		require.NoError(t, disk.Save(stale)) // the crash came before the next snapshot
		w.start()
		require.Contains(t, w.held("s"), "10.0.0.1")
		time.Sleep(11 * time.Second) // nothing is followed, so the next renewal finds out
		w.link(true, "")
		require.Equal(t, "[]", w.held("s"))
	})
}

// The link is cut without anybody being told, for longer than the lease.
func TestSilentCutLongerThanTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{})
		require.NoError(t, w.publish(1, "s", native("10.0.0.1", 1)))
		w.register("s", "10.0.0.2", time.Hour)
		seen := follow(t, w.c, service("s"))
		time.Sleep(time.Minute)
		w.link(true, "")
		w.road.freeze()
		time.Sleep(16 * time.Second)
		w.link(false, "") // silence is noticed within 15 s
		time.Sleep(time.Minute)
		require.NotContains(t, w.held("s"), "10.0.0.1", "the lease has lapsed")
		seen.shows(t, "10.0.0.1:1 10.0.0.2:1")
		require.ErrorIs(t, w.publish(2, "t", native("10.0.0.1", 1)), rc.ErrUnavailable)
		w.register("s", "10.0.0.3", time.Hour)
		w.road.thaw()
		time.Sleep(8 * time.Second) // a try that hangs in the cut ends after 5 s
		w.link(true, "")
		require.Contains(t, w.held("s"), "10.0.0.1")
		seen.shows(t, "10.0.0.1:1 10.0.0.2:1 10.0.0.3:1")
	})
}

func TestResumedStreamBringsOnlyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{})
		for n := range 20 {
			w.register(fmt.Sprint("s", n), "10.0.0.1", time.Hour)
		}
		quiet, busy, ended := follow(t, w.c, service("s1")), follow(t, w.c, service("s2")), follow(t, w.c, service("s3"))
		time.Sleep(time.Minute)
		ended.shows(t, "10.0.0.1:1")
		before := len(quiet.calls)
		w.road.cut()
		w.register("s2", "10.0.0.2", time.Hour)
		require.NoError(t, w.reg.Deregister(service("s3"), "10.0.0.1:1"))
		time.Sleep(2 * time.Minute) // the name of s3 is gone as well
		w.road.to(w.listener())
		time.Sleep(5 * time.Second)
		w.link(true, "")
		busy.shows(t, "10.0.0.1:1 10.0.0.2:1")
		ended.shows(t, "")
		assert.Len(t, quiet.calls, before)
	})
}

// listener gives the registry a second way in.
func (w *world) listener() *listener {
	ln := newListener()
	ctx, cancel := context.WithCancel(w.t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { embedded.ServeHTTP(ctx, w.reg, embedded.HTTPConfig{Listener: ln}) })
	w.t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	return ln
}

func TestWrongTokenIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, road: newRoad(), http: embedded.HTTPConfig{Token: "right"}}
		w.start()
		defer w.kill()
		c, err := embedded.NewRemote(embedded.RemoteConfig{Owner: bridge, Token: "wrong", Dial: w.road.dial})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		time.Sleep(time.Second)
		w.c = c
		w.link(false, "the token is missing or wrong; send the header")
		require.ErrorIs(t, w.publish(1, "s"), rc.ErrDenied)
		cancel()
		running.Wait()
	})
}

func TestReplacedBridgeIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{})
		time.Sleep(time.Second)
		w.link(true, "")
		next := bridge
		next.Incarnation++
		_, err := w.reg.Renew(next, time.Minute)
		require.NoError(t, err)
		time.Sleep(11 * time.Second)
		w.link(false, "was replaced by incarnation 2; if two bridges run with the same id")
		require.ErrorIs(t, w.publish(1, "s", native("10.0.0.1", 1)), rc.ErrStale)
	})
}

// A bridge that never gets a lease, such as one whose data directory was lost,
// says so once, not with every attempt.
func TestLeaseThatIsRefusedFromTheStartIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := &world{t: t, road: newRoad()}
		w.start()
		defer w.kill()
		next := bridge
		next.Incarnation++
		_, err := w.reg.Renew(next, time.Minute)
		require.NoError(t, err)
		c, err := embedded.NewRemote(embedded.RemoteConfig{Owner: bridge, Dial: w.road.dial, Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		time.Sleep(time.Minute)
		cancel()
		running.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), "if two bridges run with the same id")
	})
}

func TestPublishOfALostLeaseBringsEverythingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{TTL: time.Hour})
		require.NoError(t, w.publish(1, "a", native("10.0.0.1", 1)))
		time.Sleep(time.Second)
		w.kill() // no stream is open: nobody notices
		w.start()
		time.Sleep(time.Second)
		require.Equal(t, "[]", w.held("a"))
		require.NoError(t, w.publish(1, "b", native("10.0.0.1", 1)))
		time.Sleep(time.Second)
		w.link(true, "")
		require.Contains(t, w.held("a"), "10.0.0.1")
	})
}

func TestRegistryThatIsAwayIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var tries []time.Time
		c, err := embedded.NewRemote(embedded.RemoteConfig{
			Owner: bridge, Random: func() float64 { return 0.5 },
			Dial: func(context.Context, string, string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				tries = append(tries, time.Now())
				return nil, fmt.Errorf("connection refused")
			},
		})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		time.Sleep(time.Minute)
		cancel()
		running.Wait()
		mu.Lock()
		defer mu.Unlock()
		// Pauses of 5/8 of 50, 100, ... 2000 ms.
		assert.Equal(t, 62500*time.Microsecond, tries[2].Sub(tries[1]))
		assert.InDelta(t, 50, len(tries), 8)
	})
}

func TestSubscriptionsShareOneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, embedded.Config{}, embedded.RemoteConfig{})
		var following sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for n := range 100 {
			following.Go(func() { w.c.Subscribe(ctx, service(fmt.Sprint("s", n)), func(rc.Snapshot) {}) })
		}
		following.Go(func() { w.c.WatchNames(ctx, "public", "DEFAULT_GROUP", func([]string) {}) })
		time.Sleep(time.Second)
		assert.Equal(t, 1, w.c.Stats().Streams)
		assert.Equal(t, 1, w.reg.Stats().Watches)
		cancel()
		following.Wait()
		time.Sleep(time.Second)
		assert.Zero(t, w.c.Stats().Streams)
		assert.Zero(t, w.reg.Stats().Watches)
		w.link(true, "")
	})
}
