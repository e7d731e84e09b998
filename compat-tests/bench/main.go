package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"zkbridge/compat-tests/control"
)

// options are the sizes of a run.
type options struct {
	rounds    int
	warmUp    time.Duration // of each case on each server
	sampling  time.Duration // of one sample
	readers   int           // connections of the getData cases
	writers   int           // connections of the case ephemerals
	watchers  int           // connections of the case fanout
	providers int           // names in the directory they list
	idle      int           // sessions of the case idle
	idleRuns  int           // fresh processes of it for each server

	only    []string // names of cases; none: all
	servers []string // names of servers
	jvm     []string
}

// full takes about three minutes, quick about half a minute.
var (
	full  = options{rounds: 5, warmUp: 3 * time.Second, sampling: 1500 * time.Millisecond, readers: 32, writers: 64, watchers: 1000, providers: 20, idle: 5000, idleRuns: 3}
	quick = options{rounds: 1, warmUp: 500 * time.Millisecond, sampling: 500 * time.Millisecond, readers: 8, writers: 8, watchers: 100, providers: 20, idle: 500, idleRuns: 1}
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	small := flags.Bool("quick", false, "a smoke test: everything once and small, the numbers mean nothing")
	only := flags.String("cases", "", "only these cases, comma separated")
	servers := flags.String("servers", strings.Join(allServers, ","), "only these servers, comma separated")
	rounds := flags.Int("rounds", 0, "samples of each case on each server (default 5)")
	sampling := flags.Duration("time", 0, "how long one sample lasts (default 1.5s)")
	file := flags.String("json", filepath.Join(control.CacheDir(), "bench.json"), "file for all samples, - for standard output")
	jvm := flags.String("jvm", "-Xmx1000m", "flags of ZooKeeper's JVM; the default is that of its own start script")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	o := full
	if *small {
		o = quick
	}
	if *rounds > 0 {
		o.rounds, o.idleRuns = *rounds, min(*rounds, o.idleRuns)
	}
	if *sampling > 0 {
		o.sampling = *sampling
	}
	o.jvm = strings.Fields(*jvm)
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	o.servers = strings.Split(*servers, ",")
	if err := o.check(); err != nil {
		return err
	}

	r := newReport(o.rounds)
	err := measureAll(ctx, o, r)
	r.Took = time.Since(r.Started).Seconds()
	if err != nil {
		return err
	}
	if err := r.print(os.Stdout); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*file), 0o755); err != nil {
		return err
	}
	return r.save(*file)
}

func (o options) check() error {
	known := []string{"idle"}
	for _, c := range cases() {
		known = append(known, c.Name)
	}
	for _, name := range o.only {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no such case: %q (one of %s)", name, strings.Join(known, " "))
		}
	}
	for _, name := range o.servers {
		if !slices.Contains(allServers, name) {
			return fmt.Errorf("no such server: %q (one of %s)", name, strings.Join(allServers, " "))
		}
	}
	return nil
}

func (o options) wants(name string) bool { return len(o.only) == 0 || slices.Contains(o.only, name) }

// measureAll runs the cases and fills in r.
func measureAll(ctx context.Context, o options, r *report) error {
	f := farm{opts: o}
	defer f.close()
	for _, c := range cases() {
		if !o.wants(c.Name) {
			continue
		}
		names := slices.DeleteFunc(slices.Clone(o.servers), func(name string) bool {
			return name == zookeeperNoSync && !c.noSync
		})
		samples, err := measureCase(ctx, &f, c, names, o)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		r.Cases = append(r.Cases, summarize(c.Name, c.Metrics, samples))
	}
	f.close()
	if !o.wants("idle") {
		return nil
	}
	samples, err := measureIdles(ctx, o)
	if err != nil {
		return fmt.Errorf("idle: %w", err)
	}
	r.Cases = append(r.Cases, summarize("idle", idleMetrics, samples))
	return nil
}

// measureCase prepares a case on all servers, and then takes samples of one
// after the other, so that what disturbs the machine disturbs all.
func measureCase(ctx context.Context, f *farm, c benchCase, names []string, o options) (map[string][]sample, error) {
	subjects := make([]subject, len(names))
	for i, name := range names {
		s, err := f.server(ctx, name)
		if err != nil {
			return nil, err
		}
		if subjects[i], err = c.prepare(ctx, s, o); err != nil {
			return nil, fmt.Errorf("prepare %s: %w", name, err)
		}
		defer subjects[i].close()
	}
	samples := make(map[string][]sample)
	for round := range o.rounds + 1 {
		for k := range names {
			// Each round begins with another server.
			i := (k + round) % len(names)
			d := o.sampling
			if round == 0 {
				d = o.warmUp
			}
			progress("%s: round %d of %d on %s", c.Name, round, o.rounds, names[i])
			got, err := subjects[i].measure(ctx, d)
			if err != nil {
				return nil, fmt.Errorf("on %s: %w", names[i], err)
			}
			if round > 0 {
				samples[names[i]] = append(samples[names[i]], got)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	return samples, nil
}

// measureIdles takes samples of memory, each on a process of its own.
func measureIdles(ctx context.Context, o options) (map[string][]sample, error) {
	samples := make(map[string][]sample)
	for round := range o.idleRuns {
		for _, name := range o.servers {
			if name == zookeeperNoSync {
				continue
			}
			progress("idle: round %d of %d on %s", round+1, o.idleRuns, name)
			f := farm{opts: o}
			s, err := f.server(ctx, name)
			if err == nil {
				var got sample
				if got, err = measureIdle(ctx, s, o.idle); err == nil {
					samples[name] = append(samples[name], got)
				}
			}
			f.close()
			if err != nil {
				return nil, fmt.Errorf("on %s: %w", name, err)
			}
		}
	}
	return samples, nil
}

// progress tells on standard error what is being done.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
