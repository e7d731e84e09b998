package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"zkbridge/compat-tests/control"
	"zkbridge/internal/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var o bench.Options
	flags.BoolVar(&o.Quick, "quick", false, "a smoke test: everything once and small, the numbers mean nothing")
	only := flags.String("cases", "", "only these cases, comma separated")
	servers := flags.String("servers", strings.Join(allServers, ","), "only these servers, comma separated")
	flags.IntVar(&o.Rounds, "rounds", 0, "samples of each case on each server (default 5)")
	flags.IntVar(&o.Idle, "sessions", 0, "sessions of the case idle (default 5000)")
	flags.DurationVar(&o.Duration, "duration", 0, "how long one sample lasts (default 1.5s)")
	file := flags.String("json", filepath.Join(control.CacheDir(), "bench.json"), "file for all samples, - for standard output")
	jvm := flags.String("jvm", "-Xmx1000m", "flags of ZooKeeper's JVM; the default is that of its own start script")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *only != "" {
		o.Cases = strings.Split(*only, ",")
	}
	names, err := wanted(*servers)
	if err != nil {
		return err
	}
	f := farm{jvm: strings.Fields(*jvm)}
	defer f.close()
	o.Fresh = f.fresh
	o.Progress = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	if err := os.MkdirAll(control.CacheDir(), 0o755); err != nil {
		return err
	}
	var running []bench.Server
	for _, name := range names {
		s, err := f.start(ctx, name)
		if err != nil {
			return err
		}
		running = append(running, s)
	}
	r, err := bench.Run(ctx, running, o)
	if err != nil {
		return err
	}
	if err := r.Print(out); err != nil {
		return err
	}
	return r.Save(*file, out)
}
