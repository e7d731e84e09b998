// Command program is the observer as a process of its own.
//
// It follows the provider directories of a ZooKeeper server, and the lists of a
// registry if it is given one, until SIGTERM, and prints every list and change
// as one JSON object a line:
//
//	observer -zookeeper 127.0.0.1:2181 [-root /dubbo] [-registry http://127.0.0.1:8849]
//
// Or it judges a history (the same lines, and what a test knows beside them):
//
//	observer -judge FILE
//
// and exits with status 1 if a list was wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"zkbridge/compat-tests/observer"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "observer:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("observer", flag.ContinueOnError)
	zookeeper := flags.String("zookeeper", "", "host:port of the server to follow")
	root := flags.String("root", "/dubbo", "root of the provider directories")
	registry := flags.String("registry", "", "URL of the registry to follow")
	token := flags.String("token", "", "the registry's bearer token")
	namespace := flags.String("namespace", "public", "the registry's namespace")
	group := flags.String("group", "DEFAULT_GROUP", "the registry's group")
	service := flags.String("service", "", "a service of the registry to follow before it exists")
	file := flags.String("judge", "", "history to judge")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *file != "" {
		return judge(*file, out)
	}
	if *zookeeper == "" {
		return errors.New("-zookeeper or -judge is needed")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	to := &printer{to: json.NewEncoder(out)}
	var parts sync.WaitGroup
	follow := func(run func(context.Context) error) {
		parts.Go(func() {
			if err := run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	follow((&observer.Stalls{To: to}).Run)
	follow((&observer.ZooKeeper{Addr: *zookeeper, Root: *root, To: to}).Run)
	if *registry != "" {
		r := &observer.Registry{URL: *registry, Token: *token, Namespace: *namespace, Group: *group, To: to}
		if *service != "" {
			r.Services = []string{*service}
		}
		follow(r.Run)
	}
	parts.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// printer prints each event as a line.
type printer struct {
	mu sync.Mutex
	to *json.Encoder
}

func (p *printer) Record(e observer.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.to.Encode(e) // whoever reads has gone: the test is over
}

// judge judges a file and says what it found.
func judge(file string, out io.Writer) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	history, err := observer.Read(f)
	if err != nil {
		return err
	}
	report := observer.Judge(history, observer.Limits{})
	for side, n := range report.Lists {
		fmt.Fprintf(out, "%d lists at the %s\n", n, side)
	}
	for _, a := range report.Arrivals {
		fmt.Fprintf(out, "%s of %s came to the %s after %v\n", a.Address, a.Service, a.Side, a.After)
	}
	for _, f := range report.Flaps {
		fmt.Fprintf(out, "%s of %s was taken away by its client for %v\n", f.Address, f.Service, f.For)
	}
	for _, f := range report.Faults {
		fmt.Fprintln(out, f)
	}
	if n := len(report.Faults); n > 0 {
		return fmt.Errorf("%d faults", n)
	}
	return nil
}
