package observer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Limits are what the judge forgives. The zero value means the defaults.
type Limits struct {
	// Late is how long a provider may be missing from the other side's list after
	// it was registered. Default 1 s.
	Late time.Duration
	// Linger is how long a provider may still be listed after it is dead beyond
	// doubt. Default 3 s.
	Linger time.Duration
	// Expiry is how long after its time-out a silent session may still count as
	// alive: real servers round up to a tick. Default 4 s.
	Expiry time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Late = cmp.Or(l.Late, time.Second)
	l.Linger = cmp.Or(l.Linger, 3*time.Second)
	l.Expiry = cmp.Or(l.Expiry, 4*time.Second)
	return l
}

// Fault is a list that was wrong.
type Fault struct {
	At      time.Time
	Side    Side
	Service string
	Address string
	What    string // "lacks", "doubles", "renames", "shows the dead"
	Why     string
}

func (f Fault) String() string {
	return fmt.Sprintf("%s: the list of %s at the %s %s %s: %s", f.At.Format("15:04:05.000"), f.Service, f.Side, f.What, f.Address, f.Why)
}

// Arrival is how long after its registration a provider was first in a list of
// the other side.
type Arrival struct {
	Side    Side
	Service string
	Address string
	After   time.Duration
	Stalled time.Duration // the part of it in which the machine stood still
}

func (a Arrival) String() string {
	text := fmt.Sprintf("%s at the %s after %v", a.Address, a.Side, a.After.Round(time.Millisecond))
	if a.Stalled > 0 {
		text += fmt.Sprintf(" (the machine stood still for %v of it)", a.Stalled.Round(time.Millisecond))
	}
	return text
}

// Flap is a time that a provider was away because its client deleted and
// created it.
type Flap struct {
	Service string
	Address string
	From    time.Time
	For     time.Duration
}

func (f Flap) String() string {
	return fmt.Sprintf("%s for %v", f.Address, f.For.Round(time.Microsecond))
}

// Report is a verdict on a history.
type Report struct {
	Faults   []Fault
	Arrivals []Arrival
	Flaps    []Flap
	Lists    map[Side]int // how many lists were seen
}

// Judge judges a history. Its events may be in any order.
func Judge(history []Event, limits Limits) Report {
	limits = limits.withDefaults()
	events := slices.Clone(history)
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	stalls := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Kind != Stalled })
	j := judge{limits: limits, claims: claimsOf(events, limits), stalls: stalls, report: Report{Lists: map[Side]int{}}}
	suspended := suspensionsOf(events)
	for _, s := range statesOf(events) {
		j.report.Lists[s.side]++
		for _, part := range s.outside(suspended) {
			j.lacks(part)
			j.doubles(part)
			j.dead(part)
		}
	}
	j.arrivals(events, suspended)
	j.flaps(events)
	slices.SortStableFunc(j.report.Faults, func(a, b Fault) int { return a.At.Compare(b.At) })
	return j.report
}

type judge struct {
	limits Limits
	claims []claim
	stalls []Event
	report Report
}

// after is limit after at, and as much later as the machine stood still in the
// meantime.
func (j *judge) after(at time.Time, limit time.Duration) time.Time {
	end := at.Add(limit)
	return end.Add(j.stalled(at, end))
}

func (j *judge) fault(s state, address, what, why string) {
	j.report.Faults = append(j.report.Faults, Fault{At: s.at, Side: s.side, Service: s.service, Address: address, What: what, Why: why})
}

// state is one list and the time for which it was the newest.
type state struct {
	side    Side
	service string
	asked   time.Time
	at      time.Time
	until   time.Time // when the next was asked for; zero: to the end of the history, of which nothing is known
	items   []Item
}

func (s state) find(address string) (items []Item) {
	for _, i := range s.items {
		if i.Address == address {
			items = append(items, i)
		}
	}
	return items
}

