package wire

import (
	"fmt"
	"strings"
)

// Difference is a place where the bridge is meant to answer otherwise than a
// real server. Real and Ours are whole lines of a transcript; Real must be found
// in it exactly Times times (once if 0), or the difference is out of date.
type Difference struct {
	Script string
	Title  string // the heading in differences.md that explains it
	Real   string
	Ours   string
	Times  int
}

// Expected is the transcript that the bridge must give where a real server
// gives real.
func Expected(script string, real Transcript) (Transcript, error) {
	text := string(real)
	for _, d := range Differences() {
		if d.Script != script {
			continue
		}
		want := max(d.Times, 1)
		if got := strings.Count("\n"+text, "\n"+d.Real); got != want {
			return "", fmt.Errorf("difference %q of %s is out of date: found %d times, want %d", d.Title, script, got, want)
		}
		text = strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n"+d.Real, "\n"+d.Ours), "\n")
	}
	return Transcript(text), nil
}

// Differences are the explained differences, script by script.
func Differences() []Difference {
	return nil
}
