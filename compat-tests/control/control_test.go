//go:build compat

package control_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/control"
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m)) }

func TestNamespaceHasTheProvidersAddress(t *testing.T) {
	l, err := net.Listen("tcp", control.ProviderIP+":0")
	require.NoError(t, err)
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	conn.Close()
	devices, err := net.Interfaces()
	require.NoError(t, err)
	require.Len(t, devices, 1, "only the loopback device")
}

func TestZooKeeperLivesDiesAndComesBack(t *testing.T) {
	z := control.Start(t, control.ZooKeeper, control.Options{MaxSession: 6 * time.Second})
	text, err := control.FourLetters(t.Context(), z.Addr(), "conf")
	require.NoError(t, err)
	require.Contains(t, text, "maxSessionTimeout=6000")
	pid := z.Pid()
	require.NoError(t, z.Kill(t.Context()))
	_, err = control.FourLetters(t.Context(), z.Addr(), "srvr")
	require.Error(t, err)
	require.NoError(t, z.Start(t.Context()))
	require.NotEqual(t, pid, z.Pid())
	require.NoError(t, z.Restart(t.Context()))
	require.NoError(t, z.Stop(t.Context()))
}

// echo answers every line with the same line.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); conn.Close() }()
		}
	}()
	return l.Addr().String()
}

type line struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *line {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &line{conn, bufio.NewReader(conn)}
}

func (l *line) say(text string, limit time.Duration) (string, error) {
	if _, err := io.WriteString(l, text+"\n"); err != nil {
		return "", err
	}
	if err := l.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	answer, err := l.in.ReadString('\n')
	return strings.TrimSuffix(answer, "\n"), err
}

func TestRelay(t *testing.T) {
	relay, err := control.NewRelay("", echo(t))
	require.NoError(t, err)
	defer relay.Close()

	first := dial(t, relay.Addr())
	answer, err := first.say("one", time.Second)
	require.NoError(t, err)
	require.Equal(t, "one", answer)

	relay.Stall()
	_, err = first.say("two", 100*time.Millisecond)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "got %v, want silence", err)
	relay.Flow()
	require.NoError(t, first.SetReadDeadline(time.Now().Add(time.Second)))
	late, err := first.in.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "two\n", late, "what was held back comes")

	relay.Cut()
	_, err = first.say("three", time.Second)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "a cut is seen at once")

	second := dial(t, relay.Addr())
	_, err = second.say("four", time.Second)
	require.NoError(t, err)
	relay.HalfOpen()
	for range 3 {
		_, err = second.say("five", 50*time.Millisecond)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "got %v, want silence", err)
	}
	third := dial(t, relay.Addr())
	_, err = third.say("six", time.Second)
	require.NoError(t, err, "new connections work")

	started := time.Now()
	refused := make(chan error, 1)
	go func() { refused <- relay.RefuseFor(300 * time.Millisecond) }()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", relay.Addr())
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, time.Second, time.Millisecond, "connections are refused")
	require.NoError(t, <-refused)
	require.GreaterOrEqual(t, time.Since(started), 300*time.Millisecond)
	_, err = dial(t, relay.Addr()).say("seven", time.Second)
	require.NoError(t, err)
}
