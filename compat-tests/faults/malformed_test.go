//go:build compat

package faults_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/wire"
	"zkbridge/zkproto"
)

var (
	inputs = flag.Int("inputs", 10_000, "malformed frames and handshakes to send")
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano())%1e12, "of the malformed inputs")
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m)) }

// TestMalformedInputs sends malformed frames and handshakes from eight clients at a
// time while another one works and watches.
func TestMalformedInputs(t *testing.T) {
	t.Logf("seed %d", *seed)
	target := control.Start(t, control.Bridge, control.Options{})
	good := newWorker(t, target.Addr())
	calm := good.during(t, func() {
		for good.rounds.Load() < 200 {
			time.Sleep(time.Millisecond) // as long as it takes
		}
	})
	before, alive := resident(t, target.Pid()), connections(t, target)

	var sent, served atomic.Int64
	attacked := good.during(t, func() {
		var group sync.WaitGroup
		for i := range 8 {
			a := &attacker{addr: target.Addr(), r: rand.New(rand.NewPCG(*seed, uint64(i))), sent: &sent, served: &served}
			group.Go(func() {
				for sent.Load() < int64(*inputs) {
					a.attack()
				}
			})
		}
		group.Wait()
	})
	good.end(t)

	t.Logf("%d inputs, after %d of which the server still answered; the client's operations: without them p99 %v, with them %d, p99 %v, at most %v",
		sent.Load(), served.Load(), percentile(calm, 99), len(attacked), percentile(attacked, 99), attacked[len(attacked)-1])
	require.Less(t, percentile(attacked, 99), 500*time.Millisecond)
	require.Eventually(t, func() bool { return connections(t, target) <= alive }, 10*time.Second, 50*time.Millisecond, "connections are left")
	after := resident(t, target.Pid())
	t.Logf("resident: %d MB before, %d MB after", before>>20, after>>20)
	require.Less(t, after, before+(128<<20))
}

// worker is a client that works and one that watches it.
type worker struct {
	stage      *wire.Stage
	at, beside *wire.Conn
	rounds     atomic.Int64
	number     int
}

func newWorker(t *testing.T, addr string) *worker {
	t.Helper()
	w := &worker{stage: wire.Open(t.Context(), wire.Server{Addr: addr}, 0)}
	t.Cleanup(w.stage.HangUp)
	require.NoError(t, w.stage.Try("connect", func() {
		w.at, w.beside = w.stage.Connect("worker"), w.stage.Connect("beside")
		w.at.Create(wire.Root, 0)
	}))
	return w
}

// during works while fn runs, and returns how long each operation took, the
// quickest first.
func (w *worker) during(t *testing.T, fn func()) []time.Duration {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		fn()
	}()
	var took []time.Duration
	err := w.stage.Try("work", func() {
		for {
			select {
			case <-over:
				return
			default:
				took = append(took, w.round(t)...)
				w.rounds.Add(1)
			}
		}
	})
	require.NoError(t, err)
	<-over
	slices.Sort(took)
	return took
}

// round makes, changes, reads and removes a node; the other client is told of
// each change.
func (w *worker) round(t *testing.T) []time.Duration {
	w.number++
	path := fmt.Sprintf("%s/%d", wire.Root, w.number)
	var took []time.Duration
	timed := func(want zkproto.Code, do func() wire.Reply) wire.Reply {
		start := time.Now()
		r := do()
		took = append(took, time.Since(start))
		require.False(t, r.Closed)
		require.Equal(t, want, r.Err)
		return r
	}
	w.at.Silently(func() {
		w.beside.Silently(func() {
			timed(zkproto.NoNode, func() wire.Reply { return w.beside.Exists(path, true) })
			created := timed(zkproto.OK, func() wire.Reply { return w.at.Create(path, zkproto.FlagEphemeral) })
			require.True(t, w.beside.AwaitEvent())
			timed(zkproto.OK, func() wire.Reply { return w.beside.GetData(path, true) })
			timed(zkproto.OK, func() wire.Reply { return w.at.SetData(path, "new", 0) })
			require.True(t, w.beside.AwaitEvent())
			r := timed(zkproto.OK, func() wire.Reply { return w.at.GetData(path, false) })
			m := r.Body.(*zkproto.GetDataResponse)
			require.Equal(t, "new", string(m.Data))
			require.Equal(t, created.Zxid, m.Stat.Czxid)
			require.Equal(t, w.at.ID, m.Stat.EphemeralOwner)
			timed(zkproto.OK, func() wire.Reply { return w.at.Delete(path, 1) })
		})
	})
	return took
}

