package registryclient

import "time"

// LinkState is how the way to the registry is. The zero value is down.
type LinkState struct {
	Up     bool
	Reason string    // why it is down, one line; empty when up
	Since  time.Time // when it became so
}

// String gives "up" or "down: reason".
func (s LinkState) String() string {
	switch {
	case s.Up:
		return "up"
	case s.Reason == "":
		return "down"
	}
	return "down: " + s.Reason
}
