package znode

// waiter is somebody who waits for a gate.
type waiter struct {
	gate int64
	fn   func()
}

// waiters is a heap by gate. Gates nearly always come in order.
type waiters []waiter

func (w *waiters) push(v waiter) {
	*w = append(*w, v)
	h := *w
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up].gate <= h[i].gate {
			return
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
}

func (w *waiters) pop() waiter {
	h := *w
	first := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h[last] = waiter{}
	h = h[:last]
	*w = h
	for i := 0; ; {
		least := i
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < last && h[c].gate < h[least].gate {
				least = c
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
