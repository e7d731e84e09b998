//go:build compat

package kills

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/observer"
)

var (
	count = flag.Int("kills", 20, "how often the bridge or the registry is killed, on each of the two targets")
	seed  = flag.Uint64("seed", 0, "of the moments; 0: by the clock")
)

// TestMain has everything run side by side: it waits more than it works.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestKills: nothing is lost, doubled or resurrected, whenever the bridge or the
// registry is killed, and no living client is told that its session has expired.
func TestKills(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	for _, kind := range []control.Kind{control.Bridge, control.BridgeRegistry} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			run(t, kind)
		})
	}
}

func run(t *testing.T, kind control.Kind) {
	p := &play{T: t, seed: *seed, history: &history{}, lists: map[observer.Side]int{}}
	p.target = control.Start(t, kind, control.Options{
		MaxSession: sessionTimeout,
		Bridge:     []string{"guard:", "  probeInterval: 1s", "  probeTimeout: 500ms"},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	p.start(ctx, &running)
	random := rand.New(rand.NewPCG(*seed, 1000))
	p.well()
	for p.rounds = 1; p.rounds <= *count; p.rounds++ {
		time.Sleep(time.Duration(100+random.IntN(1400)) * time.Millisecond)
		p.strike(ctx, p.draw(random))
		if p.rounds%roundsTogether == 0 || p.rounds == *count {
			p.well()
			p.mu.Lock()
			bad := len(p.faults) > 0
			p.mu.Unlock()
			if bad {
				break
			}
		}
	}
	cancel()
	for _, a := range p.apps {
		a.end()
	}
	running.Wait()
	t.Logf("%s, seed %d: %d kills; %d lists at the ZooKeeper side and %d at the registry's were judged, of %d registrations; the document was written %d times",
		kind, *seed, p.kills, p.lists[observer.ZooKeeperSide], p.lists[observer.RegistrySide], p.registrations, p.acknowledged.Load())
	if p.lists[observer.ZooKeeperSide] < p.kills || p.lists[observer.RegistrySide] < p.kills {
		t.Error("the observer saw next to nothing")
	}
	if len(p.faults) > 0 {
		t.Errorf("seed %d, reproduce with: make kills KILLS=%d SEED=%d\n%s", *seed, 2**count, *seed, strings.Join(p.faults[:min(len(p.faults), 40)], "\n"))
	}
}
