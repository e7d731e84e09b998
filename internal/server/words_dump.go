package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"zkbridge/internal/znode"
)

// javaDate is how Java writes a date.
const javaDate = "Mon Jan 02 15:04:05 MST 2006"

// EphemeralsByOwner are the paths of ephemerals, sorted, by the session that owns
// them. Imported nodes are the bridge's own (sessions.ReservedID).
func (s *Server) EphemeralsByOwner() map[int64][]string {
	by := make(map[int64][]string)
	s.cfg.Tree.View(func(v *znode.View) {
		v.EachOwner(func(session int64, paths []string) { by[session] = paths })
	})
	for _, paths := range by {
		slices.Sort(paths)
	}
	return by
}

// SessionsByExpiry are the sessions by when they would expire if nothing more
// were heard of them, rounded up to ticks as ZooKeeper does. Sessions here expire
// when their time is over, not with the tick.
func (s *Server) SessionsByExpiry() map[time.Time][]int64 {
	by := make(map[time.Time][]int64)
	for _, one := range s.cfg.Sessions.All() {
		due := s.tickAfter(one.LastSeen().Add(one.Timeout()))
		by[due] = append(by[due], one.ID())
	}
	for _, list := range by {
		slices.SortFunc(list, unsigned)
	}
	return by
}

// tickAfter rounds up to a whole number of ticks since the server was made.
func (s *Server) tickAfter(t time.Time) time.Time {
	tick := max(s.cfg.About.TickTime, time.Millisecond)
	ticks := (t.Sub(s.started) + tick - 1) / tick
	return s.started.Add(ticks * tick)
}

// dump lists sessions, ephemerals and connections.
func (s *Server) dump(*conn) string {
	var b strings.Builder
	b.WriteString("SessionTracker dump:\n")
	due := s.SessionsByExpiry()
	total := 0
	for _, list := range due {
		total += len(list)
	}
	fmt.Fprintf(&b, "Session Sets (%d)/(%d):\n", len(due), total)
	for _, at := range slices.SortedFunc(maps.Keys(due), time.Time.Compare) {
		fmt.Fprintf(&b, "%d expire at %s:\n", len(due[at]), at.Format(javaDate))
		for _, session := range due[at] {
			fmt.Fprintf(&b, "\t0x%x\n", uint64(session))
		}
	}
	owners := s.EphemeralsByOwner()
	fmt.Fprintf(&b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owners))
	for _, session := range slices.SortedFunc(maps.Keys(owners), unsigned) {
		fmt.Fprintf(&b, "0x%x:\n", uint64(session))
		for _, path := range owners[session] {
			fmt.Fprintf(&b, "\t%s\n", path)
		}
	}
	s.dumpConnections(&b)
	return b.String()
}

// dumpConnections lists the connections by when they would be closed: with their
// session, or when no handshake has come in time.
func (s *Server) dumpConnections(b *strings.Builder) {
	due, total := make(map[time.Time][]*conn), 0
	for _, c := range s.connections() {
		at := c.record.opened.Add(s.cfg.HandshakeTimeout)
		if one := c.carried.Load(); one != nil {
			at = one.LastSeen().Add(one.Timeout())
		}
		at = s.tickAfter(at)
		due[at] = append(due[at], c)
		total++
	}
	fmt.Fprintf(b, "Connections dump:\nConnections Sets (%d)/(%d):\n", len(due), total)
	for _, at := range slices.SortedFunc(maps.Keys(due), time.Time.Compare) {
		fmt.Fprintf(b, "%d expire at %s:\n", len(due[at]), at.Format(javaDate))
		for _, c := range due[at] {
			session := int64(0)
			if one := c.carried.Load(); one != nil {
				session = one.ID()
			}
			fmt.Fprintf(b, "\tip: /%s sessionId: 0x%x\n", c, uint64(session))
		}
	}
}