// statesOf are the lists of a history.
func statesOf(events []Event) []state {
	var states []state
	open := map[string]int{} // by side and service: index in states
	end := func(key string, at time.Time) {
		if i, ok := open[key]; ok {
			states[i].until = at
			delete(open, key)
		}
	}
	var last time.Time
	for _, e := range events {
		key := string(e.Side) + " " + e.Service
		last = e.At
		switch e.Kind {
		case List:
			end(key, e.Asked)
			open[key] = len(states)
			states = append(states, state{side: e.Side, service: e.Service, asked: e.Asked, at: e.At, items: e.Items})
		case Blind:
			for _, k := range slices.Collect(maps.Keys(open)) {
				if k == key || e.Service == "" && strings.HasPrefix(k, string(e.Side)+" ") {
					end(k, e.At)
				}
			}
		}
	}
	for key := range open {
		states[open[key]].until = last
	}
	return states
}

// span is a time in which nothing is judged, of one side or ("") of both.
type span struct {
	side     Side
	from, to time.Time
}

// suspensionsOf are the times around the restarts of the server and of the
// registry.
func suspensionsOf(events []Event) []span {
	var spans []span
	end := func(side Side, at time.Time) {
		for i := range spans {
			if spans[i].side == side && spans[i].to.Equal(forever) {
				spans[i].to = at
			}
		}
	}
	for _, e := range events {
		switch e.Kind {
		case ServerDown:
			spans = append(spans, span{"", e.At, forever})
		case ServerUp:
			end("", e.At.Add(e.Timeout))
		case RegistryDown:
			spans = append(spans, span{RegistrySide, e.At, forever})
		case RegistryUp:
			end(RegistrySide, e.At.Add(e.Timeout))
		}
	}
	return spans
}

// outside cuts the times in which nothing is judged out of s.
func (s state) outside(spans []span) []state {
	parts := []state{s}
	for _, p := range spans {
		if p.side != "" && p.side != s.side {
			continue
		}
		var cut []state
		for _, part := range parts {
			before, after := part, part
			before.until = earlier(part.until, p.from)
			if part.at.Before(p.to) {
				after.at, after.asked = p.to, p.to
			}
			for _, rest := range []state{before, after} {
				if !rest.at.After(rest.until) {
					cut = append(cut, rest)
				}
			}
		}
		parts = cut
	}
	return parts
}

// lacks finds the living providers that a list leaves out.
func (j *judge) lacks(s state) {
	for _, c := range j.claims {
		if c.service != s.service {
			continue
		}
		items := s.find(c.address)
		// Exact, where the client itself registered: it was told so before the list
		// was asked for, and nothing had ended the registration when the list came.
		exact := c.side == s.side && c.from.Before(s.asked) && s.at.Before(c.certain)
		// Anywhere: the list was the newest while it lacked the provider, too long
		// after the registration.
		from, to := j.after(c.from, j.limits.Late), earlier(c.certain, s.until)
		if s.at.After(from) {
			from = s.at
		}
		switch {
		case len(items) == 0 && (exact || from.Before(to)):
			j.fault(s, c.address, "lacks", c.String())
		case exact && len(items) > 0 && c.name != "" && !slices.ContainsFunc(items, func(i Item) bool { return i.Name == c.name }):
			j.fault(s, c.address, "renames", fmt.Sprintf("%s is listed as %s", c.name, items[0].Name))
		}
	}
}

// doubles finds the providers that a list shows more often than clients
// registered them.
func (j *judge) doubles(s state) {
	count := map[string]int{}
	native := map[string]bool{}
	for _, i := range s.items {
		key := i.Protocol + "://" + i.Address
		count[key]++
		native[key] = native[key] || i.Native
	}
	for _, i := range s.items {
		key := i.Protocol + "://" + i.Address
		n := count[key]
		delete(count, key)
		if n < 2 {
			continue
		}
		if s.side == RegistrySide && native[key] && s.until.Sub(s.at) <= j.limits.Linger {
			continue // a native registration and ours, which is about to go
		}
		alive := map[string]bool{} // by name: two clients may well register under two names
		for _, c := range j.claims {
			if c.service == s.service && c.address == i.Address && c.side == s.side && c.side == ZooKeeperSide &&
				!c.asked.After(s.at) && s.asked.Before(c.possible.Add(j.limits.Linger)) {
				alive[c.name] = true
			}
		}
		if n > max(1, len(alive)) {
			j.fault(s, i.Address, "doubles", fmt.Sprintf("%d entries, registered under %d names", n, len(alive)))
		}
	}
}

