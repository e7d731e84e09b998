package embedded

import (
	"context"
	"sync"
)

// feed hands the latest of a sequence of values to any number of followers.
type feed[T any] struct {
	mu      sync.Mutex
	value   T
	set     bool
	changed chan struct{} // closed at the next put
}

func newFeed[T any]() *feed[T] { return &feed[T]{changed: make(chan struct{})} }

// put makes v the latest value. It never blocks.
func (f *feed[T]) put(v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.value, f.set = v, true
	close(f.changed)
	f.changed = make(chan struct{})
}

// get gives the latest value and whether there is one.
func (f *feed[T]) get() (T, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value, f.set
}

// follow calls fn with the latest value whenever there is a newer one, until
// ctx ends.
func (f *feed[T]) follow(ctx context.Context, fn func(T)) {
	for {
		f.mu.Lock()
		v, set, changed := f.value, f.set, f.changed
		f.mu.Unlock()
		if set {
			fn(v)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}
