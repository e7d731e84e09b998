//go:build compat

package dubbo

import (
	"slices"
	"testing"
	"time"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/native"
	"zkbridge/compat-tests/scenario"
)

// TestDubbo336DefaultPullsTraffic shows pitfall P23: with Dubbo 3.3.6's default
// (application level first, threshold 0) one provider that is visible at the
// application level pulls all calls from those that are not. On the control the
// other provider registers by interface only; on the bridge it is a native
// instance. The rule FORCE_INTERFACE, written while the consumer runs, gives the
// other its share back.
func TestDubbo336DefaultPullsTraffic(t *testing.T) {
	for _, kind := range control.Selected(t) {
		if kind == control.BridgeRegistry {
			continue // nothing in it depends on where the registry runs
		}
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			target := control.Start(t, kind, control.Options{MaxSession: scenario.MaxSession})
			family := V336.Family()
			family.Prepare = nil // no rule yet
			r := scenario.Open(t, target, family)

			other := otherProvider(t, r)
			r.StartConsumer(t)
			r.Await(t, 30*time.Second, other)
			mustCall(t, r, other.Port)

			a := r.Provider(t, "A")
			a.AwaitReady(t)
			r.Await(t, 30*time.Second, other, a)
			mustSettle(t, r, "one provider is visible at the application level", a)

			ForceInterface(t, scenario.Connect(t, target.Addr()))
			mustSettle(t, r, "the rule says FORCE_INTERFACE", a, other)

			r.End(t, a)
			if kind == control.ZooKeeper {
				r.End(t, other)
			}
			r.Close(t)
		})
	}
}

// otherProvider starts a provider that is not visible at the application level.
func otherProvider(t *testing.T, r *scenario.Run) *apps.App {
	t.Helper()
	place := scenario.Place{Name: "other", Port: r.Port(t, "other"), Dir: r.Dir()}
	if r.Target.RegistryURL() == "" {
		place.ZooKeeper = r.Addr()
		p := V336.Provider(t, place, "-Ddubbo.application.register-mode=interface")
		p.AwaitReady(t)
		return p
	}
	p := V336.Provider(t, place)
	p.AwaitReady(t)
	beats := keep(t, r, native.Registry{URL: r.Target.RegistryURL()}, place.Port, 20*time.Second)
	t.Cleanup(func() { beats.end() })
	return p
}

// mustSettle fails unless calls come to be answered by exactly these providers.
func mustSettle(t *testing.T, r *scenario.Run, when string, providers ...*apps.App) {
	t.Helper()
	const calls = 24
	var want []string
	for _, p := range providers {
		want = append(want, answerFrom(p.Port))
	}
	slices.Sort(want)
	for end := time.Now().Add(30 * time.Second); ; {
		answered := map[string]bool{}
		for range calls {
			answer, err := r.Consumer.Call(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			answered[answer] = true
		}
		var got []string
		for answer := range answered {
			got = append(got, answer)
		}
		slices.Sort(got)
		if slices.Equal(got, want) {
			t.Logf("%s, %s: %d calls answered by %v", r.Target.Name(), when, calls, got)
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s, %s: calls are answered by %v, want %v", r.Target.Name(), when, got, want)
		}
	}
}
