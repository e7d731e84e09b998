package observer

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Shown is what a side's list of one service was for a time.
type Shown struct {
	From      time.Time
	To        time.Time // when the next list came, or the side was lost from sight; zero: still so
	Addresses []string  // sorted; one that is listed twice is here twice
}

// Timeline is what a side showed of one service, list after list. Where nothing
// was seen of the side there is a gap.
type Timeline []Shown

// TimelineOf reads the lists of a service out of a history.
func TimelineOf(history []Event, side Side, service string) Timeline {
	events := slices.Clone(history)
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	var line Timeline
	end := func(at time.Time) {
		if n := len(line); n > 0 && line[n-1].To.IsZero() {
			line[n-1].To = at
		}
	}
	for _, e := range events {
		if e.Side != side || e.Service != service && e.Service != "" {
			continue
		}
		switch e.Kind {
		case Blind:
			end(e.At)
		case List:
			end(e.At)
			s := Shown{From: e.At}
			for _, item := range e.Items {
				s.Addresses = append(s.Addresses, item.Address)
			}
			slices.Sort(s.Addresses)
			line = append(line, s)
		}
	}
	return line
}

// Between are the parts of a timeline that were shown between two times; a zero
// to is the end of the history.
func (l Timeline) Between(from, to time.Time) Timeline {
	var part Timeline
	for _, s := range l {
		if (!s.To.IsZero() && !s.To.After(from)) || (!to.IsZero() && !s.From.Before(to)) {
			continue
		}
		part = append(part, s)
	}
	return part
}

// Without is the first list that lacks an address.
func (l Timeline) Without(address string) (Shown, bool) {
	for _, s := range l {
		if !slices.Contains(s.Addresses, address) {
			return s, true
		}
	}
	return Shown{}, false
}

// Doubled is the first list that has an address twice.
func (l Timeline) Doubled() (Shown, bool) {
	for _, s := range l {
		if len(slices.Compact(slices.Clone(s.Addresses))) < len(s.Addresses) {
			return s, true
		}
	}
	return Shown{}, false
}

// Shortest is the length of the shortest list; -1 of an empty timeline.
func (l Timeline) Shortest() int {
	n := -1
	for _, s := range l {
		if n < 0 || len(s.Addresses) < n {
			n = len(s.Addresses)
		}
	}
	return n
}

// Last is the newest list.
func (l Timeline) Last() []string {
	if len(l) == 0 {
		return nil
	}
	return l[len(l)-1].Addresses
}

func (s Shown) String() string {
	return fmt.Sprintf("%s [%s]", s.From.Format("15:04:05.000"), strings.Join(s.Addresses, " "))
}
