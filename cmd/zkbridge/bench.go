package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"zkbridge/internal/bench"
)

// benching is what the command line of bench says.
type benching struct {
	opts  bench.Options
	pids  []int
	floor bool
	json  string
	quiet bool
}

func benchCommand() *cobra.Command {
	var b benching
	names, what := bench.Cases()
	var list strings.Builder
	t := tabwriter.NewWriter(&list, 0, 0, 2, ' ', 0)
	for i := range names {
		_, _ = fmt.Fprintf(t, "  %s\t%s\n", names[i], what[i])
	}
	_ = t.Flush()
	cmd := &cobra.Command{
		Use:   "bench [NAME=]ADDRESS...",
		Short: "Measure ZooKeeper servers, and print a table",
		Long: `Measure any server that speaks the ZooKeeper protocol, over the wire: throughput,
latency, and of a server on this machine its CPU time and resident memory. Of
several, each case is measured on one after the other, round by round, and the
table says how many times better the first is than each of the others.

The servers must let some thousand connections in from one address
(maxClientCnxns=0; zkbridge serve --server.maxConnectionsPerAddress 0), and this
process needs as many open files (ulimit -n). What a case makes below
/zkbridge-bench and /dubbo/com.example.bench.* it removes again; it is nothing
for a server that others work with. Cases:

` + list.String(),
		Example: `  zkbridge bench 127.0.0.1:2181
  zkbridge bench bridge=127.0.0.1:2181 zookeeper=127.0.0.1:2182 --floor --json bench.json
  zkbridge bench 127.0.0.1:2181 --cases getdata1,storm --rounds 3 --duration 5s`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return b.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&b.opts.Cases, "cases", nil, "only these cases")
	f.IntVar(&b.opts.Rounds, "rounds", 0, "samples of each case on each server (default 5)")
	f.DurationVar(&b.opts.Duration, "duration", 0, "how long a sample lasts, where a case can last for any time (default 1.5s)")
	f.IntVar(&b.opts.Idle, "sessions", 0, "sessions of the case idle (default 5000)")
	f.BoolVar(&b.opts.Quick, "quick", false, "a smoke test: everything once and small, the numbers mean nothing")
	f.BoolVar(&b.floor, "floor", false, "measure a server of canned replies too: the limit that no server can beat")
	f.IntSliceVar(&b.pids, "pid", nil, "process of each address, in their order; 0 or none: the one of this machine that listens there")
	f.StringVar(&b.json, "json", "", "write all samples to this file, - for standard output instead of the table")
	f.BoolVar(&b.quiet, "quiet", false, "do not say what is being done")
	cmd.AddCommand(floorCommand())
	return cmd
}

// servers are those of the command line.
func (b *benching) servers(args []string) ([]bench.Server, error) {
	if len(b.pids) > len(args) {
		return nil, fmt.Errorf("--pid: %d processes of %d addresses", len(b.pids), len(args))
	}
	var servers []bench.Server
	seen := map[string]bool{"floor": b.floor}
	for i, arg := range args {
		name, addr, named := strings.Cut(arg, "=")
		if !named {
			addr = arg
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		if seen[name] {
			return nil, fmt.Errorf("two servers are called %s: NAME=ADDRESS gives a name", name)
		}
		seen[name] = true
		s := bench.Server{Name: name, Addr: addr}
		if i < len(b.pids) {
			s.PID = b.pids[i]
		}
		if s.PID == 0 {
			s.PID = bench.FindPID(addr)
		}
		servers = append(servers, s)
	}
	return servers, nil
}

func (b *benching) run(cmd *cobra.Command, args []string) error {
	servers, err := b.servers(args)
	if err != nil {
		return err
	}
	if !b.quiet {
		b.opts.Progress = func(format string, args ...any) {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
		}
	}
	ctx := cmd.Context()
	if b.floor {
		s, stop, err := startFloor(ctx)
		if err != nil {
			return fmt.Errorf("start the server of canned replies: %w", err)
		}
		defer stop()
		servers = append(servers, s)
	}
	r, err := bench.Run(ctx, servers, b.opts)
	if err != nil {
		return err
	}
	if b.json != "" {
		if err := r.Save(b.json, cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	if b.json == "-" {
		return nil
	}
	return r.Print(cmd.OutOrStdout())
}

// startFloor runs this program again as the server of canned replies: a process
// of its own, as the servers are that it is compared with.
func startFloor(ctx context.Context) (bench.Server, func(), error) {
	program, err := os.Executable()
	if err != nil {
		return bench.Server{}, nil, err
	}
	cmd := exec.CommandContext(ctx, program, "bench", "floor")
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return bench.Server{}, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return bench.Server{}, nil, err
	}
	if err := cmd.Start(); err != nil {
		return bench.Server{}, nil, err
	}
	stop := func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		stop()
		return bench.Server{}, nil, fmt.Errorf("read its address: %w", err)
	}
	return bench.Server{Name: "floor", Addr: addr, PID: cmd.Process.Pid, Only: bench.FloorCases()}, stop, nil
}

// floorCommand is what startFloor runs. It ends with its standard input, so it
// does not outlive who started it.
func floorCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "floor", Short: "Serve canned replies until standard input ends, and print the address", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), ln.Addr()); err != nil {
				return errors.Join(err, ln.Close())
			}
			go func() { // ends with the process: a read of standard input cannot be called back
				_, _ = io.Copy(io.Discard, cmd.InOrStdin())
				cancel()
			}()
			return bench.ServeFloor(ctx, ln)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address")
	return cmd
}
