package apps

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"zkbridge/compat-tests/control"
)

// Line is one line that an application printed.
type Line struct {
	At   time.Time
	Text string
}

// App is an application that was started.
type App struct {
	Name    string
	Port    int // where it serves; 0 for a consumer
	Log     string
	process *control.Process

	mu    sync.Mutex
	lines []Line
	more  chan struct{} // closed and replaced at every line
	rest  []byte        // the line that is not complete yet
}

// Command says how to start an application.
type Command struct {
	Name string // what failures call it, and its log file
	Port int
	Args []string // program and arguments
	Env  []string
	Dir  string // for its log and as its working directory
}

// Start starts an application for one test. When the test ends it is killed and,
// if the test failed, its lines and the end of its log are printed.
func Start(tb testing.TB, c Command) *App {
	tb.Helper()
	a := &App{Name: c.Name, Port: c.Port, Log: filepath.Join(c.Dir, c.Name+".log"), more: make(chan struct{})}
	// Applications stand back behind the servers, whose delays are measured.
	p, err := control.Run(control.Command{Nice: 5, Name: c.Name, Args: c.Args, Env: c.Env, Dir: c.Dir, Log: a.Log, Stdout: writer{a}, Stdin: true})
	if err != nil {
		tb.Fatal(err)
	}
	a.process = p
	tb.Cleanup(func() {
		if err := p.Kill(); err != nil {
			tb.Errorf("kill %s: %v", c.Name, err)
		}
		if tb.Failed() {
			tb.Logf("%s said:\n%s", c.Name, a.Transcript())
			control.PrintLogs(tb, a.Log)
		}
	})
	return a
}

// writer takes an application's standard output.
type writer struct{ a *App }

func (w writer) Write(b []byte) (int, error) {
	a := w.a
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.rest = append(a.rest, b...)
	for {
		text, rest, found := bytes.Cut(a.rest, []byte("\n"))
		if !found {
			break
		}
		a.lines = append(a.lines, Line{At: now, Text: strings.TrimRight(string(text), "\r")})
		a.rest = rest
	}
	close(a.more)
	a.more = make(chan struct{})
	return len(b), nil
}

// Mark is a position in what the application has printed: lines from here on
// are later than now.
func (a *App) Mark() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.lines)
}

// Lines are the lines from mark on.
func (a *App) Lines(mark int) []Line {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Line(nil), a.lines[min(mark, len(a.lines)):]...)
}

// Transcript is everything the application has printed.
func (a *App) Transcript() string {
	var out strings.Builder
	for _, line := range a.Lines(0) {
		fmt.Fprintf(&out, "%s %s\n", line.At.Format("15:04:05.000"), line.Text)
	}
	return out.String()
}

// Await returns the first line from mark on that matches, waiting for it up to
// limit or until the application ends.
func (a *App) Await(ctx context.Context, mark int, limit time.Duration, match *regexp.Regexp) (Line, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		a.mu.Lock()
		for _, line := range a.lines[min(mark, len(a.lines)):] {
			if match.MatchString(line.Text) {
				a.mu.Unlock()
				return line, nil
			}
		}
		more := a.more
		a.mu.Unlock()
		select {
		case <-more:
		case <-a.process.Done():
			return Line{}, a.process.Ended()
		case <-ctx.Done():
			return Line{}, ctx.Err()
		case <-timer.C:
			return Line{}, fmt.Errorf("%s has not said %q within %v", a.Name, match, limit)
		}
	}
}

var ready = regexp.MustCompile(`^READY `)

// AwaitReady waits until the application says that it is up.
func (a *App) AwaitReady(tb testing.TB) {
	tb.Helper()
	if _, err := a.Await(tb.Context(), 0, 90*time.Second, ready); err != nil {
		tb.Fatal(err)
	}
}

// Say sends a command.
func (a *App) Say(command string) error { return a.process.Input(command) }

var called = regexp.MustCompile(`^CALL `)

// Call makes a consumer call and returns its answer without "CALL ".
func (a *App) Call(ctx context.Context) (string, error) {
	mark := a.Mark()
	if err := a.Say("call"); err != nil {
		return "", err
	}
	line, err := a.Await(ctx, mark, 30*time.Second, called)
	return strings.TrimPrefix(line.Text, "CALL "), err
}

// End ends the application gracefully and waits until its process is gone.
func (a *App) End(ctx context.Context) error {
	if err := a.Say("exit"); err != nil {
		return err
	}
	select {
	case <-a.process.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(30 * time.Second):
		return fmt.Errorf("%s is still running 30 s after it was told to exit", a.Name)
	}
}

// Kill ends the application with SIGKILL.
func (a *App) Kill() error { return a.process.Kill() }

// Process is the application's process.
func (a *App) Process() *control.Process { return a.process }
