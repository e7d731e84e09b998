package main

import (
	"context"
	"fmt"
	"os"

	"zkbridge/compat-tests/control"
)

// farm starts servers when they are first asked for.
type farm struct {
	opts    options
	running map[string]control.Target
	dirs    []string
}

// server returns the server of that name, and starts it if it does not run.
func (f *farm) server(ctx context.Context, name string) (server, error) {
	target := f.running[name]
	if target == nil {
		var err error
		if target, err = f.start(ctx, name); err != nil {
			return server{}, fmt.Errorf("start %s: %w", name, err)
		}
	}
	return server{name: name, addr: target.Addr(), pid: target.Pid()}, nil
}

func (f *farm) start(ctx context.Context, name string) (control.Target, error) {
	dir, err := os.MkdirTemp(control.CacheDir(), "bench-"+name+"-")
	if err != nil {
		return nil, err
	}
	f.dirs = append(f.dirs, dir)
	kind := control.ZooKeeper
	jvm := f.opts.jvm
	switch name {
	case bridge:
		kind = control.Bridge
	case zookeeperNoSync:
		jvm = append([]string{"-Dzookeeper.forceSync=no"}, jvm...)
	}
	target, err := control.New(ctx, kind, control.Options{Dir: dir, JVM: jvm})
	if err != nil {
		return nil, err
	}
	if f.running == nil {
		f.running = make(map[string]control.Target)
	}
	f.running[name] = target
	return target, target.Start(ctx)
}

// close kills the servers and removes their data.
func (f *farm) close() {
	for _, target := range f.running {
		if err := target.Kill(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	for _, dir := range f.dirs {
		_ = os.RemoveAll(dir)
	}
	f.running, f.dirs = nil, nil
}