// dead finds the providers in a list of which no registration can be alive.
func (j *judge) dead(s state) {
	seen := map[string]bool{}
	for _, i := range s.items {
		if seen[i.Address] {
			continue
		}
		seen[i.Address] = true
		var until time.Time // the latest that one may have been alive
		known := false
		for _, c := range j.claims {
			if c.service != s.service || c.address != i.Address || c.asked.After(s.until) {
				continue
			}
			known = true
			if c.possible.After(until) {
				until = c.possible
			}
		}
		switch limit := j.after(until, j.limits.Linger); {
		case !known:
			j.fault(s, i.Address, "shows the dead", "nobody has registered it")
		case s.at.After(limit):
			j.fault(s, i.Address, "shows the dead", fmt.Sprintf("its last registration was over at %s", until.Format("15:04:05.000")))
		case s.until.After(limit):
			j.fault(s, i.Address, "shows the dead", fmt.Sprintf("its last registration was over at %s and it stayed until %s",
				until.Format("15:04:05.000"), s.until.Format("15:04:05.000")))
		}
	}
}

// arrivals measures how long providers took to the other side, if they were not
// there already and nothing was taken away meanwhile.
func (j *judge) arrivals(events []Event, suspended []span) {
	for _, c := range j.claims {
		there := false
		for _, e := range events {
			if e.Kind != List || e.Side == c.side || e.Service != c.service {
				continue
			}
			listed := slices.ContainsFunc(e.Items, func(i Item) bool { return i.Address == c.address })
			if e.At.Before(c.asked) {
				there = listed
				continue
			}
			away := slices.ContainsFunc(suspended, func(p span) bool {
				return p.side == e.Side && !c.from.Before(p.from) && c.from.Before(p.to)
			})
			if listed && !there && !away {
				j.report.Arrivals = append(j.report.Arrivals, Arrival{
					Side: e.Side, Service: c.service, Address: c.address,
					After: max(0, e.At.Sub(c.from)), Stalled: j.stalled(c.from, e.At),
				})
			}
			if listed || there {
				break
			}
		}
	}
}

// stalled is for how long in that time the machine stood still.
func (j *judge) stalled(from, to time.Time) (sum time.Duration) {
	for _, e := range j.stalls {
		began, ended := e.At.Add(-e.Timeout), e.At
		if began.Before(from) {
			began = from
		}
		if d := earlier(ended, to).Sub(began); d > 0 {
			sum += d
		}
	}
	return sum
}

// flaps counts how often the directory was without a provider between its
// client's delete and create.
func (j *judge) flaps(events []Event) {
	type key struct{ service, address string }
	shown := map[key]map[string]bool{} // names
	gone := map[key]Event{}
	changes := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Kind != Appeared && e.Kind != Vanished })
	for n, e := range changes {
		k := key{e.Service, e.Address}
		if shown[k] == nil {
			shown[k] = map[string]bool{}
		}
		if e.Kind == Appeared {
			shown[k][e.Name] = true
			if from, ok := gone[k]; ok {
				delete(gone, k)
				if j.deletedBetween(k.service, k.address, from.At.Add(-time.Second), e.At) {
					j.report.Flaps = append(j.report.Flaps, Flap{Service: k.service, Address: k.address, From: from.At, For: e.At.Sub(from.At)})
				}
			}
			continue
		}
		delete(shown[k], e.Name)
		// One transaction may take a name away and bring another: no moment without.
		swapped := slices.ContainsFunc(changes[n+1:], func(o Event) bool {
			return o.Kind == Appeared && o.Zxid == e.Zxid && o.Service == e.Service && o.Address == e.Address
		})
		if len(shown[k]) == 0 && !swapped {
			gone[k] = e
		}
	}
}

// deletedBetween reports whether a client deleted its node in that time and its
// process lived on.
func (j *judge) deletedBetween(service, address string, from, to time.Time) bool {
	return slices.ContainsFunc(j.claims, func(c claim) bool {
		return c.service == service && c.address == address && c.deleted && c.possible.After(from) && c.possible.Before(to)
	})
}
