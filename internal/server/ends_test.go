package server_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// ends is a Hook that writes down what the ends of sessions do.
type ends struct {
	mu    sync.Mutex
	zxids []int64 // of transactions that end sessions
	most  int     // nodes in one of them
}

func (e *ends) Committed(int64) {}
func (e *ends) Stage(x *znode.Tx, changes []znode.Change) {
	if x.Origin().Kind != znode.SessionEnd {
		return
	}
	nodes := 0
	for _, c := range changes {
		if c.Kind == znode.Deleted {
			nodes++
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.zxids = append(e.zxids, x.Zxid())
	e.most = max(e.most, nodes)
}

// span is the first and the last zxid of the ends since the last call.
func (e *ends) span() (first, last int64, most int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first, last, most = e.zxids[0], e.zxids[len(e.zxids)-1], e.most
	e.zxids = nil
	return first, last, most
}

// begun reports whether an end has begun since the last call of span.
func (e *ends) begun() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.zxids) > 0
}

// bystander is a client that writes and reads all the time, and what it waited.
type bystander struct {
	waits []time.Duration
	zxids []int64 // of its writes
}

// work goes on until done says so.
func (o *bystander) work(c *client, path string, done func() bool) {
	for !done() {
		start := time.Now()
		f := c.ok(zkproto.OpSetData, &zkproto.SetDataRequest{Path: path, Data: []byte{1}, Version: -1})
		o.waits = append(o.waits, time.Since(start))
		o.zxids = append(o.zxids, f.Zxid)
		start = time.Now()
		c.ok(zkproto.OpGetData, &zkproto.GetDataRequest{Path: path})
		o.waits = append(o.waits, time.Since(start))
	}
}

// between counts the writes from first to last.
func (o *bystander) between(first, last int64) (n int) {
	for _, z := range o.zxids {
		if z > first && z < last {
			n++
		}
	}
	return n
}

func (o *bystander) quantile(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(o.waits))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// TestNobodyWaitsForTheEndOfALargeSession: while 4,096 ephemerals go, other
// clients' writes are done between them, and no part of the end is larger than 256.
// Field report 62.
func TestNobodyWaitsForTheEndOfALargeSession(t *testing.T) {
	const n, rounds = 4096, 50
	e := &ends{}
	store, running := slowDisk(t)
	b := serve(t, options{tree: znode.Config{Store: store, Hook: e}})
	running()
	other := b.connect()
	other.create("/d", zkproto.FlagPersistent)
	other.create("/other", zkproto.FlagEphemeral)
	var o bystander
	for round := range rounds {
		owner := b.connect()
		for i := range n {
			owner.send(zkproto.OpCreate, create("/d/"+providerName(i), zkproto.FlagEphemeral))
			if i%64 == 63 {
				for range 64 {
					require.Equal(t, zkproto.OK, owner.reply().Err)
				}
			}
		}
		s := b.sessions.Lookup(owner.id)
		stop := make(chan struct{})
		var working sync.WaitGroup
		working.Go(func() {
			o.work(other, "/other", func() bool {
				select {
				case <-stop:
					return true
				default:
					return false
				}
			})
		})
		if round%2 == 0 {
			require.True(t, b.sessions.Expire(s))
		} else {
			owner.ok(zkproto.OpCloseSession, nil)
		}
		close(stop)
		working.Wait()
		owner.closed()
		first, last, most := e.span()
		require.LessOrEqual(t, most, 256)
		require.GreaterOrEqual(t, last-first, int64(n/256-1))
		require.Equal(t, 1, b.tree.Stats().Ephemerals)
		if k := o.between(first, last); k > 0 {
			t.Logf("round %d: %d writes of another client were done amid the end of %d ephemerals; it waited %v at most, %v in 99 of 100", round, k, n, o.quantile(1), o.quantile(.99))
			return
		}
	}
	t.Fatalf("in %d rounds no write of another client was done before a session of %d ephemerals had ended", rounds, n)
}

// TestLoadExpiry: thousands of sessions fall due in one moment, each with a
// provider. What another client waits for meanwhile is told, and is a fraction of
// the time that the whole takes.
func TestLoadExpiry(t *testing.T) {
	n := full(100_000, 10_000)
	const timeout = 1500 * time.Millisecond
	e := &ends{}
	store, running := slowDisk(t)
	b := serve(t, options{
		tree: znode.Config{Store: store, Hook: e}, server: server.Config{Log: quiet},
		sessions: sessions.Config{MinTimeout: timeout, MaxTimeout: time.Hour},
	})
	running()
	b.timeout = int32(time.Hour.Milliseconds())
	other := b.connect()
	other.create("/d", zkproto.FlagPersistent)
	other.create("/other", zkproto.FlagEphemeral)
	for i := range n / 100 {
		other.create(fmt.Sprintf("/d/%d", i), zkproto.FlagPersistent)
	}
	var before, during bystander
	begin := time.Now()
	before.work(other, "/other", func() bool { return time.Since(begin) > 200*time.Millisecond })

	all := make([]*sessions.Session, n)
	for i := range all {
		s, err := b.sessions.Create(time.Hour, nobody{})
		require.NoError(t, err)
		all[i] = s
		b.tree.Update(znode.Origin{Session: s.ID()}, func(x *znode.Tx) error {
			x.OpenSession(znode.Session{ID: s.ID(), Timeout: timeout, Epoch: 1})
			_, _, err := x.Create(znode.Create{
				Path: fmt.Sprintf("/d/%d/%s", i/100, providerName(i%100)), Data: []byte("10.0.0.1"), ACL: zkproto.WorldAnyone(), Kind: znode.Ephemeral, Owner: s.ID(),
			})
			return err
		}, func(r znode.Result) { require.NoError(t, r.Err) })
		b.sessions.Detach(s, nobody{})
	}
	require.Equal(t, n+1, b.tree.Stats().Ephemerals)
	// A shorter timeout on a new connection makes all of them due together.
	at(4, n, func(i int) {
		if _, err := b.sessions.Attach(t.Context(), all[i].ID(), all[i].Passwd(), timeout, nobody{}); err != nil {
			t.Errorf("session %d: %v", i, err)
		}
	})
	for _, s := range all {
		s.Touch()
	}
	require.Eventually(t, e.begun, tick, poll)
	start := time.Now()
	during.work(other, "/other", func() bool { return b.sessions.Stats().Expired == uint64(n) && b.sessions.Stats().Closing == 0 })
	took := time.Since(start)
	require.Equal(t, 1, b.tree.Stats().Ephemerals)
	first, last, most := e.span()
	require.Equal(t, 1, most)
	t.Logf("%d sessions with a provider each ended in %v (%.0f a second); beside them a client made %d requests: p50 %v, p99 %v, longest %v; before: p50 %v, p99 %v, longest %v",
		n, took.Round(time.Millisecond), float64(n)/took.Seconds(), len(during.waits), during.quantile(.5), during.quantile(.99), during.quantile(1),
		before.quantile(.5), before.quantile(.99), before.quantile(1))
	require.Positive(t, during.between(first, last))
	require.Less(t, during.quantile(.99), max(took/4, 20*time.Millisecond))
}

// nobody is a connection that is not there.
type nobody struct{}

func (nobody) Kick(string) {}
