package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs serve on a loopback port until the test ends.
func start(t *testing.T, serve func(context.Context, net.Listener) error) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var served sync.WaitGroup
	served.Go(func() {
		if err := serve(ctx, ln); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); served.Wait() })
	return ln.Addr().String()
}

// startServer runs a server in memory, and gives its tree.
func startServer(t *testing.T) (addr string, tree *znode.Tree) {
	t.Helper()
	tree, err := znode.New(znode.Config{Reserved: sessions.ReservedID(1)})
	require.NoError(t, err)
	manager, err := sessions.New(sessions.Config{
		Bridge: 1, Incarnation: 1, Key: bytes.Repeat([]byte{7}, 32), MinTimeout: time.Second, MaxTimeout: time.Minute, Expire: server.Expire(tree, nil),
	})
	require.NoError(t, err)
	srv := server.New(server.Config{Tree: tree, Sessions: manager})
	return start(t, func(ctx context.Context, ln net.Listener) error {
		var expirer sync.WaitGroup
		expirer.Go(func() { _ = manager.Run(ctx) })
		defer expirer.Wait()
		return srv.Serve(ctx, ln)
	}), tree
}

// TestQuick: every case runs, fills in every number and leaves nothing behind.
// What the numbers are is nobody's business here.
func TestQuick(t *testing.T) {
	addr, tree := startServer(t)
	other, _ := startServer(t)
	canned := start(t, ServeFloor)
	before := tree.Stats()
	servers := []Server{{Name: "a", Addr: addr, PID: os.Getpid()}, {Name: "b", Addr: other}, {Name: "floor", Addr: canned, Only: FloorCases()}}
	r, err := Run(t.Context(), servers, Options{Quick: true, Rounds: 2})
	require.NoError(t, err)
	names, _ := Cases()
	require.Len(t, r.Cases, len(names))
	for _, c := range r.Cases {
		require.NotEmpty(t, c.Samples["a"], c.Name)
		_, canned := c.Samples["floor"]
		require.Equal(t, canned, slices.Contains(FloorCases(), c.Name), c.Name)
		for _, m := range c.Metrics {
			require.Contains(t, m.Medians, "a", "%s, %s", c.Name, m.Name)
			if m.Name == "rate" {
				require.Positive(t, m.Medians["a"], "%s, %s", c.Name, m.Name)
				require.Positive(t, m.Factors["b"], "%s, %s", c.Name, m.Name)
			}
			if m.Name == "earliest" {
				require.GreaterOrEqual(t, m.Medians["a"], 0.0, "a session never expires early")
			}
		}
	}
	require.Eventually(t, func() bool { return tree.Stats().Nodes == before.Nodes }, 10*time.Second, time.Millisecond, "all nodes are removed again")

	var out bytes.Buffer
	require.NoError(t, r.Print(&out))
	require.Contains(t, out.String(), "getdata16")
	var saved bytes.Buffer
	require.NoError(t, r.Save("-", &saved))
	var back Report
	require.NoError(t, json.Unmarshal(saved.Bytes(), &back))
	require.Equal(t, r.Cases, back.Cases)
}

func TestUnknownNamesAreRefused(t *testing.T) {
	_, err := Run(t.Context(), []Server{{Name: "a"}}, Options{Cases: []string{"getdata2"}})
	require.ErrorContains(t, err, `no such case: "getdata2" (one of getdata1 getdata16 exists`)
	_, err = Run(t.Context(), []Server{{Name: "a"}}, Options{Rounds: -1})
	require.Error(t, err)
}

// A server that nobody can reach is named, with the case and what was done.
func TestNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	require.NoError(t, ln.Close())
	_, err = Run(t.Context(), []Server{{Name: "gone", Addr: addr}}, Options{Quick: true})
	require.ErrorContains(t, err, "getdata1: prepare gone")
}

// A server that takes connections and says nothing is left when the context ends.
func TestSilentServer(t *testing.T) {
	addr, _ := startServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := dial(ctx, addr, 64)
	require.NoError(t, err)
	cancel()
	_, err = c.event()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.end())
}

// A bridge on its defaults lets sixty connections in from one address; that is
// said.
func TestConnectionsPerAddress(t *testing.T) {
	tree, err := znode.New(znode.Config{Reserved: sessions.ReservedID(1)})
	require.NoError(t, err)
	manager, err := sessions.New(sessions.Config{Bridge: 1, Incarnation: 1, Key: bytes.Repeat([]byte{7}, 32), Expire: server.Expire(tree, nil)})
	require.NoError(t, err)
	srv := server.New(server.Config{Tree: tree, Sessions: manager, MaxConnectionsPerAddress: 1})
	addr := start(t, srv.Serve)
	_, err = connect(t.Context(), addr, 3, 64)
	require.ErrorContains(t, err, "maxConnectionsPerAddress")
}

func TestFindPID(t *testing.T) {
	if _, err := os.Stat("/proc/net/tcp"); err != nil {
		t.Skip("no /proc on this system")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	require.Equal(t, os.Getpid(), FindPID(ln.Addr().String()))
	require.Zero(t, FindPID("192.0.2.1:2181"))
	require.Zero(t, FindPID("nonsense"))
}
