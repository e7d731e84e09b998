//go:build compat

package clients

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"zkbridge/compat-tests/control"
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m, fetch)) }

// fetch gets every client before the tests begin.
func fetch(ctx context.Context) error {
	for _, c := range javaClients() {
		if _, err := c.classpath(ctx); err != nil {
			return err
		}
	}
	if _, err := cClient(); err != nil {
		return err
	}
	if _, err := nodeClient(ctx); err != nil {
		return err
	}
	_, err := zkCliClasspath(ctx)
	return err
}

// kinds are the servers the clients run against. With the bridge among them the
// one whose registry is apart is left out: a client of a plain tree can see no
// difference.
func kinds(tb testing.TB) []control.Kind {
	tb.Helper()
	selected := control.Selected(tb)
	if !slices.Contains(selected, control.Bridge) {
		return selected
	}
	return slices.DeleteFunc(selected, func(k control.Kind) bool { return k == control.BridgeRegistry })
}

// Every client goes through its scenarios on the control and on the bridge, and
// sees the same on both.
func TestClients(t *testing.T) {
	var targets []control.Target
	for _, kind := range kinds(t) {
		targets = append(targets, control.Start(t, kind, control.Options{
			Tick: 500 * time.Millisecond, MinSession: 4 * time.Second, MaxSession: 20 * time.Second,
			Lines: []string{"extendedTypesEnabled=false"}, // the bridge's default
		}))
	}
	for _, c := range []struct {
		name string
		play func(tb testing.TB, servers []server, dir string) map[string]*transcript
	}{
		{"go-zookeeper", func(tb testing.TB, servers []server, dir string) map[string]*transcript {
			return playScripts(tb, servers, dir, "go", goScenarios)
		}},
		{"c", playC},
		{"zkcli", playZkCli},
		{"node", playNode},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := control.ScratchDir(t, "program")
			check(t, dir, c.play(t, relays(t, targets), dir))
		})
	}
	for _, c := range javaClients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := control.ScratchDir(t, "program")
			check(t, dir, play(t, relays(t, targets), dir, c.command(t)))
		})
	}
}

// check compares what a client saw on the bridge with what it saw on the control.
func check(t *testing.T, dir string, seen map[string]*transcript) {
	t.Helper()
	for name, transcript := range seen {
		transcript.keep(t, dir, name)
		if len(transcript.order) == 0 {
			t.Errorf("the client said nothing of %s", name)
		}
	}
	reference := seen[string(control.ZooKeeper)]
	if reference == nil {
		t.Logf("the control was not selected: nothing to compare with")
		return
	}
	for name, transcript := range seen {
		if name != string(control.ZooKeeper) {
			compare(t, name, reference, transcript)
		}
	}
}
