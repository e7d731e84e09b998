package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stopLimit is how long a process may take to end after SIGTERM.
const stopLimit = 10 * time.Second

// Process is a child process: its output goes to a file, it is ended by its own
// pid, and it dies with the test binary. It runs once.
type Process struct {
	Name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process is gone

	stdin io.WriteCloser

	mu  sync.Mutex
	err error // how it ended, set before done is closed
}

// Command says what to run.
type Command struct {
	Name   string   // what failures call it
	Args   []string // program and arguments
	Env    []string // added to the environment of the test
	Dir    string   // working directory
	Log    string   // file that standard output and error are appended to
	Stdout io.Writer
	Stdin  bool // open a pipe, reachable by [Process.Input]
	Nice   int  // how far the process stands back: 0 not at all, 19 most
}

// Run starts the command.
func Run(c Command) (*Process, error) {
	file, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the child has its own descriptor; with Stdout set, see below
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stderr = file
	cmd.Stdout = file
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &Process{Name: c.Name, log: c.Log, cmd: cmd, done: make(chan struct{})}
	if c.Stdin {
		if p.stdin, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	if c.Nice != 0 {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, c.Nice) // a wish
	}
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(p.done)
	}()
	return p, nil
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive reports whether the process still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Ended describes how the process ended, for a failure's text.
func (p *Process) Ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return fmt.Errorf("%s ended by itself (status 0), log %s", p.Name, p.log)
	}
	return fmt.Errorf("%s ended: %w, log %s:\n%s", p.Name, p.err, p.log, Tail(p.log, 20))
}

// Input writes a line to the process's standard input.
func (p *Process) Input(line string) error {
	if p.stdin == nil {
		return fmt.Errorf("%s has no standard input", p.Name)
	}
	_, err := io.WriteString(p.stdin, line+"\n")
	return err
}

// Signal sends a signal to the process; a process that is gone is no error.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (p *Process) Kill() error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// Stop ends the process with SIGTERM and waits until it is gone. One that is
// still there after ten seconds is killed, which is an error.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Kill())
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("%s was still running %v after SIGTERM", p.Name, stopLimit), p.Kill())
	}
}

// Tail returns the last n lines of a file, or a remark that says why not.
func Tail(path string, n int) string {
	body, err := os.ReadFile(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimRight(string(body), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// PrintLogs prints the ends of log files into the test's output.
func PrintLogs(tb testing.TB, paths ...string) {
	tb.Helper()
	for _, path := range paths {
		tb.Logf("end of %s:\n%s", path, Tail(path, 60))
	}
}
