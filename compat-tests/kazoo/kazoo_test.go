//go:build compat

package kazoo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m, fetch)) }

func fetch(ctx context.Context) error {
	_, err := python(ctx)
	return err
}

func TestKazoo(t *testing.T) { scenario.Test(t, family(), nil) }

// What kazoo's users do, and what they see of it: single operations,
// transactions, watches, sessions that are resumed, expire and are taken over
// (field report 7), and the recipes.
func TestTranscripts(t *testing.T) {
	var mu sync.Mutex
	transcripts := map[control.Kind]map[string][]string{}
	kinds := control.Selected(t)
	t.Run("on", func(t *testing.T) {
		for _, kind := range kinds {
			t.Run(string(kind), func(t *testing.T) {
				t.Parallel()
				target := control.Start(t, kind, control.Options{Tick: 500 * time.Millisecond})
				mine := map[string][]string{}
				mu.Lock()
				transcripts[kind] = mine
				mu.Unlock()
				for _, script := range scripts {
					t.Run(script, func(t *testing.T) {
						lines := play(t, target, control.ScratchDir(t, "script"), script)
						if len(lines) == 0 {
							t.Fatal("the script said nothing")
						}
						mine[script] = lines
					})
				}
			})
		}
	})
	reference, ok := transcripts[control.ZooKeeper]
	if !ok {
		if len(kinds) == len(control.Kinds()) {
			t.Fatal("the control has no transcripts: nothing to compare with")
		}
		t.Logf("the control was not selected: nothing to compare with")
		return
	}
	for _, kind := range kinds {
		if kind == control.ZooKeeper {
			continue
		}
		for _, script := range scripts {
			t.Run("compare/"+string(kind)+"/"+script, func(t *testing.T) {
				if reference[script] == nil || transcripts[kind][script] == nil {
					t.Fatal("a transcript is missing, see above")
				}
				compare(t, reference[script], transcripts[kind][script])
			})
		}
	}
}

var fenced = regexp.MustCompile("(?s)```(yaml|python)\n(.*?)```")

// The program in docs/dubbo.md that writes a migration rule does so, twice, and
// the rule is the one that the page shows.
func TestMigrationRuleOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(control.Root(), "docs", "dubbo.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		blocks[m[1]] = m[2]
	}
	const address = "127.0.0.1:2181"
	if blocks["yaml"] == "" || !strings.Contains(blocks["python"], address) {
		t.Fatalf("docs/dubbo.md has lost its rule or its program: %q", blocks)
	}
	interpreter, err := python(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	control.Each(t, control.Options{}, func(t *testing.T, target control.Target) {
		for range 2 { // the node is not there, then it is
			cmd := exec.CommandContext(t.Context(), interpreter, "-c", strings.ReplaceAll(blocks["python"], address, target.Addr()))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			data, stat, err := scenario.Connect(t, target.Addr()).Get("/dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION/shop-web.migration")
			if err != nil {
				t.Fatal(err)
			}
			if string(data) != blocks["yaml"] || stat.EphemeralOwner != 0 {
				t.Errorf("got %q of session %#x, want %q, persistent", data, stat.EphemeralOwner, blocks["yaml"])
			}
		}
	})
}
