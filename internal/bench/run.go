package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options say what to measure and how long. The zero value is a full run.
type Options struct {
	Cases    []string      // names; nil: all
	Rounds   int           // samples of each case on each server; 0: 5, or 1 if Quick
	Duration time.Duration // of one sample; 0: 1.5 s
	Quick    bool          // a smoke test: everything once and small, the numbers mean nothing
	Idle     int           // sessions of the case idle; 0: 5,000
	// Fresh starts a server like s in a new process for one sample of memory, and
	// says how to end it. Nil: the running one is measured.
	Fresh func(ctx context.Context, s Server) (Server, func(), error)
	// Progress is told what is being done. Nil: nobody is.
	Progress func(format string, args ...any)
}

// caseLimit is how long a case may take before it is given up.
const caseLimit = 20 * time.Minute

// Cases lists the names of all cases, and for each what it measures.
func Cases() (names, what []string) {
	for _, c := range cases() {
		names, what = append(names, c.name), append(what, c.what)
	}
	return names, what
}

func (o Options) withDefaults() (Options, error) {
	all, _ := Cases()
	if o.Cases == nil {
		o.Cases = all
	}
	for _, name := range o.Cases {
		if !slices.Contains(all, name) {
			return o, fmt.Errorf("no such case: %q (one of %s)", name, strings.Join(all, " "))
		}
	}
	if o.Rounds < 0 || o.Duration < 0 || o.Idle < 0 {
		return o, errors.New("rounds, duration and sessions are not negative")
	}
	if o.Rounds == 0 {
		o.Rounds = 5
		if o.Quick {
			o.Rounds = 1
		}
	}
	if o.Duration == 0 {
		o.Duration = 1500 * time.Millisecond
		if o.Quick {
			o.Duration = 50 * time.Millisecond
		}
	}
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	return o, nil
}

// Run measures servers, of which there is at least one, with names of their own.
func Run(ctx context.Context, servers []Server, o Options) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	z := fullSizes()
	if o.Quick {
		z = quickSizes()
	}
	if o.Idle > 0 {
		z.idle = o.Idle
	}
	r := newReport(o.Rounds, servers)
	start := time.Now()
	for _, c := range cases() {
		if !slices.Contains(o.Cases, c.name) {
			continue
		}
		var part []Server
		for _, s := range servers {
			if s.Only == nil || slices.Contains(s.Only, c.name) {
				part = append(part, s)
			}
		}
		samples, err := measure(ctx, c, part, o, z)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		r.Cases = append(r.Cases, summarize(c.name, servers[0].Name, c.metrics, samples))
	}
	r.Took = time.Since(start).Seconds()
	return r, nil
}

// measure makes a case ready on all servers and takes samples of one after the
// other.
func measure(ctx context.Context, c benchCase, servers []Server, o Options, z sizes) (map[string][]Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, caseLimit)
	defer cancel()
	rounds := o.Rounds
	if c.rounds > 0 {
		rounds = min(rounds, c.rounds)
	}
	if c.fresh && o.Fresh != nil {
		return measureFresh(ctx, c, servers, rounds, o, z)
	}
	subjects := make([]subject, len(servers))
	for i, s := range servers {
		var err error
		if subjects[i], err = c.prepare(ctx, s, z); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", s.Name, err)
		}
		defer subjects[i].close()
	}
	first := 0 // round 0 is to warm up
	if c.fresh || c.rounds > 0 {
		first = 1 // and here there is nothing to warm up
	}
	samples := make(map[string][]Sample)
	for round := first; round <= rounds; round++ {
		for k := range servers {
			i := (k + round) % len(servers)
			o.Progress("%s: round %d of %d on %s", c.name, round, rounds, servers[i].Name)
			got, err := subjects[i].measure(ctx, o.Duration)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("on %s: %w", servers[i].Name, err)
			}
			if round > 0 {
				samples[servers[i].Name] = append(samples[servers[i].Name], got)
			}
		}
	}
	return samples, nil
}

// measureFresh takes each sample on a process of its own.
func measureFresh(ctx context.Context, c benchCase, servers []Server, rounds int, o Options, z sizes) (map[string][]Sample, error) {
	samples := make(map[string][]Sample)
	once := func(s Server) error {
		own, stop, err := o.Fresh(ctx, s)
		if err != nil {
			return err
		}
		defer stop()
		ready, err := c.prepare(ctx, own, z)
		if err != nil {
			return err
		}
		defer ready.close()
		got, err := ready.measure(ctx, o.Duration)
		samples[s.Name] = append(samples[s.Name], got)
		return err
	}
	for round := range rounds {
		for _, s := range servers {
			o.Progress("%s: round %d of %d on a fresh %s", c.name, round+1, rounds, s.Name)
			if err := once(s); err != nil {
				return nil, fmt.Errorf("on %s: %w", s.Name, err)
			}
		}
	}
	return samples, nil
}
