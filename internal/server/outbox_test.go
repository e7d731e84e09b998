package server

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever is queued and however it is written, the bytes leave whole and in
// order, none before the log is durable that far, and in the end nothing is
// held.
func TestOutboxIsAStream(t *testing.T) {
	pattern := make([]byte, 200000)
	for i := range pattern {
		pattern[i] = byte(i % 251)
	}
	rapid.Check(t, func(t *rapid.T) {
		durable, marks := int64(0), 0
		out := outlet{budget: newBudget(1 << 40), limit: 1 << 40, durable: func() int64 { return durable }}
		o := outbox{outlet: &out, mark: func() { marks++ }, awaited: -1}
		type promise struct {
			end  int // of a message in want
			gate int64
		}
		var want, got []byte
		var promises []promise
		clock := int64(0)
		message := func(n int) []byte {
			at := len(want) % 251
			want = append(want, pattern[at:at+n]...)
			return bytes.Clone(pattern[at : at+n])
		}
		queued := func(gate int64) { promises = append(promises, promise{len(want), gate}) }
		size := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(400, 5000), rapid.IntRange(60000, 70000))
		write := func(most int) int {
			o.mu.Lock()
			defer o.mu.Unlock()
			n := 0
			for _, p := range o.collectLocked(nil) {
				k := min(len(p), most-n)
				got = append(got, p[:k]...)
				n += k
			}
			o.advanceLocked(n)
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"reply": func(t *rapid.T) {
				clock += rapid.Int64Range(0, 2).Draw(t, "clock")
				gate := rapid.SampledFrom([]int64{0, clock}).Draw(t, "gate")
				require.Equal(t, gate > durable, o.reply(message(size.Draw(t, "size")), gate))
				queued(gate)
			},
			"shared": func(t *rapid.T) {
				head, body, tail := message(20), message(shareFrom+size.Draw(t, "size")), message(68)
				o.replyShared(head, body, tail, clock)
				queued(clock)
			},
			"event": func(t *rapid.T) {
				require.True(t, o.event(message(size.Draw(t, "size")), clock, false))
				queued(clock)
			},
			"sync": func(t *rapid.T) { durable = rapid.Int64Range(durable, clock).Draw(t, "durable") },
			"write": func(t *rapid.T) {
				write(rapid.OneOf(rapid.IntRange(1, 1000), rapid.IntRange(1, 200000)).Draw(t, "most"))
			},
			"": func(t *rapid.T) {
				if pending := o.pending(); pending != len(want)-len(got) {
					t.Fatalf("pending: got %d, want %d", pending, len(want)-len(got))
				}
				for len(promises) > 0 && promises[0].end <= len(got) {
					if promises[0].gate > durable {
						t.Fatalf("a message left at %d that had to wait for %d", durable, promises[0].gate)
					}
					promises = promises[1:]
				}
			},
		})
		durable = clock
		for write(1<<20) > 0 {
		}
		require.True(t, bytes.Equal(want, got), "%d bytes queued, %d written", len(want), len(got))
		require.Zero(t, o.pending())
		require.Zero(t, out.budget.used.Load())
		require.Empty(t, out.budget.bodies)
	})
}

// Closing lets go of everything, also of what somebody is writing just then.
func TestOutboxClose(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		out := outlet{budget: newBudget(1 << 40), limit: 1 << 40, durable: func() int64 { return 5 }}
		o := outbox{outlet: &out, mark: func() {}, awaited: -1}
		for range r.IntN(10) {
			o.reply(make([]byte, r.IntN(3000)+1), int64(r.IntN(10)))
			o.replyShared([]byte{1}, make([]byte, shareFrom), []byte{2}, 0)
		}
		o.mu.Lock()
		pieces := o.collectLocked(nil)
		o.flushing = r.IntN(2) == 0
		o.closeLocked()
		n := 0
		for _, p := range pieces {
			n += len(p)
		}
		o.advanceLocked(n) // whoever was writing comes back
		o.mu.Unlock()
		require.Zero(t, o.pending())
		require.Zero(t, out.budget.used.Load())
		require.False(t, o.reply([]byte{1}, 9))
		require.Zero(t, o.pending())
	}
}

// The limit is for what others cause; one event always fits.
func TestOutboxLimit(t *testing.T) {
	out := outlet{budget: newBudget(1 << 40), limit: 1000, durable: func() int64 { return 0 }}
	marks := 0
	o := outbox{outlet: &out, mark: func() { marks++ }, awaited: -1}
	require.True(t, o.event(make([]byte, 5000), 0, true), "asked for")
	o.reply(make([]byte, 5000), 0)
	require.True(t, o.event(make([]byte, 2000), 0, false), "the first")
	require.Equal(t, 1, marks)
	require.False(t, o.event(make([]byte, 1), 0, false))
	require.True(t, o.closed)
	require.Zero(t, out.budget.used.Load())
	require.True(t, o.event(make([]byte, 1), 0, false), "told once")
}

// What happens after a connection was told to close does not reach its client,
// which may have taken its session over with another one by then. Found by
// random histories.
func TestOutboxThatFinishesTakesNoEvents(t *testing.T) {
	out := outlet{budget: newBudget(1 << 20), limit: 1 << 20, durable: func() int64 { return 0 }}
	c := conn{out: outbox{outlet: &out, mark: func() {}, awaited: -1}}
	require.True(t, c.out.event([]byte("before"), 0, false))
	c.Kick("session moved to another connection")
	require.True(t, c.out.event([]byte("after"), 0, false))
	require.Equal(t, len("before"), c.out.pending())
}

// A long list is shared by all who are slow to take it: what stands around it
// must not cost each of them a large chunk.
func TestOutboxAroundSharedBodies(t *testing.T) {
	out := outlet{budget: newBudget(1 << 30), limit: 1 << 20, durable: func() int64 { return 0 }}
	body := make([]byte, 500<<10)
	const readers, replies = 1000, 4
	boxes := make([]outbox, readers)
	for i := range boxes {
		boxes[i] = outbox{outlet: &out, mark: func() {}, awaited: -1}
		for range replies {
			boxes[i].replyShared(make([]byte, 20), body, make([]byte, 68), 0)
		}
	}
	require.LessOrEqual(t, out.budget.used.Load(), int64(len(body)+readers*(replies+1)*smallChunk))
	for i := range boxes {
		boxes[i].close()
	}
	require.Zero(t, out.budget.used.Load())
}
