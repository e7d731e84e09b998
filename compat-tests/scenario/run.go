package scenario

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/observer"
)

// Names of the steps.
const (
	firstCall      = "the first provider is called"
	secondProvider = "a second provider comes"
	gracefulEnd    = "the second provider ends gracefully"
	cut            = "every connection is cut for 3 s"
	restart        = "the server restarts"
	killed         = "the provider is killed -9"
)

// Limits of the steps. What is not exact is generous, for two busy cores.
const (
	listLimit    = 30 * time.Second
	expiryLimit  = 40 * time.Second
	cutLength    = 3 * time.Second
	cutAftermath = 12 * time.Second // clients re-read and register again for up to 10 s
	returnLimit  = 60 * time.Second
	restartLimit = 15 * time.Second // from the last client's return
	arrivalLimit = 100 * time.Millisecond
)

// MaxSession is the largest session time-out of the scenario's servers: long
// enough for a session to outlive the cut (a third of it between two pings, the
// cut, two seconds until the client is back), short enough to wait for kill -9.
const MaxSession = 10 * time.Second

// Run is one run of the scenario.
type Run struct {
	Target   control.Target
	Consumer *apps.App
	Watch    *Watch // nil where no directory of the family is watched

	family Family
	relay  *control.Relay
	conn   *zk.Conn // the test's own, past the relay
	labels labels
	dir    string
	record Record
	cut    bool // the connections were cut once
}

// Play plays the scenario with target, which serves and is fresh. The consumer
// is still running afterwards; no provider is.
func Play(tb testing.TB, target control.Target, f Family) *Run {
	tb.Helper()
	r := Open(tb, target, f)

	a := r.Provider(tb, "A")
	a.AwaitReady(tb)
	r.StartConsumer(tb)
	r.step(tb, firstCall, func() { r.Await(tb, listLimit, a) })

	var b *apps.App
	r.step(tb, secondProvider, func() {
		b = r.Provider(tb, "B")
		b.AwaitReady(tb)
		r.Await(tb, listLimit, a, b)
	})
	r.step(tb, gracefulEnd, func() {
		r.End(tb, b)
		r.Await(tb, listLimit, a)
	})
	r.step(tb, cut, func() {
		r.cut = true
		if err := r.relay.RefuseFor(cutLength); err != nil {
			tb.Fatal(err)
		}
		time.Sleep(cutAftermath) // what clients do late is part of the record
		r.Await(tb, listLimit, a)
	})
	r.step(tb, restart, func() {
		before := r.record.Steps[len(r.record.Steps)-1].Tree
		r.restart(tb)
		end := time.Now().Add(restartLimit)
		// The end state is what stood before, as far as the clients restore it on a
		// real server too: the provider at least, for everybody.
		r.awaitTree(tb, restartLimit, func(now []string) bool { return slices.Equal(r.judged(now), before) })
		r.awaitServer(tb, time.Until(end), r.addresses(a))
		r.Await(tb, time.Until(end), a)
	})
	r.step(tb, killed, func() {
		r.Kill(tb, a)
		r.Await(tb, expiryLimit)
		// Its other sessions may end later.
		r.awaitTree(tb, expiryLimit, func(now []string) bool {
			return !slices.ContainsFunc(now, func(line string) bool {
				return strings.HasPrefix(line, ephemeral) && strings.Contains(line, "<A>")
			})
		})
	})
	return r
}

// Open prepares a run: a relay in front of target for the applications, and a
// connection of the test's own past it.
func Open(tb testing.TB, target control.Target, f Family) *Run {
	tb.Helper()
	relay, err := control.NewRelay("", target.Addr())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { relay.Close() })
	r := &Run{
		Target: target, family: f, relay: relay, labels: labels{},
		conn: Connect(tb, target.Addr()), dir: control.ScratchDir(tb, "apps"),
		record: Record{Target: target.Name()},
	}
	if f.Prepare != nil {
		f.Prepare(tb, r.conn)
	}
	if f.Service != "" {
		r.Watch = watch(tb, target, r.dir, f.Service)
		relay.ReadAlong(&observer.Tap{Root: "/dubbo", To: r.Watch})
	}
	return r
}

