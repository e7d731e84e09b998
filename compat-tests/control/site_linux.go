package control

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Site is a data centre: a network namespace of its own beside those of others,
// with an address in the network that joins them and one that only the test can
// reach, which a cut leaves alone. The test's namespace routes between the sites
// and is where what all of them use can listen (at Hub).
type Site struct {
	Name string
	IP   string // in the network between the sites
	Hub  string // the other end of that link, in the test's namespace
	Seen string // where the test reaches the site, cut off or not
	Here string // where the site reaches the test, cut off or not

	within []string
	wan    string // the test's end of the link to the others
}

// NewSite makes site number n (1 to 99). It must be called inside [Isolate], and
// needs iproute2 and util-linux.
func NewSite(tb testing.TB, n int) *Site {
	tb.Helper()
	s := &Site{
		Name: fmt.Sprintf("dc%d", n),
		IP:   fmt.Sprintf("10.77.%d.2", n), Hub: fmt.Sprintf("10.77.%d.1", n),
		Seen: fmt.Sprintf("10.99.%d.2", n), Here: fmt.Sprintf("10.99.%d.1", n),
		wan: fmt.Sprintf("wan%d", n),
	}
	// A namespace lives as long as a process in it.
	holder, err := Run(Command{Name: s.Name, Args: []string{"unshare", "--net", "sleep", "infinity"}, Log: filepath.Join(ScratchDir(tb, s.Name), "holder.log")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = holder.Kill() })
	space := fmt.Sprintf("/proc/%d/ns/net", holder.Pid())
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		tb.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) { // until it is in there
		if theirs, err := os.Readlink(space); err == nil && theirs != ours {
			break
		}
		if time.Now().After(end) {
			tb.Fatalf("no namespace for %s", s.Name)
		}
	}
	s.within = []string{"nsenter", "--net=" + space}

	pid, manage := fmt.Sprint(holder.Pid()), fmt.Sprintf("seen%d", n)
	s.must(tb, false, "link", "add", s.wan, "type", "veth", "peer", "name", "wan", "netns", pid)
	s.must(tb, false, "link", "add", manage, "type", "veth", "peer", "name", "seen", "netns", pid)
	s.must(tb, false, "addr", "add", s.Hub+"/24", "dev", s.wan)
	s.must(tb, false, "addr", "add", s.Here+"/24", "dev", manage)
	s.must(tb, false, "link", "set", s.wan, "up")
	s.must(tb, false, "link", "set", manage, "up")
	s.must(tb, true, "link", "set", "lo", "up")
	s.must(tb, true, "addr", "add", s.IP+"/24", "dev", "wan")
	s.must(tb, true, "addr", "add", s.Seen+"/24", "dev", "seen")
	s.must(tb, true, "link", "set", "wan", "up")
	s.must(tb, true, "link", "set", "seen", "up")
	// No default route: a question to a name server fails at once, as it does in
	// the test's namespace, and does not wait for an answer.
	s.must(tb, true, "route", "add", "10.77.0.0/16", "via", s.Hub)
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		tb.Fatalf("let the test's namespace route: %v", err)
	}
	return s
}

// Within is what a command is prefixed with to run in the site.
func (s *Site) Within() []string { return s.within }

// Cut takes the link to the other sites away, applications and all: packets into
// the site are answered by the router as unreachable, those out of it are lost.
func (s *Site) Cut(tb testing.TB) {
	tb.Helper()
	s.must(tb, false, "link", "set", s.wan, "down")
}

// Heal brings the link back.
func (s *Site) Heal(tb testing.TB) {
	tb.Helper()
	s.must(tb, false, "link", "set", s.wan, "up")
}

func (s *Site) must(tb testing.TB, inside bool, args ...string) {
	tb.Helper()
	command := append([]string{"ip"}, args...)
	if inside {
		command = append(append([]string{}, s.within...), command...)
	}
	if err := run(context.WithoutCancel(tb.Context()), "", command...); err != nil {
		tb.Fatal(err)
	}
}
