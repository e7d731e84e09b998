package histories

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
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

// leadIn is how many lines before a difference are shown.
const leadIn = 15

// Compare says where two transcripts begin to differ, "" if they do not. Of the
// connections that differ it shows the one whose first difference has the
// lowest zxid: the others may follow from it.
func Compare(want, got wire.Transcript) string {
	if want == got {
		return ""
	}
	w, g := sections(want), sections(got)
	earliest, at, where := int64(math.MaxInt64), -1, -1
	for i := range max(len(w), len(g)) {
		a, b := section(w, i), section(g, i)
		for n := range max(len(a), len(b)) {
			if line(a, n) == line(b, n) {
				continue
			}
			z := min(zxidAt(a, n), zxidAt(b, n))
			if at < 0 || z < earliest {
				earliest, at, where = z, i, n
			}
			break
		}
	}
	a, b := section(w, at), section(g, at)
	var out strings.Builder
	if where > 0 {
		fmt.Fprintf(&out, "%s\n", line(a, 0))
		for n := max(1, where-leadIn); n < where; n++ {
			fmt.Fprintf(&out, "     %s\n", a[n])
		}
	}
	for n := where; n < min(where+3, len(a)); n++ {
		fmt.Fprintf(&out, "want %s\n", a[n])
	}
	for n := where; n < min(where+3, len(b)); n++ {
		fmt.Fprintf(&out, "got  %s\n", b[n])
	}
	return out.String()
}

// sections are the connections of a transcript.
func sections(t wire.Transcript) [][]string {
	var list [][]string
	for text := range strings.SplitSeq(strings.TrimSuffix(string(t), "\n"), "\n") {
		if strings.HasPrefix(text, "== ") || len(list) == 0 {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], text)
	}
	return list
}

func section(list [][]string, i int) []string {
	if i >= len(list) {
		return nil
	}
	return list[i]
}

func line(section []string, n int) string {
	if n >= len(section) {
		return "(nothing more)"
	}
	return section[n]
}

var zxids = regexp.MustCompile(` zxid=\+(\d+)`)

// zxidAt is the zxid of the line, or of the next one before it that has one.
func zxidAt(section []string, n int) int64 {
	for n = min(n, len(section)-1); n >= 0; n-- {
		if m := zxids.FindStringSubmatch(section[n]); m != nil {
			z, _ := strconv.ParseInt(m[1], 10, 64)
			return z
		}
	}
	return math.MaxInt64
}
