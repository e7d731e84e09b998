package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// Connect opens a client of the tests' own, closed when the test ends.
func Connect(tb testing.TB, addr string) *zk.Conn {
	tb.Helper()
	conn, _, err := zk.Connect([]string{addr}, 20*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		tb.Fatalf("connect to %s: %v", addr, err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// Put writes a persistent node, making its parents.
func Put(tb testing.TB, conn *zk.Conn, path, data string) {
	tb.Helper()
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			if _, err := conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				tb.Fatalf("create %s: %v", path[:i], err)
			}
		}
	}
	if _, err := conn.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
		tb.Fatalf("create %s: %v", path, err)
	}
}

// Children lists a directory; one that does not exist is empty.
func Children(conn *zk.Conn, dir string) ([]string, error) {
	names, _, err := conn.Children(dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}

// Kinds of nodes in a listed tree.
const (
	persistent = "persistent"
	ephemeral  = "ephemeral "
)

// tree lists every node below / but the server's own, each as one line: kind,
// path, data, with the run's own values replaced.
func tree(conn *zk.Conn, l labels) ([]string, error) {
	var lines []string
	var walk func(path string) error
	walk = func(path string) error {
		if path == "/zookeeper" {
			return nil
		}
		dir := strings.TrimSuffix(path, "/")
		names, _, err := conn.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", path, err)
		}
		if path != "/" {
			data, stat, err := conn.Get(path)
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			kind := persistent
			if stat.EphemeralOwner != 0 {
				kind = ephemeral
			}
			lines = append(lines, fmt.Sprintf("%s %s %s", kind, l.replace(path), l.data(data)))
		}
		for _, name := range names {
			if err := walk(dir + "/" + name); err != nil {
				return err
			}
		}
		return nil
	}
	err := walk("/")
	slices.Sort(lines)
	return lines, err
}

// settledTree reads the tree until it has been the same for a second, at most
// for ten: clients write metadata a moment after they register.
func settledTree(tb testing.TB, conn *zk.Conn, l labels) []string {
	tb.Helper()
	const quiet = time.Second
	var seen []string
	since := time.Now()
	for limit := time.Now().Add(10 * time.Second); ; {
		now, err := tree(conn, l)
		if err != nil {
			tb.Fatalf("read the tree: %v", err)
		}
		if seen == nil || !slices.Equal(now, seen) {
			seen, since = now, time.Now()
		}
		if time.Since(since) >= quiet || time.Now().After(limit) {
			return seen
		}
		time.Sleep(50 * time.Millisecond) // between two readings
	}
}
