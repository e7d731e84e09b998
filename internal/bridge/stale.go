package bridge

import (
	"fmt"
	"strings"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/internal/server"
	"zkbridge/translate"
)

// boundDir tells the server which directories hold providers.
func (b *Bridge) boundDir(path string) bool {
	return b.book.Spaces().Locate(path).Place.Kind == translate.KindBoundDir
}

// stale is what the admin listener asks for stale consumers; nil if nobody looks
// for them.
func (b *Bridge) stale() func() fmt.Stringer {
	if b.cfg.Server.StaleAfter == 0 {
		return nil
	}
	return func() fmt.Stringer { return b.server.StaleConsumers() }
}

// explanation is the claims' explanation of a path, and who has missed its
// latest changes.
type explanation struct {
	claims.Explanation
	StaleConsumers server.StaleConsumers `json:",omitempty"`
}

func (b *Bridge) explain(path string) explanation {
	return explanation{b.book.Explain(path), b.server.StaleConsumersOf(path)}
}

// String adds a sentence for each of them.
func (e explanation) String() string {
	var s strings.Builder
	s.WriteString(e.Explanation.String())
	for _, c := range e.StaleConsumers {
		fmt.Fprintf(&s, "Stale consumer: session %s of %s has not listed it again since it was told of a change at %s.\n",
			c.Session, c.Client, c.Since.Format(time.RFC3339))
	}
	return s.String()
}
