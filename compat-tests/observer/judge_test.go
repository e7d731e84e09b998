package observer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/observer"
)

const (
	service  = "com.x.S::"
	a        = "192.0.2.10:1"
	b        = "192.0.2.10:2"
	timeout  = 6 * time.Second
	sessionA = 0xa
	sessionB = 0xb
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// tale makes up a history; times are in milliseconds since the start.
type tale struct{ events []observer.Event }

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func (t *tale) add(e observer.Event) *tale {
	e.Service = service
	if e.Asked.IsZero() {
		e.Asked = e.At
	}
	t.events = append(t.events, e)
	return t
}

func name(address string) string { return "dubbo%3A%2F%2F" + address }

func items(side observer.Side, addresses []string) []observer.Item {
	var list []observer.Item
	for _, address := range addresses {
		item := observer.Item{Address: address}
		if side == observer.ZooKeeperSide {
			item.Name, item.Protocol = name(address), "dubbo"
		}
		list = append(list, item)
	}
	return list
}

func (t *tale) zk(ms int, addresses ...string) *tale {
	return t.add(observer.Event{At: at(ms + 1), Asked: at(ms), Kind: observer.List, Side: observer.ZooKeeperSide, Items: items(observer.ZooKeeperSide, addresses)})
}

func (t *tale) registry(ms int, addresses ...string) *tale {
	return t.add(observer.Event{At: at(ms), Kind: observer.List, Side: observer.RegistrySide, Items: items(observer.RegistrySide, addresses)})
}

func (t *tale) open(ms int, session int64) *tale {
	return t.add(observer.Event{At: at(ms), Kind: observer.SessionOpened, Session: session, Timeout: timeout})
}

func (t *tale) heard(session int64, fromMs, toMs int) *tale {
	for ms := fromMs; ms <= toMs; ms += 1000 {
		t.add(observer.Event{At: at(ms), Kind: observer.SessionHeard, Session: session})
	}
	return t
}

func (t *tale) create(ms int, session int64, address string) *tale {
	return t.add(observer.Event{At: at(ms + 1), Asked: at(ms), Kind: observer.Created, Session: session, Address: address, Name: name(address)}).
		add(observer.Event{At: at(ms), Kind: observer.Appeared, Side: observer.ZooKeeperSide, Address: address, Name: name(address), Zxid: int64(ms)})
}

func (t *tale) remove(ms int, address string) *tale {
	return t.add(observer.Event{At: at(ms + 1), Asked: at(ms), Kind: observer.Deleted, Address: address, Name: name(address)}).
		add(observer.Event{At: at(ms), Kind: observer.Vanished, Side: observer.ZooKeeperSide, Address: address, Name: name(address), Zxid: int64(ms)})
}

func (t *tale) fact(ms int, kind observer.Kind, session int64, address string) *tale {
	return t.add(observer.Event{At: at(ms), Kind: kind, Session: session, Address: address})
}

// two is the beginning of most tales: A and B register, both sides show them, and
// both are heard of for ten seconds.
func two() *tale {
	t := &tale{}
	t.open(0, sessionA).open(0, sessionB).heard(sessionA, 0, 10000).heard(sessionB, 0, 10000)
	t.create(100, sessionA, a).zk(110, a).registry(130, a)
	t.create(200, sessionB, b).zk(210, a, b).registry(230, a, b)
	return t
}

// long is two, with A heard of for thirty seconds.
func long() *tale { return two().heard(sessionA, 11000, 30000) }

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name string
		tale *tale
		want []string // "what side address", in order
	}{
		{"two providers, all well", two().zk(5000, a, b), nil},
		{"a list without a living provider", two().zk(5000, b), []string{"lacks zookeeper " + a}},
		{"an empty list", two().zk(5000), []string{"lacks zookeeper " + a, "lacks zookeeper " + b}},
		{"a registry list without a living provider", two().registry(5000, b).registry(5001, a, b), []string{"lacks registry " + a}},
		{"a list before the create was answered", two().create(5000, sessionA, "192.0.2.10:3").zk(5001, a, b).zk(5002, a, b, "192.0.2.10:3").registry(5020, a, b, "192.0.2.10:3"), nil},
		{"no list after a create: no event came", two().create(5000, sessionA, "192.0.2.10:3").registry(5020, a, b, "192.0.2.10:3").zk(9000, a, b, "192.0.2.10:3"), []string{"lacks zookeeper 192.0.2.10:3"}},
		{"the registry is late", two().create(5000, sessionA, "192.0.2.10:3").zk(5010, a, b, "192.0.2.10:3").registry(7000, a, b, "192.0.2.10:3"), []string{"lacks registry 192.0.2.10:3"}},
		{"the registry is late while the machine stands still", two().create(5000, sessionA, "192.0.2.10:3").zk(5010, a, b, "192.0.2.10:3").
			add(observer.Event{At: at(6000), Kind: observer.Stalled, Timeout: 900 * time.Millisecond}).registry(6800, a, b, "192.0.2.10:3"), nil},
		{"deleted by its client", two().remove(5000, b).zk(5010, a).registry(6000, a).zk(9000, a), nil},
		{"deleted and still listed at once after", two().remove(5000, b).zk(5010, a, b).zk(5200, a).registry(6000, a), nil},
		{"deleted and still listed for long", two().remove(5000, b).zk(5010, a, b).zk(12000, a).registry(6000, a), []string{"shows the dead zookeeper " + b}},
		{"deleted and back", two().remove(5000, b).zk(5010, a).registry(6000, a).zk(11000, a, b).zk(11100, a), []string{"shows the dead zookeeper " + b}},
		{"never registered", two().zk(5000, a, b, "192.0.2.10:9"), []string{"shows the dead zookeeper 192.0.2.10:9"}},
		{"shown twice", two().zk(5000, a, a, b), []string{"doubles zookeeper " + a}},
		{"twice in the registry", two().registry(5000, a, b, b).registry(5001, a, b), []string{"doubles registry " + b}},
		{"killed and expired", long().fact(5000, observer.ProcessEnded, 0, b).zk(17000, a).registry(17500, a).zk(29000, a), nil},
		{"killed and gone before it expired", long().fact(5000, observer.ProcessEnded, 0, b).zk(5100, a).registry(5200, a).zk(29000, a), nil},
		{"killed and never gone", long().fact(5000, observer.ProcessEnded, 0, b).zk(29000, a, b).zk(29500, a), []string{"shows the dead zookeeper " + b, "shows the dead zookeeper " + b, "shows the dead registry " + b}},
		{"silent for its time-out, told that it expired", long().fact(20000, observer.SessionExpired, sessionB, "").zk(16500, a).registry(17000, a).zk(29000, a), nil},
		{"told that it expired too early", two().fact(13000, observer.SessionExpired, sessionB, "").zk(12000, a).registry(14000, a).zk(15000, a), []string{"lacks zookeeper " + b}},
		{"session closed", two().fact(5000, observer.SessionClosed, sessionB, "").zk(5010, a).registry(6000, a).zk(9000, a), nil},
		{"resumed: nothing may be missing", long().open(12000, sessionB).heard(sessionB, 12000, 20000).zk(11000, a), []string{"lacks zookeeper " + b}},
		{"lists around a restart are not judged", two().fact(5000, observer.ServerDown, 0, "").zk(6000).add(observer.Event{At: at(7000), Kind: observer.ServerUp, Timeout: 5 * time.Second}).zk(11000, a, b), nil},
		{"but those after it are", two().fact(5000, observer.ServerDown, 0, "").zk(6000).add(observer.Event{At: at(7000), Kind: observer.ServerUp, Timeout: time.Second}).zk(9000, a, b), []string{"lacks zookeeper " + a, "lacks zookeeper " + b}},
		{"unseen for a while", two().add(observer.Event{At: at(4000), Kind: observer.Blind, Side: observer.RegistrySide}).remove(5000, b).zk(5010, a).registry(9000, a), nil},
		{"the registry is away for a while", two().fact(4000, observer.RegistryDown, 0, "").create(4500, sessionA, "192.0.2.10:3").zk(4510, a, b, "192.0.2.10:3").
			registry(7000, a, b).add(observer.Event{At: at(7000), Kind: observer.RegistryUp, Timeout: time.Second}).registry(7900, a, b, "192.0.2.10:3").zk(9000, a, b, "192.0.2.10:3"), nil},
		{"and not complete in time", two().fact(4000, observer.RegistryDown, 0, "").create(4500, sessionA, "192.0.2.10:3").zk(4510, a, b, "192.0.2.10:3").
			registry(7000, a, b).add(observer.Event{At: at(7000), Kind: observer.RegistryUp, Timeout: time.Second}).registry(8500, a, b, "192.0.2.10:3"), []string{"lacks registry 192.0.2.10:3"}},
		{"the registry is away, a list for clients is wrong", two().fact(4000, observer.RegistryDown, 0, "").zk(5000, a).
			add(observer.Event{At: at(7000), Kind: observer.RegistryUp, Timeout: time.Second}), []string{"lacks zookeeper " + b}},
		{"native", two().add(observer.Event{At: at(5000), Kind: observer.NativeUp, Address: "192.0.2.10:3", Timeout: 3 * time.Second}).
			registry(5001, a, b, "192.0.2.10:3").zk(5020, a, b, "192.0.2.10:3").registry(8001, a, b).zk(8050, a, b).zk(9900, a, b), nil},
		{"native and never seen by clients", two().add(observer.Event{At: at(5000), Kind: observer.NativeUp, Address: "192.0.2.10:3", Timeout: 3 * time.Second}).
			registry(5001, a, b, "192.0.2.10:3").registry(8001, a, b).zk(9000, a, b), []string{"lacks zookeeper 192.0.2.10:3"}},
		{"native, its time is over, still shown", two().add(observer.Event{At: at(5000), Kind: observer.NativeUp, Address: "192.0.2.10:3", Timeout: 2 * time.Second}).
			registry(5001, a, b, "192.0.2.10:3").zk(5020, a, b, "192.0.2.10:3").registry(7001, a, b).zk(12000, a, b), []string{"shows the dead zookeeper 192.0.2.10:3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			report := observer.Judge(test.tale.events, observer.Limits{})
			for _, f := range report.Faults {
				require.NotEmpty(t, f.Why)
				got = append(got, fmt.Sprintf("%s %s %s", f.What, f.Side, f.Address))
			}
			require.ElementsMatch(t, test.want, got, "%v", report.Faults)
		})
	}
}

