package clients

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// patience is how long something may take before a scenario gives up.
const patience = 40 * time.Second

// Session timeouts of clients: short ones are to end, long ones are not. A
// client may need some seconds to come back after a cut.
const (
	shortSession = 4 * time.Second
	longSession  = 20 * time.Second
)

// goScenario is a scenario that a test binary itself goes through, or in which it
// drives a shell.
type goScenario struct {
	name string
	run  func(s *goScript)
}

// goScenarios are what go-zookeeper/zk goes through.
var goScenarios = []goScenario{
	{"nodes", goNodes},
	{"transactions", goTransactions},
	{"access", goAccess},
	{"watches", goWatches},
	{"locks", goLocks},
	{"sessions", goSessions},
}

// playScripts runs scenarios on all servers, one after the other, and returns
// what they saw, by the server's name.
func playScripts(tb testing.TB, servers []server, dir, client string, scenarios []goScenario) map[string]*transcript {
	tb.Helper()
	file, err := os.Create(filepath.Join(dir, "client.log"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	seen := map[string]*transcript{}
	for _, srv := range servers {
		seen[srv.name] = &transcript{}
		for _, scenario := range scenarios {
			s := &goScript{scenario: scenario.name, server: srv, log: file, seen: seen[srv.name], root: "/" + client + "-" + scenario.name}
			if err := s.play(scenario.run); err != nil {
				tb.Error(err)
			}
		}
	}
	return seen
}

// goScript is the run of one scenario against one server. A scenario that cannot
// go on panics with a broken.
type goScript struct {
	scenario string
	server   server
	root     string
	log      *os.File
	seen     *transcript
	sides    []*goSide
	fences   int
}

// broken ends a scenario.
type broken struct{ error }

func (s *goScript) play(run func(s *goScript)) (err error) {
	defer func() {
		var wg sync.WaitGroup
		for _, side := range s.sides {
			wg.Go(side.zk.Close) // each waits a second for its answer
		}
		wg.Wait()
		if r := recover(); r != nil {
			b, ok := r.(broken)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%s: %s: %w", s.server.name, s.scenario, b.error)
		}
	}()
	start := time.Now()
	run(s)
	s.say("ends")
	s.Printf("%s took %v", s.scenario, time.Since(start))
	return nil
}

func (s *goScript) must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

func (s *goScript) say(format string, a ...any) { s.seen.add(s.scenario, fmt.Sprintf(format, a...)) }

// result says what came of a call.
func (s *goScript) result(what string, err error, values ...any) {
	if err != nil {
		s.say("%s -> %v", what, err)
		return
	}
	s.say("%s -> %s", what, goRender(values...))
}

// await waits until a condition holds.
func (s *goScript) await(what string, holds func() bool) {
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.must(fmt.Errorf("waited %v in vain until %s", patience, what))
		}
	}
}

// goSide is one connection of the library, and the states it went through.
type goSide struct {
	zk *zk.Conn

	mu     sync.Mutex
	states []zk.State
}

// Printf keeps the library's log.
func (s *goScript) Printf(format string, a ...any) {
	fmt.Fprintf(s.log, s.server.name+" "+format+"\n", a...)
}

// client is a connection that is never cut.
func (s *goScript) client() *goSide { return s.connect(s.server.direct, longSession) }

// exposed is a connection that can be cut.
func (s *goScript) exposed(timeout time.Duration) *goSide {
	return s.connect(s.server.relay.Addr(), timeout)
}

func (s *goScript) connect(addr string, timeout time.Duration) *goSide {
	side := &goSide{}
	conn, _, err := zk.Connect([]string{addr}, timeout, zk.WithLogger(s), zk.WithLogInfo(false), zk.WithEventCallback(side.event))
	s.must(err)
	side.zk = conn
	s.sides = append(s.sides, side)
	s.await("connected", func() bool { return side.last() == zk.StateHasSession })
	side.take()
	return side
}

func (c *goSide) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states = append(c.states, e.State)
}

func (c *goSide) last() zk.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.states) == 0 {
		return zk.StateUnknown
	}
	return c.states[len(c.states)-1]
}

func (c *goSide) went(state zk.State) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.states, state)
}

// take is the states since the last time, without the library's attempts.
func (c *goSide) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, state := range c.states {
		if state != zk.StateConnecting && state != zk.StateConnected && (len(out) == 0 || out[len(out)-1] != state.String()) {
			out = append(out, state.String())
		}
	}
	c.states = nil
	return strings.Join(out, " ")
}

func (s *goScript) create(c *goSide, path, data string, flags int32) string {
	name, err := c.zk.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	s.must(err)
	return name
}

func (s *goScript) set(c *goSide, path, data string) {
	_, err := c.zk.Set(path, []byte(data), -1)
	s.must(err)
}

func (s *goScript) remove(c *goSide, path string) { s.must(c.zk.Delete(path, -1)) }

func (s *goScript) list(c *goSide, path string) []string {
	names, _, err := c.zk.Children(path)
	s.must(err)
	slices.Sort(names)
	return names
}

// fence returns when every event that the server had for c has come.
func (s *goScript) fence(c *goSide) {
	dir := s.root + "-fence"
	if ok, _, err := c.zk.Exists(dir); err == nil && !ok {
		s.create(c, dir, "", 0)
	}
	s.fences++
	path := fmt.Sprintf("%s/%d", dir, s.fences)
	_, _, events, err := c.zk.ExistsW(path)
	s.must(err)
	s.create(c, path, "", 0)
	select {
	case <-events:
	case <-time.After(patience):
		s.must(errors.New("no event for a node that was created"))
	}
}

// told is what has come on a watch's channel, without waiting.
func told(events <-chan zk.Event) string {
	select {
	case e := <-events:
		if e.Err != nil {
			return e.Type.String() + " " + e.Err.Error()
		}
		return e.Type.String() + " " + e.Path
	default:
		return "nothing"
	}
}

func goRender(values ...any) string {
	var out []string
	for _, value := range values {
		switch v := value.(type) {
		case *zk.Stat:
			out = append(out, goStat(v))
		case []byte:
			out = append(out, fmt.Sprintf("%q", v))
		case []string:
			slices.Sort(v)
			out = append(out, fmt.Sprint(v))
		case []zk.MultiResponse:
			for _, r := range v {
				stat := "-"
				if r.Stat != nil {
					stat = goStat(r.Stat)
				}
				out = append(out, fmt.Sprintf("{%s %s %v}", r.String, stat, r.Error))
			}
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	return strings.Join(out, " ")
}

func goStat(s *zk.Stat) string {
	owner := "none"
	if s.EphemeralOwner != 0 {
		owner = "somebody"
	}
	sign := func(a, b int64) string { return []string{"<", "=", ">"}[cmp.Compare(a, b)+1] }
	return fmt.Sprintf("Stat(v%d cv%d av%d length %d children %d owner %s c%sm c%sp)", s.Version, s.Cversion, s.Aversion,
		s.DataLength, s.NumChildren, owner, sign(s.Czxid, s.Mzxid), sign(s.Czxid, s.Pzxid))
}
