package adminserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Shape is what a reader of the answer relies on: a line for each key with the
// kind of its value, sorted. Keys that are paths or session ids are "*", of a list
// the first element counts.
func Shape(answer []byte) (string, error) {
	var v any
	d := json.NewDecoder(strings.NewReader(string(answer)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("%w in %q", err, answer)
	}
	lines := map[string]string{}
	shape(v, "", lines)
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&out, "%s: %s\n", key, lines[key])
	}
	return out.String(), nil
}

var aKey = regexp.MustCompile(`^(/.*|-?\d+)$`)

func shape(v any, at string, lines map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		lines[at] = "object"
		for key, e := range v {
			if aKey.MatchString(key) {
				key = "*"
			}
			shape(e, at+"."+key, lines)
		}
	case []any:
		lines[at] = "list"
		if len(v) > 0 {
			shape(v[0], at+"[]", lines)
		}
	case json.Number:
		lines[at] = "integer"
		if strings.Contains(v.String(), ".") {
			lines[at] = "decimal"
		}
	case string:
		lines[at] = "text"
		if strings.HasSuffix(at, ".error") || strings.HasSuffix(at, ".command") {
			lines[at] = fmt.Sprintf("%q", v)
		}
	default:
		lines[at] = fmt.Sprint(v)
	}
}

// measured are the summaries that the bridge has. Of the others (queues and steps
// that a request takes in ZooKeeper only, per namespace, or not measured) it shows
// nothing.
var measured = regexp.MustCompile(`^\.(avg|min|max|cnt|sum|p50|p95|p99|p999)_(latency|file_descriptor_count|client_response_size|readlatency|updatelatency): `)

var ofSummary = regexp.MustCompile(`^\.(avg|min|max|cnt|sum|p50|p95|p99|p999)_`)

// Expected is the shape that the bridge must have where the real server's is
// given.
func Expected(command, real string) string {
	if command != "monitor" {
		return real
	}
	var out strings.Builder
	for line := range strings.Lines(real) {
		if !ofSummary.MatchString(line) || measured.MatchString(line) {
			out.WriteString(line)
		}
	}
	return out.String()
}
