package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// transcript is what one client saw on one server.
type transcript struct {
	order []string            // the scenarios, in the order of their beginnings
	lines map[string][]string // by scenario
}

func (t *transcript) add(scenario, text string) {
	if t.lines == nil {
		t.lines = map[string][]string{}
	}
	if !slices.Contains(t.order, scenario) {
		t.order = append(t.order, scenario)
	}
	t.lines[scenario] = append(t.lines[scenario], text)
}

// keep leaves the transcript in dir, for people.
func (t *transcript) keep(tb testing.TB, dir, server string) {
	tb.Helper()
	var out strings.Builder
	for _, scenario := range t.order {
		for _, line := range t.lines[scenario] {
			fmt.Fprintf(&out, "%s: %s\n", scenario, line)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, server+".txt"), []byte(out.String()), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// compare fails the test where the transcript of a server is not the control's,
// with one subtest for each scenario.
func compare(t *testing.T, server string, reference, other *transcript) {
	t.Helper()
	for _, scenario := range reference.order {
		t.Run(server+"/"+scenario, func(t *testing.T) {
			want, got := reference.lines[scenario], other.lines[scenario]
			for i := range max(len(want), len(got)) {
				w, g := "(nothing more)", "(nothing more)"
				if i < len(want) {
					w = want[i]
				}
				if i < len(got) {
					g = got[i]
				}
				if w != g {
					t.Errorf("line %d:\n got  %s\n want %s", i+1, g, w)
				}
				if i >= len(want) || i >= len(got) {
					break
				}
			}
		})
	}
	for _, scenario := range other.order {
		if !slices.Contains(reference.order, scenario) {
			t.Errorf("%s: only %s has this scenario", scenario, server)
		}
	}
}
