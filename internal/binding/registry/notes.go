package registry

import (
	"context"
	"log/slog"
	"maps"
	"sync"

	"zkbridge/internal/claims"
)

// notes counts and logs what cannot cross from one side to the other. It is
// told under the tree's lock, so the lines are written later.
type notes struct {
	log  *slog.Logger
	wake chan struct{} // holds one token when there is something to write

	mu            sync.Mutex
	list          []claims.Refused
	lost          int // too many to write
	notTranslated map[string]uint64
	notShown      map[string]uint64
}

// maxNotes is how many lines may wait to be written.
const maxNotes = 256

func newNotes(log *slog.Logger) *notes {
	return &notes{log: log, wake: make(chan struct{}, 1), notTranslated: make(map[string]uint64), notShown: make(map[string]uint64)}
}

func (n *notes) refused(r claims.Refused) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.Path != "" {
		n.notTranslated[string(r.Reason)]++
	} else {
		n.notShown[string(r.Reason)]++
	}
	if len(n.list) == maxNotes {
		n.lost++
		return
	}
	n.list = append(n.list, r)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *notes) run(ctx context.Context) error {
	for {
		select {
		case <-n.wake:
			n.write()
		case <-ctx.Done():
			n.write()
			return nil
		}
	}
}

func (n *notes) write() {
	n.mu.Lock()
	list, lost := n.list, n.lost
	n.list, n.lost = nil, 0
	n.mu.Unlock()
	for _, r := range list {
		if r.Path != "" {
			n.log.Warn("a znode is not published: it works for ZooKeeper clients only", "znode", shorten(r.Path), "reason", r.Text)
		} else {
			n.log.Warn("an instance of the registry has no znode: ZooKeeper clients do not see it", "service", r.Service.String(), "instance", r.Instance, "reason", r.Text)
		}
	}
	if lost > 0 {
		n.log.Warn("more of these were not written", "lines", lost)
	}
}

// shorten cuts a path for a line of the log.
func shorten(path string) string {
	const most = 500
	if len(path) <= most {
		return path
	}
	return path[:most] + "…"
}

func (n *notes) stats(s *Stats) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s.NotTranslated, s.NotShown = maps.Clone(n.notTranslated), maps.Clone(n.notShown)
}
