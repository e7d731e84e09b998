package bridge

import (
	"context"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
)

// reaper removes empty containers, other than those that are the directories of
// services, and TTL nodes that are over.
func (b *Bridge) reaper() *znode.Reaper {
	return &znode.Reaper{
		Tree:      b.tree,
		Interval:  b.cfg.Server.ContainerCheckInterval,
		PerMinute: b.cfg.Server.ContainerMaxPerMinute,
		Keep:      b.book.Spaces().Sticky,
		TTL:       b.cfg.Server.ExtendedTypes,
		Log:       b.log.With("component", "reaper"),
	}
}

// ignoreACL says where ACLs refuse nobody; nil if that is nowhere.
func (b *Bridge) ignoreACL(spaces *claims.Spaces) func(path string) bool {
	if b.cfg.Server.SkipACL {
		return func(string) bool { return true }
	}
	for _, s := range b.cfg.Spaces {
		for _, r := range s.Roots {
			if r.ACL == "ignore" {
				return spaces.IgnoresACL
			}
		}
	}
	return nil
}

// excess is a limit of a quota that somebody went beyond.
type excess struct {
	path string
	hard bool
}

// excesses are those on their way to the log. The tree does not wait: while one
// is being told the others are left out.
type excesses chan excess

func (e excesses) add(path string, hard bool) {
	select {
	case e <- excess{path, hard}:
	default:
	}
}

// excessGap is the least time between two lines about quotas.
const excessGap = time.Second

// tellExcesses logs who went beyond a limit, until ctx ends.
func (b *Bridge) tellExcesses(ctx context.Context) error {
	log := b.log.With("component", "quota")
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-b.excesses:
			log.Warn("quota exceeded", "path", e.path, "refused", e.hard)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(excessGap):
		}
	}
}
