package kazoo

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"zkbridge/compat-tests/control"
)

// scripts are the programs of app that make a transcript.
var scripts = []string{"nodes", "transactions", "watches", "sessions", "recipes"}

// scriptLimit is how long a script may be silent, on a busy machine.
const scriptLimit = 60 * time.Second

var asks = regexp.MustCompile(`^(DO .*|END)$`)

// play runs a script against target and returns its transcript, which it also
// leaves in dir.
func play(tb testing.TB, target control.Target, dir, script string) []string {
	tb.Helper()
	relay, err := control.NewRelay("", target.Addr())
	if err != nil {
		tb.Fatal(err)
	}
	defer relay.Close()
	app := start(tb, script, 0, dir, "scripts.py", script, "relay="+relay.Addr(), "direct="+target.Addr())
	for mark := 0; ; {
		line, err := app.Await(tb.Context(), mark, scriptLimit, asks)
		if err != nil {
			tb.Fatalf("%s on %s: %v", script, target.Name(), err)
		}
		for i, l := range app.Lines(mark) {
			if l == line {
				mark += i + 1
				break
			}
		}
		if line.Text == "END" {
			break
		}
		if err := inflict(relay, strings.TrimPrefix(line.Text, "DO ")); err != nil {
			tb.Fatalf("%s on %s: %v", script, target.Name(), err)
		}
		if err := app.Say("done"); err != nil {
			tb.Fatalf("%s on %s: %v", script, target.Name(), err)
		}
	}
	var transcript []string
	for _, l := range app.Lines(0) {
		if text, ok := strings.CutPrefix(l.Text, "> "); ok {
			transcript = append(transcript, text)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "transcript.txt"), []byte(strings.Join(transcript, "\n")+"\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	return transcript
}

// inflict does to the network what a script asks for.
func inflict(relay *control.Relay, fault string) error {
	switch fault {
	case "cut":
		relay.Cut()
	case "refuse":
		relay.Refuse()
	case "accept":
		return relay.Accept()
	default:
		return fmt.Errorf("the script asks for an unknown fault: %q", fault)
	}
	return nil
}

// compare fails the test where two transcripts differ.
func compare(t *testing.T, control, other []string) {
	t.Helper()
	for i := range max(len(control), len(other)) {
		want, got := "(nothing more)", "(nothing more)"
		if i < len(control) {
			want = control[i]
		}
		if i < len(other) {
			got = other[i]
		}
		if got != want {
			t.Errorf("line %d:\n got  %s\n want %s", i+1, got, want)
		}
		if i >= len(control) || i >= len(other) {
			break
		}
	}
}
