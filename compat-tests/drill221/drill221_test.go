//go:build compat

package drill221

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/dubbo"
	"zkbridge/compat-tests/native"
	"zkbridge/compat-tests/observer"
	"zkbridge/compat-tests/scenario"
)

func TestMain(m *testing.M) {
	os.Exit(control.Isolate(m, dubbo.V336.Fetch, dubbo.V2723.Fetch, scenario.FetchObserver))
}

// Services of the small providers, 2-2-1 and all of it in the third centre.
const (
	wide   = "com.example.drill.Wide"
	lonely = "com.example.drill.Lonely"
)

// Limits of the drill.
const (
	startLimit = 30 * time.Second // for a registration to be everywhere, with as many JVMs starting
	healLimit  = 10 * time.Second // from the healing until all lists are equal
	viewLimit  = 20 * time.Second // and from then on for Dubbo, which may wait before it believes a list
	goneLimit  = 15 * time.Second // after the hold time-out, for the addresses to go service by service
	afterwards = 5 * time.Second  // for which all stays as it is
	lastStays  = 12 * time.Second // for which the last address of a service is seen to stay: longer than the guard's window
)

// drill is one run.
type drill struct {
	*testing.T
	registry native.Registry
	centres  []*centre // the third is cut off
	began    time.Time // everything stands from here on
}

// everywhere waits until a service is exactly these addresses in every list: of
// each bridge and of the registry.
func (d *drill) everywhere(limit time.Duration, service string, want ...string) time.Duration {
	d.Helper()
	slices.Sort(want)
	return await(d, limit, "all lists of "+service+" are equal", func() error {
		for _, c := range d.centres {
			if got := c.shown(d, service).Last(); !slices.Equal(got, want) {
				return fmt.Errorf("%s shows %v, want %v", c.Name, got, want)
			}
		}
		got, err := d.registry.Addresses(d.Context(), "providers:"+service)
		slices.Sort(got)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("the registry has %v, want %v", got, want)
		}
		return err
	})
}

// always fails if a centre's bridge did not show an address the whole time.
func (d *drill) always(c *centre, service, address string, from, to time.Time, why string) {
	d.Helper()
	line := c.shown(d, service).Between(from, to)
	if len(line) == 0 {
		d.Errorf("%s: nothing was seen of %s", c.Name, service)
	}
	if s, ok := line.Without(address); ok {
		d.Errorf("%s: %s: the list of %s lacks %s: %v", c.Name, why, service, address, s)
	}
}

