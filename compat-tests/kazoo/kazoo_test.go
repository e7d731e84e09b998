//go:build compat

package kazoo

import (
	"context"
	"os"
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
