package histories

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"zkbridge/compat-tests/wire"
)

// Normalise puts in order what a server orders by its hash tables alone. The
// transcript of package wire has done so with lists of children, ephemerals and
// identities, and has told zxids, times and session ids by what they mean.
//
//   - The ephemerals of a session are removed one after the other in one
//     transaction, in no order that a client may rely on (DataTree.killSession).
//     ends are the zxids of such transactions; base is what they are relative to.
//   - auth in an ACL becomes one entry for each identity of the connection, in no
//     order (PrepRequestProcessor.fixupACL). Neighbours that have the same
//     permissions are sorted.
func Normalise(t wire.Transcript, base int64, ends map[int64]bool) wire.Transcript {
	lines := strings.Split(string(t), "\n")
	for i := range lines {
		if strings.Contains(lines[i], "digest:") {
			lines[i] = digests.ReplaceAllStringFunc(lines[i], sortDigests)
		}
	}
	for z := range ends {
		suffix := fmt.Sprintf(" zxid=%+d", z-base)
		ofEnd := func(i int) bool {
			return i < len(lines) && strings.HasPrefix(lines[i], "! ") && strings.HasSuffix(lines[i], suffix)
		}
		for i := 0; i < len(lines); i++ {
			first := i
			for ofEnd(i) {
				i++
			}
			slices.Sort(lines[first:i])
		}
	}
	return wire.Transcript(strings.Join(lines, "\n"))
}

var digests = regexp.MustCompile(`digest:[^ \]]+( digest:[^ \]]+)+`)

func sortDigests(text string) string {
	entries := strings.Split(text, " ")
	perms := func(entry string) string { return entry[strings.LastIndexByte(entry, ':'):] }
	for i := 0; i < len(entries); {
		first := i
		for i < len(entries) && perms(entries[i]) == perms(entries[first]) {
			i++
		}
		slices.Sort(entries[first:i])
	}
	return strings.Join(entries, " ")
}

// Compare says where two transcripts differ, "" if they do not.
func Compare(want, got wire.Transcript) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := 0; i < max(len(w), len(g)); i++ {
		if i < len(w) && i < len(g) && w[i] == g[i] {
			continue
		}
		first := i
		for first > 0 && !strings.HasPrefix(w[first-1], "==") {
			first--
		}
		var out strings.Builder
		fmt.Fprintf(&out, "%s\n", strings.Join(w[max(first-1, 0):min(i, len(w))], "\n"))
		for _, line := range w[min(i, len(w)):min(i+3, len(w))] {
			fmt.Fprintf(&out, "want %s\n", line)
		}
		for _, line := range g[min(i, len(g)):min(i+3, len(g))] {
			fmt.Fprintf(&out, "got  %s\n", line)
		}
		return out.String()
	}
	return ""
}
