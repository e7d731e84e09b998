package clients

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
)

// shellKind is a shell that takes commands on its standard input and prints what
// comes of them.
type shellKind struct {
	// absent is the command that asks for a node, and answer the end of the line that
	// the shell says when it is not there: the command before is done with. (The C
	// shell prints most results from its second thread; so it does for ls.)
	absent, answer string
	// event finds an event in a line; its first group is what is kept of it.
	event *regexp.Regexp
	// noise is what is left out: times, and what a log says.
	noise *regexp.Regexp
}

var cShell = shellKind{
	absent: "ls %s", answer: "%s: rc = -101",
	event: regexp.MustCompile(`^Watcher (.*)$`),
	noise: regexp.MustCompile(`^$|^time = \d+ msec$|:ZOO_(ERROR|WARN|INFO)@`),
}

var javaShell = shellKind{
	absent: "stat %s", answer: "Node does not exist: %s",
	event: regexp.MustCompile(`^WatchedEvent (.*?)(?: zxid: -?\d+)?$`),
	noise: regexp.MustCompile(`^$|^WATCHER::$|^Connecting to `),
}

// shell is one process of a shell.
type shell struct {
	shellKind
	s      *goScript
	app    *apps.App
	mark   int      // of the lines that were looked at
	events []string // that nobody took yet
	fences int
}

// open starts a shell. Standard error is read with standard output.
func (s *goScript) open(tb testing.TB, kind shellKind, dir, name string, args ...string) *shell {
	tb.Helper()
	app := apps.Start(tb, apps.Command{Name: name, Dir: dir, Args: append([]string{"sh", "-c", `exec "$0" "$@" 2>&1`}, args...)})
	return &shell{shellKind: kind, s: s, app: app}
}

var (
	shellTimes = regexp.MustCompile(`^(\s*[cm]time\s*=).*$`)
	shellZxid  = regexp.MustCompile(`(?i)^(\s*[cmp]zxid\s*=\s*).*$`)
	shellOwner = regexp.MustCompile(`^(\s*ephemeralOwner = )(?:0x)?[1-9a-f][0-9a-f]*$`)
	shellIDs   = regexp.MustCompile(`0x[0-9a-f]{12,16}`)
)

// plainLine is a line without what differs from run to run.
func plainLine(line string) string {
	line = shellTimes.ReplaceAllString(line, "$1 T")
	line = shellZxid.ReplaceAllString(line, "${1}Z")
	line = shellOwner.ReplaceAllString(line, "${1}somebody")
	if list, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(list, "]") {
		names := strings.Split(strings.TrimSuffix(list, "]"), ", ")
		slices.Sort(names) // a server gives them in any order
		line = "[" + strings.Join(names, ", ") + "]"
	}
	return shellIDs.ReplaceAllString(line, "ID")
}

// take gives the next line, if there is one, and puts events aside.
func (h *shell) take() (string, bool) {
	for _, line := range h.app.Lines(h.mark) {
		h.mark++
		if m := h.event.FindStringSubmatch(line.Text); m != nil {
			if len(h.events) == 0 || h.events[len(h.events)-1] != m[1] || !strings.Contains(m[1], "SESSION") {
				h.events = append(h.events, m[1])
			}
			continue
		}
		if !h.noise.MatchString(line.Text) {
			return line.Text, true
		}
	}
	return "", false
}

// run sends a command and says what the shell prints until it is done with it.
func (h *shell) run(command string) {
	h.fences++
	path := fmt.Sprintf("%s-fence-%d", h.s.root, h.fences)
	answer := fmt.Sprintf(h.answer, path)
	h.s.must(h.app.Say(command))
	h.s.must(h.app.Say(fmt.Sprintf(h.absent, path)))
	var out []string
	h.s.await("the shell is done with "+command, func() bool {
		for {
			line, ok := h.take()
			if before, done := strings.CutSuffix(line, answer); done && before == "" || !ok {
				return ok
			} else if done { // some lines of the shell do not end
				out = append(out, plainLine(before))
				return true
			}
			out = append(out, plainLine(line))
		}
	})
	h.s.say("%s -> %s", command, strings.Join(sortedLists(out), " | "))
}

// sortedLists sorts lists of names, which a server gives in any order.
func sortedLists(lines []string) []string {
	name := func(line string) bool { return strings.HasPrefix(line, "\t") && !strings.Contains(line, "=") }
	for i := 0; i < len(lines); i++ {
		j := i
		for j < len(lines) && name(lines[j]) {
			j++
		}
		slices.Sort(lines[i:j])
		i = max(i, j-1)
	}
	return lines
}

