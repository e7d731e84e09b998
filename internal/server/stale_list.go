package server

import (
	"fmt"
	"strings"
	"time"
)

// StaleConsumer is a session that was told that the children of a bound
// directory have changed, by a watch which this has spent, and that has for
// Config.StaleAfter neither listed the directory with a watch nor set one
// otherwise.
type StaleConsumer struct {
	Session string // "0x..."
	Client  string // address of its latest connection
	Path    string
	Since   time.Time // when it was told
}

// StaleConsumers is a list of them. Marshal it, or print it: String gives plain
// sentences.
type StaleConsumers []StaleConsumer

// StaleConsumers lists the stale consumers of living sessions, those that have
// been so for longest first. Never nil.
func (s *Server) StaleConsumers() StaleConsumers {
	list := StaleConsumers{}
	s.stale.each(func(n *debt) { list = append(list, n.consumer()) })
	return list
}

// StaleConsumersOf is StaleConsumers of one directory; nil if there are none.
func (s *Server) StaleConsumersOf(path string) (list StaleConsumers) {
	s.stale.each(func(n *debt) {
		if n.path == path {
			list = append(list, n.consumer())
		}
	})
	return list
}

// staleConsumers is the length of the list.
func (s *Server) staleConsumers() (n int) {
	s.stale.each(func(*debt) { n++ })
	return n
}

func (n *debt) consumer() StaleConsumer {
	client := n.by.from
	if n.by.peer.IsValid() {
		client = n.by.peer.String()
	}
	return StaleConsumer{Session: n.by.session.String(), Client: client, Path: n.path, Since: n.since.Round(0)}
}

// String gives the list in plain sentences, one a line.
func (l StaleConsumers) String() string {
	if len(l) == 0 {
		return "No consumer is stale.\n"
	}
	var s strings.Builder
	for _, c := range l {
		fmt.Fprintf(&s, "Session %s of %s has not listed %s again since it was told of a change at %s.\n",
			c.Session, c.Client, c.Path, c.Since.Format(time.RFC3339))
	}
	return s.String()
}
