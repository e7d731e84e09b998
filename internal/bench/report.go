package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a run found out.
type Report struct {
	Started    time.Time    `json:"started"`
	Took       float64      `json:"tookSeconds"`
	Processors int          `json:"processors"`
	Load       string       `json:"loadAverages,omitempty"` // of the machine at the start
	Rounds     int          `json:"rounds"`
	Servers    []string     `json:"servers"` // the first is the one that factors are about
	Cases      []CaseReport `json:"cases"`
}

// CaseReport is what a run found out in one case.
type CaseReport struct {
	Name    string              `json:"name"`
	Metrics []MetricReport      `json:"metrics"`
	Samples map[string][]Sample `json:"samples"` // by server, in the order taken
}

// MetricReport is one number of a case.
type MetricReport struct {
	Name    string             `json:"name"`
	Unit    string             `json:"unit"`
	Better  string             `json:"better"`
	Medians map[string]float64 `json:"medians"` // by server
	Factors map[string]float64 `json:"factors"` // by other server: how many times better the first is
}

// summarize computes a case's medians and factors.
func summarize(name, first string, metrics []Metric, samples map[string][]Sample) CaseReport {
	c := CaseReport{Name: name, Samples: samples}
	for _, m := range metrics {
		r := MetricReport{Name: m.Name, Unit: m.Unit, Better: m.Better, Medians: map[string]float64{}, Factors: map[string]float64{}}
		for server, all := range samples {
			var values []float64
			for _, s := range all {
				if v, ok := s[m.Name]; ok {
					values = append(values, v)
				}
			}
			if len(values) > 0 {
				r.Medians[server] = median(values)
			}
		}
		ours := r.Medians[first]
		for server, theirs := range r.Medians {
			if server == first || ours <= 0 || theirs <= 0 {
				continue // nothing to divide: a lateness below zero, a process that did not grow
			}
			if m.Better == lower {
				r.Factors[server] = theirs / ours
			} else {
				r.Factors[server] = ours / theirs
			}
		}
		c.Metrics = append(c.Metrics, r)
	}
	return c
}

// median of values, of which there are some.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// Print writes the table.
func (r *Report) Print(w io.Writer) error {
	first, others := r.Servers[0], r.Servers[1:]
	_, _ = fmt.Fprintf(w, "medians of %d rounds in turn, %d processors shared by client and servers", r.Rounds, r.Processors)
	if r.Load != "" {
		_, _ = fmt.Fprintf(w, ", load averages at the start %s", r.Load)
	}
	if len(others) > 0 {
		_, _ = fmt.Fprintf(w, "; x: how many times better %s is", first)
	}
	_, _ = fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	heads := []string{"case", "measure", first}
	for _, other := range others {
		heads = append(heads, other, "x")
	}
	_, _ = fmt.Fprintln(t, strings.Join(append(heads, "unit"), "\t"))
	for _, c := range r.Cases {
		name := c.Name
		for _, m := range c.Metrics {
			row := []string{name, m.Name, number(m.Medians, first)}
			for _, other := range others {
				row = append(row, number(m.Medians, other), factor(m.Factors, other))
			}
			_, _ = fmt.Fprintln(t, strings.Join(append(row, m.Unit), "\t"))
			name = ""
		}
	}
	return t.Flush()
}

// Save writes the report as JSON to file, or to standard output if it is "-".
func (r *Report) Save(file string, stdout io.Writer) error {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	body = append(body, '\n')
	if file == "-" {
		_, err := stdout.Write(body)
		return err
	}
	return os.WriteFile(file, body, 0o644)
}

func newReport(rounds int, servers []Server) *Report {
	r := &Report{Started: time.Now().Truncate(time.Second), Processors: runtime.NumCPU(), Rounds: rounds}
	for _, s := range servers {
		r.Servers = append(r.Servers, s.Name)
	}
	if body, err := os.ReadFile("/proc/loadavg"); err == nil {
		r.Load = strings.Join(strings.Fields(string(body))[:3], " ")
	}
	return r
}

func factor(values map[string]float64, server string) string {
	f, ok := values[server]
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// number shows a value with three or more figures, thousands apart.
func number(values map[string]float64, server string) string {
	v, ok := values[server]
	if !ok {
		return "-"
	}
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(d)
	}
	return out.String()
}
