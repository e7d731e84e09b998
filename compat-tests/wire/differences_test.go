package wire_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/wire"
)

// TestDifferencesAreTold compares the table with the page that explains it, and
// applies it to the control's transcripts.
func TestDifferencesAreTold(t *testing.T) {
	page, err := os.ReadFile("differences.md")
	require.NoError(t, err)
	told := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(page), -1) {
		told[m[1]] = false
	}
	for _, d := range wire.Differences() {
		require.Contains(t, told, d.Title, "a heading in differences.md")
		told[d.Title] = true
		require.NotEqual(t, d.Real, d.Ours)
	}
	for title := range wire.Untold() {
		require.Contains(t, told, title, "a heading in differences.md")
		require.False(t, told[title], "%q is shown by a script", title)
		told[title] = true
	}
	for title, used := range told {
		require.True(t, used, "%q is in differences.md only", title)
	}
}

// TestScriptsAreNamed compares the scripts with the transcripts in testdata.
func TestScriptsAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range wire.Scripts() {
		require.Regexp(t, `^[a-z0-9-]+$`, s.Name)
		require.False(t, seen[s.Name], "%s twice", s.Name)
		require.NotEmpty(t, s.Rule, s.Name)
		seen[s.Name] = true
		page, err := os.ReadFile(filepath.Join("testdata", s.Name+".txt"))
		require.NoError(t, err)
		rule, transcript, _ := strings.Cut(string(page), "\n")
		require.Equal(t, "# "+s.Rule, rule)
		_, err = wire.Expected(s.Name, wire.Transcript(transcript))
		require.NoError(t, err)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	require.NoError(t, err)
	require.Len(t, files, len(seen), "transcripts without a script")
	for _, d := range wire.Differences() {
		require.True(t, seen[d.Script], "difference of an unknown script %s", d.Script)
	}
}