// Provider starts a provider; label stands for its port in the record.
func (r *Run) Provider(tb testing.TB, label string) *apps.App {
	tb.Helper()
	port := r.Port(tb, label)
	return r.family.Provider(tb, Place{Name: "provider-" + label, ZooKeeper: r.relay.Addr(), Port: port, Dir: r.dir})
}

// End ends a provider gracefully.
func (r *Run) End(tb testing.TB, p *apps.App) {
	tb.Helper()
	if err := p.End(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	r.Fact(observer.Event{Kind: observer.ProcessEnded, Address: r.family.Address(p.Port)})
}

// Kill kills a provider with SIGKILL.
func (r *Run) Kill(tb testing.TB, p *apps.App) {
	tb.Helper()
	r.Fact(observer.Event{Kind: observer.ProcessEnded, Address: r.family.Address(p.Port)})
	if err := p.Kill(); err != nil {
		tb.Fatal(err)
	}
}

// RegistryAway takes the registry's process away while during runs, and tells the
// observer. The registry may take limit to be complete again.
func (r *Run) RegistryAway(tb testing.TB, process control.RegistryProcess, limit time.Duration, during func()) {
	tb.Helper()
	r.Fact(observer.Event{Kind: observer.RegistryDown})
	if err := process.StopRegistry(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	during()
	if err := process.StartRegistry(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	r.Fact(observer.Event{Kind: observer.RegistryUp, Timeout: limit})
}

// Fact tells the observer what the test did.
func (r *Run) Fact(e observer.Event) {
	if r.Watch != nil {
		r.Watch.Record(e)
	}
}

// Close ends the run: the observer's verdict is the last thing recorded.
func (r *Run) Close(tb testing.TB) Record {
	tb.Helper()
	if r.Watch != nil {
		report := r.Watch.finish(tb, r.dir)
		r.record.Flaps = len(report.Flaps)
		for _, a := range report.Arrivals {
			if a.Side == observer.RegistrySide && a.After-a.Stalled > arrivalLimit {
				tb.Errorf("%s: from a client's being told that it is registered to the registry's list: %v, want %v at most",
					r.Target.Name(), a, arrivalLimit)
			}
		}
		tb.Logf("%s: the observer saw %d lists at the ZooKeeper side, %d at the registry's; arrivals %v; clients took themselves away: %v",
			r.Target.Name(), report.Lists[observer.ZooKeeperSide], report.Lists[observer.RegistrySide], report.Arrivals, report.Flaps)
	}
	return r.record
}

// Port reserves a port; label stands for it in the record.
func (r *Run) Port(tb testing.TB, label string) int {
	tb.Helper()
	ports, err := control.Ports(1)
	if err != nil {
		tb.Fatal(err)
	}
	r.labels[ports[0]] = label
	return ports[0]
}

// Addr is the host:port of the applications' connect strings.
func (r *Run) Addr() string { return r.relay.Addr() }

// Relay is between the applications and the server.
func (r *Run) Relay() *control.Relay { return r.relay }

// Dir is where the run's applications put their files.
func (r *Run) Dir() string { return r.dir }

// StartConsumer starts the consumer and waits until it is up.
func (r *Run) StartConsumer(tb testing.TB) {
	tb.Helper()
	r.Consumer = r.family.Consumer(tb, Place{Name: "consumer", ZooKeeper: r.relay.Addr(), Dir: r.dir})
	r.Consumer.AwaitReady(tb)
}

// Await waits until the consumer's list is exactly these providers. Where a real
// server's consumer may have lost its list for good, the server's list counts.
func (r *Run) Await(tb testing.TB, limit time.Duration, providers ...*apps.App) {
	tb.Helper()
	addresses := r.addresses(providers...)
	if r.blind() {
		r.awaitServer(tb, limit, addresses)
		return
	}
	if _, err := r.Consumer.AwaitList(tb.Context(), limit, addresses...); err != nil {
		tb.Fatalf("%s: %v", r.Target.Name(), err)
	}
}

// addresses are the providers' addresses as the consumer shows them.
func (r *Run) addresses(providers ...*apps.App) []string {
	var list []string
	for _, p := range providers {
		list = append(list, r.family.Address(p.Port))
	}
	return list
}

// blind reports whether the consumer's own list says nothing any more.
func (r *Run) blind() bool { return r.cut && r.family.LosesListAfterCut }

// judged leaves out of a tree what a consumer that lost its list may or may not
// have: its own node, which it deletes and makes again in an order of chance.
func (r *Run) judged(tree []string) []string {
	if !r.blind() {
		return tree
	}
	return slices.DeleteFunc(tree, func(line string) bool {
		return strings.HasPrefix(line, ephemeral) && strings.Contains(line, "/consumers/")
	})
}

// awaitServer waits until the server lists exactly these addresses.
func (r *Run) awaitServer(tb testing.TB, limit time.Duration, addresses []string) {
	tb.Helper()
	for end := time.Now().Add(limit); ; {
		names, err := Children(r.conn, r.family.Directory)
		if err == nil && same(names, addresses) {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("%s: the server lists %v (%v) after %v, want %v", r.Target.Name(), names, err, limit, addresses)
		}
		time.Sleep(20 * time.Millisecond) // between two lists
	}
}

// same reports whether names are one for each address and no more.
func same(names, addresses []string) bool {
	if len(names) != len(addresses) {
		return false
	}
	for _, address := range addresses {
		found := false
		for _, name := range names {
			found = found || strings.Contains(name, strings.ReplaceAll(address, ":", "%3A")+"%2F") || strings.HasSuffix(name, address)
		}
		if !found {
			return false
		}
	}
	return true
}

// awaitTree waits up to limit until the tree is as it should be. If it never is,
// the comparison with the control will say in what it differs.
func (r *Run) awaitTree(tb testing.TB, limit time.Duration, good func(lines []string) bool) {
	tb.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		lines, err := tree(r.conn, r.labels)
		if err == nil && good(lines) {
			return
		}
		time.Sleep(50 * time.Millisecond) // between two readings
	}
}

// restart restarts the server behind the relay and returns once as many
// connections as before stand again. Sessions outlive that, here as there.
func (r *Run) restart(tb testing.TB) {
	tb.Helper()
	before := r.relay.Connections()
	r.Fact(observer.Event{Kind: observer.ServerDown})
	r.relay.Refuse()
	if err := r.Target.Restart(tb.Context()); err != nil {
		tb.Fatalf("%s: restart: %v", r.Target.Name(), err)
	}
	if err := r.relay.Accept(); err != nil {
		tb.Fatal(err)
	}
	for end := time.Now().Add(returnLimit); r.relay.Connections() < before; {
		if time.Now().After(end) {
			tb.Fatalf("%s: %d of %d connections came back within %v", r.Target.Name(), r.relay.Connections(), before, returnLimit)
		}
		time.Sleep(10 * time.Millisecond) // between two looks
	}
	r.Fact(observer.Event{Kind: observer.ServerUp, Timeout: restartLimit})
}

// step does something and records what the consumer showed meanwhile, a call
// made at the end (unless there is nobody to call), and the tree.
func (r *Run) step(tb testing.TB, name string, do func()) {
	tb.Helper()
	mark := r.Consumer.Mark()
	started := time.Now()
	do()
	took := time.Since(started)
	s := Step{Name: name}
	if !r.blind() {
		if name != killed {
			answer, err := r.Consumer.Call(tb.Context())
			if err != nil {
				tb.Fatalf("%s: %s: %v", r.Target.Name(), name, err)
			}
			if !strings.HasPrefix(answer, "ok ") {
				tb.Errorf("%s: %s: a call answers %q", r.Target.Name(), name, answer)
			}
			s.Call = r.labels.call(answer)
		}
		s.Lists = r.lists(mark)
	}
	s.Tree = r.judged(settledTree(tb, r.conn, r.labels))
	r.record.Steps = append(r.record.Steps, s)
	tb.Logf("%s, %s (%.1f s): %s, call %q", r.Target.Name(), name, took.Seconds(), strings.Join(s.Lists, ", "), s.Call)
}

// lists are the consumer's lists since mark, the one before it first.
func (r *Run) lists(mark int) []string {
	var lists []string
	before := len(r.Consumer.Lists(0)) - len(r.Consumer.Lists(mark))
	for _, list := range r.Consumer.Lists(0)[max(0, before-1):] {
		text := r.labels.list(list)
		if len(lists) == 0 || lists[len(lists)-1] != text {
			lists = append(lists, text)
		}
	}
	return lists
}