func Test221(t *testing.T) {
	d := &drill{T: t, registry: startRegistry(t)}
	for n := 1; n <= 3; n++ {
		d.centres = append(d.centres, newCentre(t, n, d.registry))
	}
	first, second, third := d.centres[0], d.centres[1], d.centres[2]

	// A real pair in each, of two versions, and small ones beside them.
	versions := []dubbo.Version{dubbo.V336, dubbo.V2723, dubbo.V336}
	var providers, consumers []*apps.App
	var greeters []string
	places := map[*apps.App]scenario.Place{}
	for n, c := range d.centres {
		place := c.place(t, "provider")
		p := versions[n].Provider(t, place)
		places[p] = place
		providers = append(providers, p)
		greeters = append(greeters, c.address(p))
	}
	for n, c := range d.centres {
		consumers = append(consumers, versions[2-n].Consumer(t, c.place(t, "consumer"), fmt.Sprintf("timeout=%d", callTimeout.Milliseconds())))
	}
	wides := []*small{first.small(t, wide, 31), first.small(t, wide, 32), second.small(t, wide, 31), second.small(t, wide, 32), third.small(t, wide, 31)}
	lonelies := []*small{third.small(t, lonely, 41), third.small(t, lonely, 42)}
	for n := range d.centres {
		providers[n].AwaitReady(t)
		consumers[n].AwaitReady(t)
	}
	d.everywhere(startLimit, greetings, greeters...)
	d.everywhere(startLimit, wides[0].service, addresses(wides)...)
	d.everywhere(startLimit, lonelies[0].service, addresses(lonelies)...)
	for n, c := range consumers {
		if _, err := c.AwaitList(t.Context(), startLimit, greeters...); err != nil {
			t.Fatal(err)
		}
		answered, failed := call(t, c, 20)
		t.Logf("%s calls: %v", d.centres[n].Name, answered)
		if len(failed) > 0 || len(answered) < 2 { // which of the three is chance
			t.Errorf("%s calls: answered by %v, failed: %v", d.centres[n].Name, answered, failed)
		}
	}
	d.began = time.Now()
	mark := map[*apps.App]int{}
	for _, c := range consumers {
		mark[c] = c.Mark()
	}

	third.Cut(t)
	cut := time.Now()
	t.Logf("%s is cut off", third.Name)

	// Outside it life goes on: one comes, one goes.
	wides[1].end(t)
	came := second.small(t, wide, 33)
	wantOutside := []string{wides[0].address, wides[2].address, wides[3].address, wides[4].address, came.address}

	// Inside it a provider starts, another restarts, and it is scaled.
	fresh := dubbo.V336.Provider(t, third.place(t, "fresh"))
	fresh.AwaitReady(t)
	inside := append(slices.Clone(greeters), third.address(fresh))
	awaitList(t, consumers[2], inside...)
	awaitAnswers(t, consumers[2], fresh.Port)
	if err := providers[2].End(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitList(t, consumers[2], greeters[0], greeters[1], third.address(fresh))
	place := places[providers[2]]
	place.Name += "-again"
	restarted := dubbo.V336.Provider(t, place)
	scaled := dubbo.V2723.Provider(t, third.place(t, "scaled"))
	restarted.AwaitReady(t)
	scaled.AwaitReady(t)
	inside = append(inside, third.address(scaled))
	awaitList(t, consumers[2], inside...)
	awaitAnswers(t, consumers[2], fresh.Port, restarted.Port, scaled.Port)
	t.Logf("inside %s a start, a restart and a scale took %v", third.Name, time.Since(cut).Round(time.Second))

	// Nothing of what is called outside has failed for it.
	for n := range 2 {
		answered, failed := call(t, consumers[n], 6)
		t.Logf("%s calls, %v after the cut: %v", d.centres[n].Name, time.Since(cut).Round(time.Second), answered)
		if len(failed) > 0 {
			t.Errorf("%s: calls fail after the cut: %v", d.centres[n].Name, failed)
		}
	}
	for _, c := range d.centres[:2] {
		if got := c.shown(t, wides[0].service).Last(); !same(got, wantOutside) {
			t.Errorf("%s shows %v of %s after the cut, want %v", c.Name, got, wide, wantOutside)
		}
	}

	// Until the hold time-out all of it stays, then it goes.
	earliest, latest := cut.Add(lease*2/3+hold), cut.Add(lease+hold+goneLimit)
	logHeld(t, first)
	for _, c := range d.centres[:2] {
		await(t, time.Until(latest), c.Name+" lets go of what it held", func() error {
			for _, gone := range []struct{ service, address string }{{greetings, greeters[2]}, {wides[4].service, wides[4].address}} {
				if got := c.shown(t, gone.service).Last(); slices.Contains(got, gone.address) {
					return fmt.Errorf("%s is still shown", gone.address)
				}
			}
			if got := c.shown(t, lonelies[0].service).Last(); len(got) != 1 {
				return fmt.Errorf("of %s %v are shown, want one", lonely, got)
			}
			return nil
		})
		t.Logf("%s has let go %v after the cut", c.Name, time.Since(cut).Round(time.Second))
		d.always(c, greetings, greeters[2], d.began, earliest, "before the hold time-out")
		d.always(c, wides[4].service, wides[4].address, d.began, earliest, "before the hold time-out")
		for _, s := range lonelies {
			d.always(c, s.service, s.address, d.began, earliest, "before the hold time-out")
		}
	}

	time.Sleep(lastStays)
	third.Heal(t)
	healed := time.Now()
	limit := func() time.Duration { return time.Until(healed.Add(healLimit)) }
	d.everywhere(limit(), greetings, inside...)
	d.everywhere(limit(), wides[0].service, wantOutside...)
	d.everywhere(limit(), lonelies[0].service, addresses(lonelies)...)
	equal := time.Now()
	t.Logf("healed: all lists were equal after %v", equal.Sub(healed).Round(time.Millisecond))
	for n, c := range consumers {
		list, err := c.AwaitList(t.Context(), time.Until(equal.Add(viewLimit)), sorted(inside)...)
		if err != nil {
			t.Errorf("%s's consumer after the healing: %v", d.centres[n].Name, err)
			continue
		}
		t.Logf("%s's consumer had the whole list %v after the healing", d.centres[n].Name, max(0, list.At.Sub(healed)).Round(time.Millisecond))
	}
	time.Sleep(afterwards) // and it stays so
	d.verdict(equal, healed, greeters, inside, wides, lonelies)

	for n, c := range consumers {
		for _, list := range c.Lists(mark[c]) {
			if !slices.Contains(list.Addresses, greeters[0]) || !slices.Contains(list.Addresses, greeters[1]) {
				t.Errorf("%s's consumer lost a provider that lives: %v", d.centres[n].Name, list.Addresses)
			}
		}
	}
}

// verdict judges all that was shown: nothing was doubled, nothing that lives was
// deleted.
func (d *drill) verdict(equal, healed time.Time, greeters, inside []string, wides, lonelies []*small) {
	d.Helper()
	var forever time.Time
	third := d.centres[2]
	for _, c := range d.centres {
		for _, service := range []string{greetings, wides[0].service, lonelies[0].service} {
			for _, side := range []observer.Side{observer.ZooKeeperSide, observer.RegistrySide} {
				if s, ok := c.lists(d, side, service).Doubled(); ok {
					d.Errorf("%s: %s is doubled at the %s: %v", c.Name, service, side, s)
				}
			}
		}
		for _, address := range inside {
			d.always(c, greetings, address, equal, forever, "after the healing")
		}
		for _, address := range greeters[:2] { // they never stopped
			d.always(c, greetings, address, d.began, forever, "in the whole drill")
		}
		for _, s := range []*small{wides[0], wides[2], wides[3]} {
			d.always(c, s.service, s.address, d.began, forever, "in the whole drill")
		}
		if n := c.shown(d, lonelies[0].service).Between(d.began, forever).Shortest(); n < 1 {
			d.Errorf("%s: the list of %s was empty", c.Name, lonely)
		}
	}
	// What the third had seen last of the others is what it shows until it is healed.
	d.always(third, wides[1].service, wides[1].address, d.began, healed, "others' instances, as last seen")
	for _, s := range append(lonelies, wides[4]) {
		d.always(third, s.service, s.address, d.began, forever, "its own, that live")
	}
}

func addresses(list []*small) []string {
	var all []string
	for _, s := range list {
		all = append(all, s.address)
	}
	return all
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func same(a, b []string) bool { return slices.Equal(sorted(a), sorted(b)) }

func awaitList(t *testing.T, consumer *apps.App, want ...string) {
	t.Helper()
	if _, err := consumer.AwaitList(t.Context(), startLimit, sorted(want)...); err != nil {
		t.Fatal(err)
	}
}

// awaitAnswers calls until each of these ports has answered. An instance that
// cannot be reached costs a call its time-out, and the call goes on to another.
func awaitAnswers(t *testing.T, consumer *apps.App, ports ...int) {
	t.Helper()
	missing := map[int]bool{}
	for _, port := range ports {
		missing[port] = true
	}
	for range 60 {
		answered, failed := call(t, consumer, 1)
		if len(failed) > 0 {
			t.Errorf("a call inside fails: %v", failed)
		}
		for port := range answered {
			delete(missing, port)
		}
		if len(missing) == 0 {
			return
		}
	}
	t.Errorf("never called: %v", missing)
}

func logHeld(t *testing.T, c *centre) {
	t.Helper()
	t.Logf("%s holds: %s", c.Name, strings.TrimSpace(c.held(t)))
}