// told waits until an event was told that contains text, and says all there were.
func (h *shell) told(what, text string) {
	h.s.await("the shell is told of "+text, func() bool {
		for _, more := h.take(); more; _, more = h.take() { // lines of no command
		}
		return len(h.events) > 0 && strings.Contains(h.events[len(h.events)-1], text)
	})
	h.s.say("%s: %s", what, strings.Join(h.events, "; "))
	h.events = nil
}

// ends waits until the shell has ended.
func (h *shell) ends() {
	select {
	case <-h.app.Process().Done():
	case <-time.After(patience):
		h.s.must(errors.New("the shell does not end"))
	}
}

// cClient is the C client's shell of the multi-threaded library.
func cClient() (string, error) {
	for _, name := range []string{"cli_mt", "/usr/lib/zookeeper/bin/cli_mt"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("the compat tests need the C client's shell cli_mt (Debian: apt-get install zookeeper-bin)")
}

// playC runs the scenarios of the C client, on one server after the other.
func playC(tb testing.TB, servers []server, dir string) map[string]*transcript {
	tb.Helper()
	program, err := cClient()
	if err != nil {
		tb.Fatal(err)
	}
	return playScripts(tb, servers, dir, "c", []goScenario{
		{"operations", func(s *goScript) {
			cOperations(s, s.open(tb, cShell, dir, s.server.name+"-operations", program, "-h", s.server.direct))
		}},
		{"watches", func(s *goScript) {
			cWatches(s, s.open(tb, cShell, dir, s.server.name+"-watches", program, "-h", s.server.relay.Addr()))
		}},
		{"expiry", func(s *goScript) {
			cExpiry(s, s.open(tb, cShell, dir, s.server.name+"-expiry", program, "-h", s.server.relay.Addr()))
		}},
	})
}

// cOperations is what the shell can do.
func cOperations(s *goScript, h *shell) {
	r := s.root
	h.told("begins", "CONNECTED_STATE")
	for _, command := range []string{
		"create " + r, "create " + r, "create " + r + "/x/y", "create +e " + r + "/e", "create +s " + r + "/s",
		"create +c " + r + "/c", "create2 +es " + r + "/es", "create +t=100000 " + r + "/t", "create +ts=5 " + r + "/ts",
		"create " + r + "/e/x", "ls " + r, "ls2 " + r, "ls " + r + "/none", "get " + r, "get " + r + "/e", "get " + r + "/none",
		"set " + r + " hello", "set " + r + "/none x", "get " + r, "exists " + r, "sync " + r, "config",
		"reconfig -add server.5=localhost:1:2;3", "delete " + r, "delete " + r + "/s0000000001", "delete " + r + "/none", "ls " + r,
		"aget " + r, "als " + r + "/none", "acreate " + r + "/a", "aset " + r + "/a x", "adelete " + r + "/a", "async " + r, "aexists " + r + "/c",
	} {
		h.run(command)
	}
	h.s.must(h.app.Say("quit"))
	h.ends()
	s.say("its nodes: %v", s.list(s.client(), r))
}

// cWatches are events, also of what happened during a cut.
func cWatches(s *goScript, h *shell) {
	r := s.root
	h.told("begins", "CONNECTED_STATE")
	other := s.client()
	s.create(other, r, "", 0)
	h.run("wexists " + r + "/a")
	s.create(other, r+"/a", "", 0)
	h.told("created", r+"/a")
	h.run("wexists " + r + "/a")
	s.set(other, r+"/a", "1")
	h.told("set", r+"/a")
	h.run("wexists " + r + "/a")
	s.remove(other, r+"/a")
	h.told("deleted", r+"/a")
	h.run("create +e " + r + "/mine")
	h.run("wexists " + r + "/a")
	_, _, seen, err := other.zk.ExistsW(r + "/mine")
	s.must(err)
	s.server.relay.Refuse()
	h.told("cut", "CONNECTING_STATE")
	s.create(other, r+"/a", "", 0)
	s.must(s.server.relay.Accept())
	h.told("back", r+"/a")
	h.run("get " + r + "/mine")
	s.fence(other)
	s.say("others see %s", told(seen))
	s.must(h.app.Say("quit"))
	h.ends()
	s.say("left: %v", s.list(other, r))
}

// cExpiry is the end of a session. The shell asks for 30 s, which is why this
// takes its time, and ends when it is told.
func cExpiry(s *goScript, h *shell) {
	r := s.root
	h.told("begins", "CONNECTED_STATE")
	other := s.client()
	s.create(other, r, "", 0)
	h.run("create +e " + r + "/e")
	h.run("create +es " + r + "/es")
	s.server.relay.Refuse()
	h.told("cut", "CONNECTING_STATE")
	s.await("the session ends", func() bool { return len(s.list(other, r)) == 0 })
	s.must(s.server.relay.Accept())
	h.told("back", "EXPIRED_SESSION_STATE")
}

// zkCliClasspath is the class path of ZooKeeper's own shell.
func zkCliClasspath(ctx context.Context) (string, error) {
	return control.Maven(ctx, filepath.Join(control.Root(), "compat-tests", "clients", "zkcli"))
}

// playZkCli runs ZooKeeper's own shell, on one server after the other.
func playZkCli(tb testing.TB, servers []server, dir string) map[string]*transcript {
	tb.Helper()
	command := append(jvm(tb, zkCliClasspath, "-Dorg.slf4j.simpleLogger.log.org=off"), "org.apache.zookeeper.ZooKeeperMain", "-waitforconnection", "-server")
	return playScripts(tb, servers, dir, "zkcli", []goScenario{
		{"operations", func(s *goScript) {
			zkCli(s, s.open(tb, javaShell, dir, s.server.name, append(slices.Clone(command), s.server.relay.Addr())...))
		}},
	})
}

func zkCli(s *goScript, h *shell) {
	r := s.root
	h.told("begins", "SyncConnected")
	for _, command := range []string{
		"create " + r + " one", "create " + r, "create -e " + r + "/e x", "create -s " + r + "/s", "create -s -e " + r + "/es", "create -c " + r + "/c",
		"create -t 1000 " + r + "/t", "create " + r + "/x/y", "create " + r + "/acl d world:anyone:cr",
		"ls " + r, "ls -s " + r, "ls -R " + r, "ls " + r + "/none", "get " + r, "get -s " + r, "get " + r + "/none", "stat " + r,
		"set " + r + " two", "set -s " + r + " three", "set -v 0 " + r + " four", "set " + r + "/none x", "get " + r + "/acl",
		"getAcl " + r, "getAcl -s " + r + "/acl", "setAcl -R " + r + " world:anyone:cdrwa", "setAcl " + r + "/c world:anyone:ra", "getAcl " + r + "/c", "set " + r + "/acl x",
		"whoami", "addauth digest u:p", "whoami", "create " + r + "/user x auth::cdrwa", "getAcl " + r + "/user",
		"getEphemerals " + r, "getEphemerals", "getAllChildrenNumber " + r,
		"setquota -n 3 " + r, "listquota " + r, "create " + r + "/over", "delquota " + r, "listquota " + r,
		"sync " + r, "config", "config -s", "reconfig -add server.5=localhost:1:2;3", "delete " + r, "delete -v 7 " + r + "/over", "delete " + r + "/over",
	} {
		h.run(command)
	}
	other := s.client()
	watched := func(what, command, path string, change func()) {
		h.run(command)
		change()
		h.told(what, "path:"+path)
	}
	watched("a data watch", "get -w "+r, r, func() { s.set(other, r, "5") })
	watched("a child watch", "ls -w "+r, r, func() { s.create(other, r+"/w", "", 0) })
	watched("an exists watch", "stat -w "+r+"/w", r+"/w", func() { s.remove(other, r+"/w") })
	watched("a recursive watch", "addWatch -m PERSISTENT_RECURSIVE "+r, r+"/w", func() { s.create(other, r+"/w", "", 0) })
	watched("goes on", "get "+r+"/w", r+"/w", func() { s.set(other, r+"/w", "6") })

	s.server.relay.Refuse()
	h.told("cut", "state:Disconnected")
	s.must(s.server.relay.Accept())
	h.told("back", "state:SyncConnected")
	h.run("get " + r + "/e")
	watched("the watch is still there", "get "+r+"/w", r+"/w", func() { s.set(other, r+"/w", "7") })
	h.run("removewatches " + r)
	h.told("removed", "path:"+r)
	h.run("deleteall " + r)
	h.run("ls " + r)
	h.run("bogus")
	s.must(h.app.Say("quit"))
	h.ends()
}
