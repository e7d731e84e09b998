package guard_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"zkbridge/registryclient"
)

// BenchmarkOver is the question whether a session is over that has addresses, in
// a bridge with ten thousand such sessions.
func BenchmarkOver(b *testing.B) {
	const sessions = 10_000
	w := newWorld(b, "", nil)
	defer func() {
		for _, c := range w.clients {
			c.cut()
		}
		w.stop()
	}()
	for n := range sessions {
		c := w.connect(time.Minute)
		for i := range 3 {
			if err := c.register(fmt.Sprintf("com.x.S%d", (n*3+i)%1000), fmt.Sprintf("10.%d.%d.%d:20880", n>>16&255, n>>8&255, n&255)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		_, _ = w.guard.Over(b.Context(), w.clients[n%sessions].session)
		n++
	}
}

// BenchmarkImport is one change of a list of a thousand instances.
func BenchmarkImport(b *testing.B) {
	w := newWorld(b, "", nil)
	defer func() { w.stop() }()
	list := make([]registryclient.Instance, 1000)
	for n := range list {
		list[n] = native(iface, fmt.Sprintf("10.0.%d.%d:20880", n>>8, n&255))
	}
	other := slices.Clone(list)
	other[0] = native(iface, "10.1.0.0:20880")
	w.guard.Import(serviceOf(iface), list)
	b.ReportAllocs()
	for b.Loop() {
		w.guard.Import(serviceOf(iface), other)
		list, other = other, list
	}
}
