package scenario

import (
	"sync"
	"testing"

	"zkbridge/compat-tests/control"
)

// Test plays the scenario on every selected kind of target at the same time and
// compares the records of the bridge with that of the control. further, if not
// nil, goes on with a run after the scenario, its consumer still up.
func Test(t *testing.T, f Family, further func(t *testing.T, r *Run)) {
	t.Helper()
	var mu sync.Mutex
	records := map[control.Kind]Record{}
	kinds := control.Selected(t)
	t.Run("on", func(t *testing.T) {
		for _, kind := range kinds {
			t.Run(string(kind), func(t *testing.T) {
				t.Parallel()
				target := control.Start(t, kind, control.Options{MinSession: f.MinSession, MaxSession: MaxSession})
				run := Play(t, target, f)
				if further != nil {
					further(t, run)
				}
				record := run.Close(t)
				mu.Lock()
				records[kind] = record
				mu.Unlock()
			})
		}
	})
	reference, ok := records[control.ZooKeeper]
	if !ok {
		if len(kinds) == len(control.Kinds()) {
			t.Fatal("the control did not get through the scenario: nothing to compare with")
		}
		t.Logf("the control was not selected: nothing to compare with")
		return
	}
	for _, kind := range kinds {
		record, ok := records[kind]
		if kind == control.ZooKeeper || !ok {
			continue
		}
		t.Run("compare/"+string(kind), func(t *testing.T) { Compare(t, reference, record) })
	}
}
