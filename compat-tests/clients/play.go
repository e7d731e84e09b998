package clients

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
)

// silence is how long a program may say nothing, on a busy machine.
const silence = 90 * time.Second

// brokeOff begins what a program says of a scenario that it could not finish.
const brokeOff = "BROKE OFF"

var (
	asks = regexp.MustCompile(`^(\S+) DO (\S+)$|^END$`)
	says = regexp.MustCompile(`^(\S+)> ([^:]+): (.*)$`)
)

// server is a server that clients are run against, with the relay in front of it
// that belongs to one client.
type server struct {
	name   string
	relay  *control.Relay
	direct string
}

// relays puts a relay in front of every target, for one client.
func relays(tb testing.TB, targets []control.Target) []server {
	tb.Helper()
	var servers []server
	for _, target := range targets {
		relay, err := control.NewRelay("", target.Addr())
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { relay.Close() })
		servers = append(servers, server{name: target.Name(), relay: relay, direct: target.Addr()})
	}
	return servers
}

// play runs a program through its scenarios on all servers and returns what it
// saw, by the server's name.
func play(tb testing.TB, servers []server, dir string, args []string) map[string]*transcript {
	tb.Helper()
	seen := map[string]*transcript{}
	for _, s := range servers {
		seen[s.name] = &transcript{}
		args = append(args, fmt.Sprintf("%s=%s,%s", s.name, s.relay.Addr(), s.direct))
	}
	app := apps.Start(tb, apps.Command{Name: "client", Args: args, Dir: dir})
	for mark := 0; ; {
		line, err := app.Await(tb.Context(), mark, silence, asks)
		if err != nil {
			tb.Fatal(err)
		}
		mark += slices.Index(app.Lines(mark), line) + 1
		if line.Text == "END" {
			break
		}
		m := asks.FindStringSubmatch(line.Text)
		i := slices.IndexFunc(servers, func(s server) bool { return s.name == m[1] })
		if i < 0 {
			tb.Fatalf("the program asks for a fault of a server it was not given: %q", line.Text)
		}
		if err := inflict(servers[i].relay, m[2]); err != nil {
			tb.Fatal(err)
		}
		if err := app.Say("done"); err != nil {
			tb.Fatal(err)
		}
	}
	for _, line := range app.Lines(0) {
		if m := says.FindStringSubmatch(line.Text); m != nil && seen[m[1]] != nil {
			seen[m[1]].add(m[2], m[3])
			if strings.HasPrefix(m[3], brokeOff) {
				tb.Errorf("%s: %s: %s", m[1], m[2], m[3])
			}
		}
	}
	return seen
}

// inflict does to the network what a program asks for.
func inflict(relay *control.Relay, fault string) error {
	switch fault {
	case "cut":
		relay.Cut()
	case "refuse":
		relay.Refuse()
	case "accept":
		return relay.Accept()
	default:
		return fmt.Errorf("the program asks for an unknown fault: %q", fault)
	}
	return nil
}
