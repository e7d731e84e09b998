package main

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

// The names of the servers in tables and JSON.
const (
	zookeeper       = "zookeeper"
	zookeeperNoSync = "zookeeper-nosync"
	bridge          = "zkbridge"
)

var allServers = []string{zookeeper, bridge, zookeeperNoSync}

// report is what a run found out.
type report struct {
	Started    time.Time    `json:"started"`
	Took       float64      `json:"tookSeconds"`
	Processors int          `json:"processors"`
	Rounds     int          `json:"rounds"`
	Cases      []caseReport `json:"cases"`
}

type caseReport struct {
	Name    string              `json:"name"`
	Metrics []metricReport      `json:"metrics"`
	Samples map[string][]sample `json:"samples"` // by server, in the order taken
}

type metricReport struct {
	Name    string             `json:"name"`
	Unit    string             `json:"unit"`
	Better  string             `json:"better"`
	Medians map[string]float64 `json:"medians"` // by server
	Factors map[string]float64 `json:"factors"` // by other server: how many times better zkbridge is
}

// summarize computes a case's medians and factors.
func summarize(name string, metrics []metric, samples map[string][]sample) caseReport {
	c := caseReport{Name: name, Samples: samples}
	for _, m := range metrics {
		r := metricReport{Name: m.Name, Unit: m.Unit, Better: m.Better, Medians: map[string]float64{}, Factors: map[string]float64{}}
		for server, all := range samples {
			var values []float64
			for _, s := range all {
				values = append(values, s[m.Name])
			}
			r.Medians[server] = median(values)
		}
		ours, measured := r.Medians[bridge]
		for server, theirs := range r.Medians {
			if !measured || server == bridge || ours == 0 || theirs == 0 {
				continue
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

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// print writes the table.
func (r *report) print(w io.Writer) error {
	fmt.Fprintf(w, "medians of %d rounds in turn, %d processors shared by client and server; factor: how many times better zkbridge is\n\n", r.Rounds, r.Processors)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "case\tmeasure\tZooKeeper\tzkbridge\tfactor\tunit")
	for _, c := range r.Cases {
		for _, other := range []string{zookeeper, zookeeperNoSync} {
			_, measured := c.Samples[other]
			_, control := c.Samples[zookeeper]
			if !measured && (other != zookeeper || control || len(c.Samples) == 0) {
				continue // but show a run of the bridge alone
			}
			name := c.Name
			if other == zookeeperNoSync {
				name += ", forceSync=no"
			}
			for _, m := range c.Metrics {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", name, m.Name, number(m.Medians[other]), number(m.Medians[bridge]), factor(m.Factors[other]), m.Unit)
				name = ""
			}
		}
	}
	return t.Flush()
}

// save writes the report as JSON to file, or to standard output if it is "-".
func (r *report) save(file string) error {
	body, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	body = append(body, '\n')
	if file == "-" {
		_, err := os.Stdout.Write(body)
		return err
	}
	return os.WriteFile(file, body, 0o644)
}

func newReport(rounds int) *report {
	return &report{Started: time.Now().Truncate(time.Second), Processors: runtime.NumCPU(), Rounds: rounds}
}

func factor(f float64) string {
	if f == 0 {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', 2, 64) + "x"
}

// number shows v with three or more figures, thousands apart.
func number(v float64) string {
	switch {
	case v == 0:
		return "-"
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