// end sees that both sessions are what they were, and ends them.
func (w *worker) end(t *testing.T) {
	t.Helper()
	require.NoError(t, w.stage.Try("end", func() {
		for _, c := range []*wire.Conn{w.at, w.beside} {
			require.Equal(t, zkproto.OK, c.CloseSession().Err)
		}
	}))
}

func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[len(sorted)*p/100]
}

// attacker sends what no client would.
type attacker struct {
	addr         string
	r            *rand.Rand
	sent, served *atomic.Int64
}

// attack opens a connection and sends one malformed handshake, or a good one and
// some malformed frames.
func (a *attacker) attack() {
	nc, err := net.Dial("tcp", a.addr)
	if err != nil {
		return
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(2 * time.Second))
	if a.r.IntN(2) == 0 {
		a.sent.Add(1)
		if _, err := nc.Write(a.handshake()); err == nil {
			a.leave(nc)
		}
		return
	}
	m := zkproto.ConnectRequest{Timeout: 4000, Passwd: make([]byte, zkproto.PasswdSize), HasReadOnly: true}
	if _, err := nc.Write(zkproto.AppendFrame(nil, m.AppendTo)); err != nil {
		return
	}
	if _, err := zkproto.ReadFrame(nc, nil, 1<<20); err != nil {
		return
	}
	for range 1 + a.r.IntN(10) {
		a.sent.Add(1)
		if _, err := nc.Write(a.frame()); err != nil || !a.answers(nc) {
			return
		}
		a.served.Add(1)
	}
	a.leave(nc)
}

// leave ends the connection in one of the ways there are.
func (a *attacker) leave(nc net.Conn) {
	switch a.r.IntN(3) {
	case 0:
		_ = nc.(*net.TCPConn).SetLinger(0)
	case 1:
		_ = nc.(*net.TCPConn).CloseWrite()
		_ = nc.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, _ = zkproto.ReadFrame(nc, nil, 1<<20)
	}
}

// answers says whether the connection still serves: a ping is answered. A frame
// that swallows it is not waited for.
func (a *attacker) answers(nc net.Conn) bool {
	ping := zkproto.RequestHeader{Xid: zkproto.XidPing, Op: zkproto.OpPing}
	if _, err := nc.Write(zkproto.AppendFrame(nil, ping.AppendTo)); err != nil {
		return false
	}
	_ = nc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	for {
		frame, err := zkproto.ReadFrame(nc, nil, 1<<20)
		if err != nil {
			return false
		}
		if h, _, err := zkproto.DecodeReply(frame); err == nil && h.Xid == zkproto.XidPing {
			return true
		}
	}
}

func (a *attacker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(a.r.Uint32())
	}
	return b
}

// framed puts a length in front that is true, or not.
func (a *attacker) framed(b []byte) []byte {
	n := int32(len(b))
	switch a.r.IntN(12) {
	case 0:
		n = -1
	case 1:
		n = int32(a.r.Uint32())
	case 2:
		n += int32(a.r.IntN(20)) - 10
	case 3:
		n = 0
	case 4:
		n = 0x7fffffff
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(n)), b...)
}