func TestJudgeWantsTheExactName(t *testing.T) {
	tale := two()
	tale.add(observer.Event{
		At: at(5000), Kind: observer.List, Side: observer.ZooKeeperSide,
		Items: append(items(observer.ZooKeeperSide, []string{a}), observer.Item{Address: b, Protocol: "dubbo", Name: name(b) + "%20"}),
	})
	report := observer.Judge(tale.events, observer.Limits{})
	require.Len(t, report.Faults, 1)
	require.Equal(t, "renames", report.Faults[0].What)
}

func TestJudgeForgivesTwoNamesOfOneClient(t *testing.T) {
	// A provider started anew while its old session still lives: both nodes show.
	tale := two()
	second := observer.Event{At: at(5001), Asked: at(5000), Kind: observer.Created, Session: sessionA, Address: b, Name: name(b) + "2"}
	list := observer.Event{
		At: at(5020), Kind: observer.List, Side: observer.ZooKeeperSide,
		Items: append(items(observer.ZooKeeperSide, []string{a, b}), observer.Item{Address: b, Protocol: "dubbo", Name: name(b) + "2"}),
	}
	require.Empty(t, observer.Judge(tale.add(second).add(list).events, observer.Limits{}).Faults)
}

func TestJudgeMeasuresArrivals(t *testing.T) {
	report := observer.Judge(two().events, observer.Limits{})
	require.Equal(t, []observer.Arrival{
		{Side: observer.RegistrySide, Service: service, Address: a, After: 29 * time.Millisecond},
		{Side: observer.RegistrySide, Service: service, Address: b, After: 29 * time.Millisecond},
	}, report.Arrivals)
	stall := observer.Event{At: at(125), Kind: observer.Stalled, Timeout: 10 * time.Millisecond}
	require.Equal(t, 10*time.Millisecond, observer.Judge(two().add(stall).events, observer.Limits{}).Arrivals[0].Stalled)
	require.Equal(t, map[observer.Side]int{observer.ZooKeeperSide: 2, observer.RegistrySide: 2}, report.Lists)
}

func TestJudgeCountsFlaps(t *testing.T) {
	tale := two().remove(5000, a).create(5010, sessionA, a).zk(5020, a, b)
	report := observer.Judge(tale.events, observer.Limits{})
	require.Empty(t, report.Faults)
	require.Equal(t, []observer.Flap{{Service: service, Address: a, From: at(5000), For: 10 * time.Millisecond}}, report.Flaps)

	// A swap in one transaction is no flap, and neither is an end and a new start.
	tale = two()
	for _, e := range []observer.Event{
		{At: at(5000), Kind: observer.Vanished, Side: observer.ZooKeeperSide, Address: a, Name: name(a), Zxid: 9},
		{At: at(5000), Kind: observer.Appeared, Side: observer.ZooKeeperSide, Address: a, Name: name(a) + "2", Zxid: 9},
	} {
		tale.add(e)
	}
	require.Empty(t, observer.Judge(tale.events, observer.Limits{}).Flaps)
}
