package sessions_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"zkbridge/sessions"
)

const many = 100_000

// population makes many sessions without connections.
func population(b *testing.B, m *sessions.Manager) []*sessions.Session {
	all := make([]*sessions.Session, many)
	for i := range all {
		all[i], _ = m.Create(40*time.Second, nil)
	}
	return all
}

func heapInUse() uint64 {
	runtime.GC()
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return ms.HeapAlloc
}

// BenchmarkMemory says what one of 100,000 sessions weighs, table and queue
// included.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		m := newManager(b)
		before := heapInUse()
		all := population(b, m)
		after := heapInUse()
		b.ReportMetric(float64(after-before-8*many)/many, "bytes/session") // without our own slice
		runtime.KeepAlive(all)
	}
}

// BenchmarkTouch says what a sign of life costs among 100,000 sessions.
func BenchmarkTouch(b *testing.B) {
	m := newManager(b)
	all := population(b, m)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = m.Run(ctx) }()
	b.Run("one after the other", func(b *testing.B) {
		i := 0
		for b.Loop() {
			all[i%many].Touch()
			i += 7919
		}
	})
	b.Run("side by side", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i += 7919 {
				all[i%many].Touch()
			}
		})
	})
	cancel()
	<-done
}

// BenchmarkLife is a session from Create to Finish while 100,000 others stand by.
func BenchmarkLife(b *testing.B) {
	m := newManager(b)
	all := population(b, m)
	b.ReportAllocs()
	for b.Loop() {
		s, _ := m.Create(40*time.Second, nil)
		m.BeginEnd(s)
		m.Finish(s)
	}
	runtime.KeepAlive(all)
}

// BenchmarkAttach is a resume among 100,000 sessions.
func BenchmarkAttach(b *testing.B) {
	m := newManager(b)
	all := population(b, m)
	passwd := make([][]byte, many)
	for i, s := range all {
		passwd[i] = s.Passwd()
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := m.Attach(b.Context(), all[i%many].ID(), passwd[i%many], 40*time.Second, nil); err != nil {
			b.Fatal(err)
		}
		i += 7919
	}
}
