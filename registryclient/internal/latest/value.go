// Package latest hands the latest of a sequence of values to any number of
// followers, which may be slow: they miss steps, never the newest value.
package latest

import (
	"context"
	"sync"
)

// Value holds the latest value put into it, if any. Make it with New.
type Value[T any] struct {
	mu      sync.Mutex
	value   T
	set     bool
	changed chan struct{} // closed at the next Put
}

// New gives a Value in which nothing is.
func New[T any]() *Value[T] { return &Value[T]{changed: make(chan struct{})} }

// Put makes v the latest value. It never blocks.
func (l *Value[T]) Put(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.value, l.set = v, true
	close(l.changed)
	l.changed = make(chan struct{})
}

// Look gives the latest value, whether there is one, and a channel that is
// closed when there is a newer one.
func (l *Value[T]) Look() (v T, set bool, newer <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.set, l.changed
}

// Follow calls fn with the latest value whenever there is a newer one, serially,
// until ctx ends.
func (l *Value[T]) Follow(ctx context.Context, fn func(T)) {
	for {
		v, set, newer := l.Look()
		if set {
			fn(v)
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}
