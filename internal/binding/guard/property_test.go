package guard_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"zkbridge/internal/binding/guard"
	"zkbridge/registryclient"
)

// process is a provider in the model: a client of ours with one address.
type process struct {
	*client
	iface, at string
	alive     bool // it has not been killed or closed
	reached   bool // it is heard
	since     time.Time
}

// silence cuts the process off, a moment after it was heard.
func (p *process) silence() {
	if p.reached {
		p.session.Touch()
		p.since = time.Now()
	}
	p.client.cut()
	p.reached = false
}

// model is what a history of the world must keep.
type model struct {
	t     finder
	w     *world
	tape  []int    // decides what happens
	story []string // what has

	processes map[string]*process        // by interface and address, those that may own a node
	natives   map[string]map[string]bool // by interface: who is registered in truth
	lying     bool
	linked    bool
	ended     map[string]string   // interface and address: ended for good, and by what; nothing may bring it back
	lists     map[string][]string // the last list seen
	drops     map[string][]drop   // what has gone of a service without evidence
	evidence  map[string]bool     // interface and address: whose end somebody has asked for or the host has shown
	kept      map[string]bool     // interface and address: an operator keeps it
	window    time.Duration
}

type drop struct {
	when time.Time
	at   string
	of   int
}

// pick gives a number below n.
func (m *model) pick(n int) int {
	if len(m.tape) == 0 {
		return 0
	}
	v := m.tape[0]
	m.tape = m.tape[1:]
	return v % n
}

func key(iface, at string) string { return iface + " " + at }

var ifaces = []string{"com.x.A", "com.x.B", "com.x.C"}

func (m *model) iface() string { return ifaces[m.pick(len(ifaces))] }

// bridgedAt and nativeAt are different hosts, so that it is known who vouches.
func (m *model) bridgedAt() string { return at(1 + m.pick(5)) }
func (m *model) nativeAt() string  { return at(11 + m.pick(6)) }

