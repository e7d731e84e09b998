package bridge

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"zkbridge/internal/admin"
	"zkbridge/internal/binding/guard"
)

func (b *Bridge) buildGuard() (err error) {
	g := b.cfg.Guard
	b.guard, err = guard.New(guard.Config{
		Book: b.book,
		Session: func(id int64) guard.Session {
			if s := b.sessions.Lookup(id); s != nil {
				return s
			}
			return nil
		},
		Dir: filepath.Join(b.cfg.Data.Dir, "imports"),
		Log: b.log.With("component", "guard"),
		Off: !g.Enabled, MassShare: g.MassShare, MassSessions: g.MassSessions, Window: g.Window, Cap: g.Cap,
		Hold: g.Hold, HoldMax: g.HoldMax, Probe: guard.Probe(g.Probe), ProbeInterval: g.ProbeInterval, ProbeTimeout: g.ProbeTimeout,
	})
	return err
}

// held is what the admin listener asks for what is held, and tells of it.
func (b *Bridge) held() *admin.Held {
	return &admin.Held{
		List: func() fmt.Stringer { return heldList(b.guard.Held()) },
		Keep: b.guard.Keep,
		Drop: b.guard.Drop,
	}
}

// heldList is what is held, in sentences.
type heldList []guard.Held

func (l heldList) String() string {
	if len(l) == 0 {
		return "Nothing is held."
	}
	var s strings.Builder
	for _, h := range l {
		fmt.Fprintf(&s, "%s\n  %s of %s, held since %s (%s): %s.\n", h.Key, h.Instance, h.Service.Name, h.Since.Format(time.RFC3339), h.Class, h.Why)
		switch {
		case h.Kept:
			s.WriteString("  An operator keeps it: only a new registration, a delete or held drop ends it.\n")
		case h.Refused > 0:
			fmt.Fprintf(&s, "  Its last %d probes were refused. Its time is over at %s.\n", h.Refused, h.Until.Format(time.RFC3339))
		default:
			fmt.Fprintf(&s, "  Its time is over at %s, unless it answers a probe.\n", h.Until.Format(time.RFC3339))
		}
	}
	return s.String()
}