func (a *attacker) handshake() []byte {
	m := zkproto.ConnectRequest{Timeout: int32(a.r.Uint32()), SessionID: a.r.Int64(), Passwd: a.bytes(a.r.IntN(20)), HasReadOnly: a.r.IntN(2) == 0}
	b := m.AppendTo(nil)
	switch a.r.IntN(5) {
	case 0:
		b = b[:a.r.IntN(len(b))]
	case 1:
		b[a.r.IntN(len(b))] ^= byte(1 << a.r.IntN(8))
	case 2:
		binary.BigEndian.PutUint32(b[24:], a.r.Uint32()) // the length of the password
	case 3:
		b = a.bytes(a.r.IntN(100))
	}
	b = a.framed(b)
	if a.r.IntN(4) == 0 {
		b = b[:a.r.IntN(len(b)+1)]
	}
	return b
}

// frame is a request that is damaged.
func (a *attacker) frame() []byte {
	acl := zkproto.WorldAnyone()
	path := "/attack"
	op, m := zkproto.OpPing, zkproto.Message(nil)
	switch a.r.IntN(9) {
	case 0:
		op, m = zkproto.OpCreate, &zkproto.CreateRequest{Path: path, Data: a.bytes(10), ACL: acl, Flags: zkproto.CreateFlags(a.r.IntN(9))}
	case 1:
		op, m = zkproto.OpSetData, &zkproto.SetDataRequest{Path: path, Data: a.bytes(10), Version: -1}
	case 2:
		op, m = zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: path, Watch: true}
	case 3:
		op, m = zkproto.OpSetWatches2, &zkproto.SetWatches2Request{Data: []string{path}, Exist: []string{path}, Child: []string{}, Persistent: []string{path}, PersistentRecursive: []string{}}
	case 4:
		op, m = zkproto.OpMulti, &zkproto.MultiRequest{Ops: []zkproto.MultiOp{{Op: zkproto.OpCreate, Path: path, ACL: acl}, {Op: zkproto.OpCheck, Path: path, Version: 1}}}
	case 5:
		op, m = zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: a.bytes(8)}
	case 6:
		op, m = zkproto.OpSetACL, &zkproto.SetACLRequest{Path: path, ACL: append(acl, zkproto.ACL{Perms: 31, Scheme: "ip", ID: "1.2.3.4"}), Version: -1}
	case 7:
		op, m = zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: path, Mode: zkproto.AddWatchMode(a.r.IntN(4))}
	case 8:
		op = zkproto.OpCode(int32(a.r.Uint32()))
	}
	var body []byte
	if m != nil {
		body = m.AppendTo(nil)
		switch a.r.IntN(4) {
		case 0:
			body = body[:a.r.IntN(len(body))]
		case 1:
			for range 1 + a.r.IntN(8) {
				body[a.r.IntN(len(body))] ^= byte(1 << a.r.IntN(8))
			}
		case 2:
			binary.BigEndian.PutUint32(body[a.r.IntN(max(1, len(body)-4)):], a.r.Uint32()) // some length or count
		case 3:
			body = a.bytes(a.r.IntN(60))
		}
	} else if op != zkproto.OpPing {
		body = a.bytes(a.r.IntN(60))
	}
	h := zkproto.RequestHeader{Xid: int32(a.r.Uint32()), Op: op}
	frame := append(h.AppendTo(nil), body...)
	if a.r.IntN(20) == 0 {
		frame = frame[:a.r.IntN(8)]
	}
	return a.framed(frame)
}

func connections(t *testing.T, target control.Target) int {
	t.Helper()
	text, err := control.FourLetters(t.Context(), target.Addr(), "mntr")
	require.NoError(t, err)
	for line := range strings.SplitSeq(text, "\n") {
		if value, ok := strings.CutPrefix(line, "zk_num_alive_connections\t"); ok {
			n, err := strconv.Atoi(value)
			require.NoError(t, err)
			return n
		}
	}
	t.Fatalf("no number of connections in\n%s", text)
	return 0
}

// resident is how much memory a process holds, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	page, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(page))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}