func (m *model) some(which func(*process) bool) *process {
	var keys []string
	for k, p := range m.processes {
		if which(p) {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	return m.processes[keys[m.pick(len(keys))]]
}

// create starts a process that registers, as Dubbo does: who finds the name taken
// deletes it and creates it again.
func (m *model) create() {
	i, a := m.iface(), m.bridgedAt()
	k := key(i, a)
	if old := m.processes[k]; old != nil && old.alive && old.reached {
		return
	}
	if old := m.processes[k]; old != nil {
		old.cut() // the process of before is dead
	}
	m.w.is(a, open)
	p := &process{client: m.w.connect(timeout), iface: i, at: a, alive: true, reached: true, since: time.Now()}
	if p.register(i, a) != nil {
		m.evidence[k] = true
		_ = m.w.remove(pathOf(i, a))
		if err := p.register(i, a); err != nil {
			m.t.Fatalf("register %s: %v", k, err)
		}
	}
	delete(m.ended, k)
	delete(m.evidence, k)
	delete(m.kept, k)
	m.processes[k] = p
}

func (m *model) close() {
	if p := m.some(func(p *process) bool { return p.alive && p.reached && !p.client.ended() }); p != nil {
		k := key(p.iface, p.at)
		m.evidence[k] = true
		p.client.close()
		m.w.is(p.at, refusing)
		p.alive = false
		m.ended[k] = "closed"
		delete(m.processes, k)
	}
}

func (m *model) kill() {
	if p := m.some(func(p *process) bool { return p.alive }); p != nil {
		p.silence()
		p.alive = false
		m.w.is(p.at, []host{refusing, nowhere}[m.pick(2)])
		if m.w.hosts[p.at] == refusing {
			m.evidence[key(p.iface, p.at)] = true
		}
	}
}

func (m *model) cut() {
	if p := m.some(func(p *process) bool { return p.alive && p.reached }); p != nil {
		p.silence()
		m.w.is(p.at, nowhere)
	}
}

func (m *model) cutAll() {
	for _, p := range m.processes {
		if p.alive && p.reached {
			p.silence()
			m.w.is(p.at, nowhere)
		}
	}
}

// heal brings back who was cut off: with its session, or a new one if that is told
// to have expired.
func (m *model) heal() {
	p := m.some(func(p *process) bool { return p.alive && !p.reached })
	if p == nil {
		return
	}
	m.w.is(p.at, open)
	k := key(p.iface, p.at)
	if s := m.w.sessions.Lookup(p.session.ID()); s != nil && !s.Closing() {
		p.session = s // of this life
		p.client.heal()
	} else {
		p.client = m.w.connect(timeout)
		if err := p.register(p.iface, p.at); err != nil {
			m.t.Fatalf("%s comes back with a new session and is refused: %v", k, err)
		}
	}
	p.reached, p.since = true, time.Now()
	delete(m.ended, k)
	delete(m.kept, k)
}

// remove is an operator's delete.
func (m *model) remove() {
	i, a := m.iface(), m.bridgedAt()
	k := key(i, a)
	if m.w.remove(pathOf(i, a)) == nil {
		m.evidence[k] = true
		m.ended[k] = "deleted"
		if p := m.processes[k]; p != nil {
			p.client.close() // so that the model knows who vouches
			delete(m.processes, k)
		}
	}
}

func (m *model) keepOrDrop() {
	list := m.w.guard.Held()
	if len(list) == 0 {
		return
	}
	h := list[m.pick(len(list))]
	i := h.Service.Name[len("providers:") : len(h.Service.Name)-2]
	k := key(i, h.Instance)
	if m.pick(2) == 1 {
		if m.w.guard.Keep(h.Key) == nil {
			m.kept[k] = true
		}
		return
	}
	m.evidence[k] = true
	if err := m.w.guard.Drop(h.Key); err != nil {
		m.t.Fatalf("%v", err)
	}
	delete(m.kept, k)
	if !m.natives[i][h.Instance] {
		m.ended[k] = "dropped"
	}
	delete(m.natives[i], h.Instance)
	if p := m.processes[k]; p != nil && p.client.ended() {
		if !p.alive {
			delete(m.processes, k)
		} else {
			delete(m.ended, k) // it will be back
		}
	}
}

func (m *model) nativeUp() {
	i, a := m.iface(), m.nativeAt()
	m.natives[i][a] = true
	m.w.is(a, open)
	delete(m.ended, key(i, a))
	delete(m.evidence, key(i, a))
	m.tell(i)
}

func (m *model) nativeDown() {
	i, a := m.iface(), m.nativeAt()
	if m.natives[i][a] {
		delete(m.natives[i], a)
		m.w.is(a, refusing)
		m.evidence[key(i, a)] = true
		m.tell(i)
	}
}

// tell imports what the registry says of a service.
func (m *model) tell(i string) {
	var list []registryclient.Instance
	for a := range m.natives[i] {
		list = append(list, native(i, a))
	}
	if m.lying {
		n := []int{0, len(list) / 2}[m.pick(2)]
		slices.SortFunc(list, registryclient.Instance.Compare)
		list = list[:n]
	}
	m.w.guard.Import(serviceOf(i), list)
	if !m.lying {
		for _, in := range list {
			delete(m.kept, key(i, in.Address()))
		}
	}
}

func (m *model) lie() {
	m.lying = !m.lying
	for _, i := range ifaces {
		m.tell(i)
	}
}

func (m *model) link() {
	m.linked = !m.linked
	m.w.guard.Link(m.linked)
}

func (m *model) restart() {
	for _, p := range m.processes {
		p.client.cut()
	}
	m.w.restart()
	clear(m.kept)
	m.linked = true
	for _, i := range ifaces {
		m.tell(i)
	}
	for _, p := range m.processes {
		s := m.w.sessions.Lookup(p.session.ID())
		if s == nil {
			if p.reached {
				m.t.Fatalf("%s %s: its session is not resumed", p.iface, p.at)
			}
			continue
		}
		p.session = s
		p.since = time.Now() // a whole timeout again
		if p.reached {
			p.client.heal()
		}
	}
}

// pass lets time go by, a second at a time.
func (m *model) pass(n int) {
	for range n {
		time.Sleep(time.Second)
		m.check()
	}
}

// check is called after every step and every second.
func (m *model) check() {
	synctest.Wait()
	now := time.Now()
	for _, i := range ifaces {
		list := m.w.shown(i)
		for n := 1; n < len(list); n++ {
			if list[n] == list[n-1] {
				m.t.Fatalf("%s: %s is there twice: %v", i, list[n], list)
			}
		}
		for _, a := range list {
			if why := m.ended[key(i, a)]; why != "" {
				m.t.Fatalf("%s: %s is back, it was %s", i, a, why)
			}
		}
		for _, a := range m.lists[i] {
			if !slices.Contains(list, a) {
				m.gone(i, a, now)
			}
		}
		for n, d := range slices.Backward(m.drops[i]) {
			if slices.Contains(list, d.at) {
				m.drops[i] = slices.Delete(m.drops[i], n, n+1) // it is back
			}
		}
		m.lists[i] = list
	}
	for k, p := range m.processes {
		if p.alive && p.reached && !slices.Contains(m.lists[p.iface], p.at) {
			m.t.Fatalf("%s is lost: it is alive and heard", k)
		}
		if p.alive && p.reached && p.client.ended() {
			m.t.Fatalf("the session of %s ended though it is heard", k)
		}
		if !p.reached && !p.client.ended() && now.Sub(p.since) > 2*timeout+2*time.Second {
			m.t.Fatalf("the session of %s is still there after %v of silence", k, now.Sub(p.since))
		}
	}
}

// gone judges an address that is shown no more.
func (m *model) gone(i, a string, now time.Time) {
	k := key(i, a)
	if m.kept[k] && !m.evidence[k] {
		m.t.Fatalf("%s went although an operator keeps it", k)
	}
	if m.evidence[k] {
		return
	}
	if p := m.processes[k]; p != nil && !p.reached {
		silent := now.Sub(p.since)
		if silent < timeout {
			m.t.Fatalf("%s went after %v of silence", k, silent)
		}
		if silent <= timeout+time.Second {
			return // a single expiry
		}
		if silent < timeout+holdTime {
			m.t.Fatalf("%s was held, and went after %v without evidence", k, silent)
		}
	}
	// The registry's word, or the time that was over: the cap.
	kept := m.drops[i][:0]
	for _, d := range m.drops[i] {
		if now.Sub(d.when) < m.window-time.Second {
			kept = append(kept, d)
		}
	}
	of := len(m.lists[i])
	if len(kept) > 0 {
		of = max(of, kept[0].of)
	}
	m.drops[i] = append(kept, drop{now, a, of})
	if most := max(1, of/2); len(m.drops[i]) > most {
		m.t.Fatalf("%s: %d of %d went within %v without evidence: %v", i, len(m.drops[i]), of, m.window, m.drops[i])
	}
}

const holdTime = 40 * time.Second

// TestAnyOrder: no order of creates, deletes, expiries, cuts, adoptions, imports,
// lies, lost links, operators and restarts loses an address that somebody vouches
// for, shows one twice, brings one back that has ended, or takes more of a service
// than the cap without evidence; and in the end nothing is held. Field reports 2, 3,
// 31, 38, 39, 40 and 42 are orders of this kind.
func TestAnyOrder(t *testing.T) {
	scratch, runs := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		tape := rapid.SliceOfN(rapid.IntRange(0, 5039), 0, 150).Draw(rt, "tape")
		runs++
		dir := filepath.Join(scratch, strconv.Itoa(runs))
		var wrong string
		synctest.Test(t, func(*testing.T) { wrong = history(tape, dir) })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// found is what is wrong.
type found string

// finder ends a history that is wrong.
type finder struct{}

func (finder) Helper()                        {}
func (finder) Fatalf(format string, a ...any) { panic(found(fmt.Sprintf(format, a...))) }
func (finder) Errorf(format string, a ...any) { panic(found(fmt.Sprintf(format, a...))) }

func history(tape []int, dir string) (wrong string) {
	m := &model{
		tape: tape, processes: make(map[string]*process), natives: make(map[string]map[string]bool), linked: true,
		ended: make(map[string]string), lists: make(map[string][]string), drops: make(map[string][]drop),
		evidence: make(map[string]bool), kept: make(map[string]bool), window: 10 * time.Second,
	}
	m.w = newWorld(m.t, dir, func(c *guard.Config) {
		c.Dir = dir + "/imports"
		c.Hold, c.HoldMax = holdTime, 2*holdTime
	})
	defer func() {
		switch err := recover().(type) {
		case nil:
		case found:
			wrong = fmt.Sprintf("%s\nafter %q", string(err), m.story)
		default:
			panic(err)
		}
		for _, c := range m.w.clients {
			c.cut()
		}
		m.w.stop()
	}()
	for _, i := range ifaces {
		m.natives[i] = make(map[string]bool)
		m.w.mkdir(dirOf(i))
	}
	steps := map[string]func(){
		"create": m.create, "create again": m.create, "close": m.close, "kill": m.kill, "cut": m.cut, "cut all": m.cutAll, "heal": m.heal,
		"delete": m.remove, "operator": m.keepOrDrop, "native up": m.nativeUp, "native up again": m.nativeUp, "native down": m.nativeDown, "lie": m.lie, "link": m.link,
		"restart":   m.restart,
		"wait":      func() { m.pass(1 + m.pick(12)) },
		"wait long": func() { m.pass(12 + m.pick(48)) },
	}
	names := make([]string, 0, len(steps))
	for n := range steps {
		names = append(names, n)
	}
	slices.Sort(names)
	for len(m.tape) > 0 {
		name := names[m.pick(len(names))]
		m.story = append(m.story, name)
		steps[name]()
		m.check()
	}
	m.finish()
	return ""
}

// finish ends everybody: after the documented time nothing is there any more.
func (m *model) finish() {
	for _, h := range m.w.guard.Held() {
		if h.Kept {
			i := h.Service.Name[len("providers:") : len(h.Service.Name)-2]
			m.evidence[key(i, h.Instance)] = true
			if err := m.w.guard.Drop(h.Key); err != nil {
				m.t.Fatalf("%v", err)
			}
		}
	}
	for _, p := range m.processes {
		p.silence()
		p.alive = false
		m.w.is(p.at, nowhere)
	}
	if !m.linked {
		m.link()
	}
	m.lying = false
	for _, i := range ifaces {
		clear(m.natives[i])
		m.tell(i)
	}
	// Two timeouts, the time of holding, and a window for each address, were they all
	// the last one of a service.
	m.pass(int((2*timeout+2*holdTime)/time.Second) + 10*20)
	if list := m.w.guard.Held(); len(list) > 0 {
		m.t.Fatalf("still held: %v", list)
	}
	for _, i := range ifaces {
		if list := m.w.shown(i); len(list) > 0 {
			m.t.Fatalf("%s still shows %v", i, list)
		}
	}
}
