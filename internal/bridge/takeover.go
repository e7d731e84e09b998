package bridge

import (
	"context"
	"fmt"
	"strings"
)

// takeover is a provider's node that changed hands although its session lives.
type takeover struct {
	path     string
	from, to int64
}

// takeovers are those on their way to the log. The tree does not wait: while many
// are told others are left out, and the metric counts them all.
type takeovers chan takeover

func (t takeovers) add(path string, from, to int64) {
	select {
	case t <- takeover{path, from, to}:
	default:
	}
}

// abandoned reports whether a create may have a node of another session: a
// provider whose session nobody carries. It is called under the tree's lock.
func (b *Bridge) abandoned(path string, owner int64) bool {
	return b.boundDir(path[:max(strings.LastIndexByte(path, '/'), 0)]) && b.sessions.Rob(owner)
}

// tellTakeovers logs them until ctx ends.
func (b *Bridge) tellTakeovers(ctx context.Context) error {
	log := b.log.With("component", "sessions")
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-b.takeovers:
			log.Info("a provider registered again while its last session had no connection: its node has changed hands",
				"path", t.path, "from", fmt.Sprintf("0x%x", uint64(t.from)), "to", fmt.Sprintf("0x%x", uint64(t.to)))
		}
	}
}
