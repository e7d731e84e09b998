package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/observer"
)

// BuildObserver builds the observer into the cache and returns the program's
// path.
func BuildObserver(ctx context.Context) (string, error) {
	return control.GoProgram(ctx, control.Root(), "./compat-tests/observer/program", "observer")
}

// Watch is the observer of one run: the program, beside what the test itself
// knows of clients, processes and servers.
type Watch struct {
	process *control.Process
	file    string // what the program prints

	mu    sync.Mutex
	facts []observer.Event
}

// watch starts the observer in front of a target that serves. service is the
// registry's name of what the run is about.
func watch(tb testing.TB, target control.Target, dir, service string) *Watch {
	tb.Helper()
	program, err := BuildObserver(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	w := &Watch{file: filepath.Join(dir, "observer.jsonl")}
	out, err := os.Create(w.file)
	if err != nil {
		tb.Fatal(err)
	}
	defer out.Close()
	args := []string{program, "-zookeeper", target.Addr()}
	if target.RegistryURL() != "" {
		args = append(args, "-registry", target.RegistryURL(), "-service", service)
	}
	w.process, err = control.Run(control.Command{Name: "observer", Args: args, Log: filepath.Join(dir, "observer.log"), Stdout: out})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = w.process.Kill() })
	return w
}

// Record takes what is known beside the lists.
func (w *Watch) Record(e observer.Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if e.Asked.IsZero() {
		e.Asked = e.At
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts = append(w.facts, e)
}

// History is everything seen so far, by the program and by the test.
func (w *Watch) History(tb testing.TB) []observer.Event {
	tb.Helper()
	file, err := os.Open(w.file)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	seen, err := observer.Read(file)
	if err != nil && !strings.Contains(err.Error(), "unexpected EOF") { // the last line may be half written
		tb.Fatalf("read the observer's history: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(seen, w.facts...)
}

// Arrival waits up to limit until an address has arrived at a side, and returns
// how long after its registration that was.
func (w *Watch) Arrival(tb testing.TB, side observer.Side, address string, limit time.Duration) (time.Duration, error) {
	tb.Helper()
	for end := time.Now().Add(limit); ; {
		arrivals := observer.Judge(w.History(tb), observer.Limits{}).Arrivals
		for i := len(arrivals) - 1; i >= 0; i-- {
			if arrivals[i].Side == side && arrivals[i].Address == address {
				return arrivals[i].After, nil
			}
		}
		if time.Now().After(end) {
			return 0, fmt.Errorf("%s has not come to the %s within %v", address, side, limit)
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
}

// finish ends the observer and judges what it saw. The whole history is kept in
// a file beside the logs.
func (w *Watch) finish(tb testing.TB, dir string) observer.Report {
	tb.Helper()
	select {
	case <-w.process.Done():
		tb.Errorf("the observer has ended early: %v", w.process.Ended())
	default:
		if err := w.process.Stop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("stop the observer: %v", err)
		}
	}
	history := w.History(tb)
	keep(tb, filepath.Join(dir, "history.jsonl"), history)
	report := observer.Judge(history, observer.Limits{})
	for _, f := range report.Faults {
		tb.Errorf("observer: %v", f)
	}
	return report
}

func keep(tb testing.TB, path string, history []observer.Event) {
	tb.Helper()
	file, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	encode := json.NewEncoder(file)
	for _, e := range history {
		if err := encode.Encode(e); err != nil {
			tb.Fatal(err)
		}
	}
}

// FetchObserver builds the observer, for [control.Isolate].
func FetchObserver(ctx context.Context) error {
	_, err := BuildObserver(ctx)
	return err
}
