package scenario

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"zkbridge/compat-tests/apps"
)

// Step is what was seen in one step of a scenario, with all that differs from
// run to run (ports, process ids, times) replaced.
type Step struct {
	Name  string
	Lists []string // the consumer's lists, one after the other, the one it had before the step first
	Call  string   // the answer to a call at the end of the step, "" if none was made
	Tree  []string // the znodes at the end of the step, sorted
}

// Record is what was seen in one run.
type Record struct {
	Target string
	Steps  []Step
	Flaps  int // times that a provider was away because its client deleted and created it
}

// labels replaces the ports of a run by names.
type labels map[int]string

var (
	timestamps = regexp.MustCompile(`(timestamp(?:%3D|=))\d+`)
	// dubbo-go sets this parameter on a consumer's URL when it subscribes, while it
	// registers that URL: whether the name has it is chance, on any server.
	ttls = regexp.MustCompile(`registry\.ttl%3D\w+%26`)
	pids = regexp.MustCompile(`((?:%26|%3F|&|\?)pid(?:%3D|=))\d+`)
)

// replace replaces what differs from run to run in a name or a line.
func (l labels) replace(text string) string {
	text = timestamps.ReplaceAllString(text, "${1}<time>")
	text = pids.ReplaceAllString(text, "${1}<pid>")
	text = ttls.ReplaceAllString(text, "")
	return l.ports(text)
}

func (l labels) ports(text string) string {
	for port, name := range l {
		text = regexp.MustCompile(fmt.Sprintf(`\b%d\b|%%3A%d\b`, port, port)).ReplaceAllStringFunc(text, func(m string) string {
			return strings.TrimSuffix(m, fmt.Sprint(port)) + "<" + name + ">"
		})
	}
	return text
}

// data replaces what differs from run to run in a node's data. Documents are
// compared as such: the order of their keys is the client's, and random.
func (l labels) data(data []byte) string {
	var document any
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &document) != nil {
		return l.replace(string(data))
	}
	out, err := json.Marshal(generalise(document))
	if err != nil {
		return err.Error()
	}
	return l.ports(string(out))
}

// ofTheRun are the keys of documents whose values differ from run to run. The
// revision is a hash over what includes the port.
var ofTheRun = []string{"pid", "timestamp", "registrationTimeUTC", "dubbo.metadata.revision"}

func generalise(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			if slices.Contains(ofTheRun, key) {
				v[key] = "<" + key + ">"
			} else {
				v[key] = generalise(v[key])
			}
		}
	case []any:
		for i := range v {
			v[i] = generalise(v[i])
		}
	}
	return value
}

// call renders the answer to a call. Which of several providers answered is
// chance.
func (l labels) call(answer string) string {
	text := l.replace(answer)
	for _, name := range l {
		text = strings.ReplaceAll(text, "<"+name+">", "<port>")
	}
	return text
}

// list renders a view, addresses as labels and sorted by them.
func (l labels) list(view apps.List) string {
	var names []string
	for _, address := range view.Addresses {
		names = append(names, l.replace(address))
	}
	slices.Sort(names)
	text := "[" + strings.Join(names, " ") + "]"
	if view.Detail != "" {
		text += " " + view.Detail
	}
	return text
}

// Compare fails the test where two runs differ. The lists during a restart of
// the server and while the consumer starts are not compared, only the last one.
func Compare(t *testing.T, control, other Record) {
	t.Helper()
	if len(control.Steps) != len(other.Steps) {
		t.Errorf("%s went through %d steps, %s through %d", control.Target, len(control.Steps), other.Target, len(other.Steps))
	}
	for i, want := range control.Steps {
		if i >= len(other.Steps) {
			break
		}
		got := other.Steps[i]
		if got.Name != want.Name {
			t.Fatalf("step %d is %q on %s and %q on %s", i, want.Name, control.Target, got.Name, other.Target)
		}
		wantLists, gotLists := want.Lists, got.Lists
		if want.Name == restart || want.Name == firstCall {
			wantLists, gotLists = last(want.Lists), last(got.Lists)
		}
		if !slices.Equal(gotLists, wantLists) {
			t.Errorf("%s: the consumer's lists on %s:\n  %s\nwant as on %s:\n  %s", want.Name,
				other.Target, strings.Join(gotLists, "\n  "), control.Target, strings.Join(wantLists, "\n  "))
		}
		if got.Call != want.Call {
			t.Errorf("%s: a call on %s answers %q, want %q as on %s", want.Name, other.Target, got.Call, want.Call, control.Target)
		}
		missing, added := difference(want.Tree, got.Tree), difference(got.Tree, want.Tree)
		if len(missing)+len(added) > 0 {
			t.Errorf("%s: the tree on %s lacks:\n  %s\nand has instead:\n  %s", want.Name,
				other.Target, strings.Join(missing, "\n  "), strings.Join(added, "\n  "))
		}
	}
	if other.Flaps > control.Flaps {
		t.Errorf("clients' own delete and create took a provider away %d times on %s, want at most the %d of %s",
			other.Flaps, other.Target, control.Flaps, control.Target)
	}
}

func last(list []string) []string { return list[max(0, len(list)-1):] }

// difference is what a has more often than b.
func difference(a, b []string) []string {
	count := map[string]int{}
	for _, s := range b {
		count[s]++
	}
	var more []string
	for _, s := range a {
		if count[s]--; count[s] < 0 {
			more = append(more, s)
		}
	}
	return more
}
