package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zkbridge/compat-tests/control"
	"zkbridge/internal/bench"
)

// The names of the servers in tables and JSON.
const (
	bridge          = "zkbridge"
	zookeeper       = "zookeeper"
	zookeeperNoSync = "zk-nosync"
	floor           = "floor"
)

// allServers are the servers, the one that factors are about first.
var allServers = []string{bridge, zookeeper, zookeeperNoSync, floor}

// farm is the servers that run.
type farm struct {
	jvm     []string
	targets []control.Target
	floors  []*control.Process
	dirs    []string
}

// start starts a server in a process of its own.
func (f *farm) start(ctx context.Context, name string) (bench.Server, error) {
	dir, err := os.MkdirTemp(control.CacheDir(), "bench-"+name+"-")
	if err != nil {
		return bench.Server{}, err
	}
	f.dirs = append(f.dirs, dir)
	s := bench.Server{Name: name}
	kind, jvm := control.ZooKeeper, f.jvm
	switch name {
	case floor:
		s.Only = bench.FloorCases()
		err := f.startFloor(ctx, &s, dir)
		return s, err
	case bridge:
		kind = control.Bridge
	case zookeeperNoSync:
		s.Only = []string{"setdata", "ephemerals", "providers", "register", "storm", "restart"}
		jvm = append([]string{"-Dzookeeper.forceSync=no"}, jvm...)
	}
	target, err := control.New(ctx, kind, control.Options{Dir: dir, JVM: jvm})
	if err != nil {
		return s, err
	}
	f.targets = append(f.targets, target)
	if err := target.Start(ctx); err != nil {
		return s, fmt.Errorf("start %s: %w", name, err)
	}
	s.Addr, s.PID = target.Addr(), target.Pid()
	return s, nil
}

func (f *farm) startFloor(ctx context.Context, s *bench.Server, dir string) error {
	program, err := control.BuildBridge(ctx)
	if err != nil {
		return err
	}
	out := filepath.Join(dir, "floor.log")
	p, err := control.Run(control.Command{Name: "zkbridge bench floor", Args: []string{program, "bench", "floor"}, Log: out, Dir: dir, Stdin: true})
	if err != nil {
		return err
	}
	f.floors = append(f.floors, p)
	s.PID = p.Pid()
	for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(out)
		if err != nil {
			return err
		}
		if line, _, whole := bytes.Cut(text, []byte("\n")); whole {
			s.Addr = strings.TrimSpace(string(line))
			return nil
		}
	}
	return p.Ended()
}

// fresh starts one more server like s.
func (f *farm) fresh(ctx context.Context, s bench.Server) (bench.Server, func(), error) {
	own := farm{jvm: f.jvm}
	again, err := own.start(ctx, s.Name)
	if err != nil {
		own.close()
	}
	return again, own.close, err
}

// close kills the servers and removes their data.
func (f *farm) close() {
	for _, target := range f.targets {
		if err := target.Kill(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	for _, p := range f.floors {
		if err := p.Kill(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	for _, dir := range f.dirs {
		_ = os.RemoveAll(dir)
	}
	f.targets, f.floors, f.dirs = nil, nil, nil
}

// wanted are the names of a list, in the order of allServers.
func wanted(list string) ([]string, error) {
	asked := strings.Split(list, ",")
	for _, name := range asked {
		if !slices.Contains(allServers, name) {
			return nil, fmt.Errorf("no such server: %q (one of %s)", name, strings.Join(allServers, " "))
		}
	}
	return slices.DeleteFunc(slices.Clone(allServers), func(name string) bool { return !slices.Contains(asked, name) }), nil
}
