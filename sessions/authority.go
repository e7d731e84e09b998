package sessions

import (
	"context"
	"time"
)

// Authority says whether a session that has been silent for its whole timeout is
// really over. The bridge itself is the authority over its sessions unless
// somebody else could have heard from them.
type Authority interface {
	// Over reports whether s is over. False means that somebody heard from it,
	// and counts as a sign of life. An error means that nobody knows: s stays as
	// it is, and the question is asked again. Over may wait until ctx ends; calls
	// for different sessions run side by side.
	Over(ctx context.Context, s *Session) (bool, error)
}

const (
	askLimit   = 5 * time.Second // how long one question may take
	askAgain   = time.Second     // pause after a question without an answer
	askAtATime = 256             // questions that wait for an answer side by side
)
