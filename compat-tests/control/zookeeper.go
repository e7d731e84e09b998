package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// startLimit is how long a server may take until it serves, on a busy machine.
const startLimit = 60 * time.Second

// zooKeeper is the control: a real server, standalone.
type zooKeeper struct {
	opts    Options
	args    []string
	log     string
	process *Process
}

func zooKeeperClasspath(ctx context.Context) (string, error) {
	return Maven(ctx, filepath.Join(Root(), "compat-tests", "zookeeper"))
}

func newZooKeeper(ctx context.Context, o Options) (*zooKeeper, error) {
	java, err := Java()
	if err != nil {
		return nil, err
	}
	classpath, err := zooKeeperClasspath(ctx)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(o.Dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return nil, err
	}
	lines := append([]string{
		"dataDir=" + data,
		"clientPortAddress=" + o.host(),
		"clientPort=" + strconv.Itoa(o.Port),
		"tickTime=" + millis(o.tick()),
		"minSessionTimeout=" + millis(o.minSession()),
		"maxSessionTimeout=" + millis(o.maxSession()),
		"maxClientCnxns=0",
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
		"extendedTypesEnabled=true",
	}, o.Lines...)
	file := filepath.Join(o.Dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return nil, err
	}
	flags := o.JVM
	if flags == nil {
		flags = JVMFlags(128)
	}
	args := append([]string{java}, flags...)
	args = append(args, "-cp", classpath, "org.apache.zookeeper.server.ZooKeeperServerMain", file)
	return &zooKeeper{opts: o, args: args, log: filepath.Join(o.Dir, "zookeeper.log")}, nil
}

func (z *zooKeeper) Name() string        { return string(ZooKeeper) }
func (z *zooKeeper) Addr() string        { return net.JoinHostPort(z.opts.host(), strconv.Itoa(z.opts.Port)) }
func (z *zooKeeper) RegistryURL() string { return "" }
func (z *zooKeeper) AdminURL() string    { return "" }
func (z *zooKeeper) Logs() []string      { return []string{z.log} }

func (z *zooKeeper) Pid() int {
	if z.process == nil {
		return 0
	}
	return z.process.Pid()
}

func (z *zooKeeper) Start(ctx context.Context) error {
	if z.process != nil {
		return errors.New("is already running")
	}
	p, err := Run(Command{Name: "ZooKeeper", Args: z.args, Log: z.log, Dir: z.opts.Dir})
	if err != nil {
		return err
	}
	z.process = p
	return awaitServing(ctx, z.Addr(), p)
}

func (z *zooKeeper) Kill(context.Context) error {
	p := z.process
	z.process = nil
	if p == nil {
		return nil
	}
	return p.Kill()
}

func (z *zooKeeper) Stop(ctx context.Context) error {
	p := z.process
	z.process = nil
	if p == nil {
		return nil
	}
	return p.Stop(ctx)
}

func (z *zooKeeper) Restart(ctx context.Context) error {
	if err := z.Stop(ctx); err != nil {
		return err
	}
	return z.Start(ctx)
}

// awaitServing waits until srvr names a mode. imok comes up to a second earlier,
// and connections made in between are closed without an answer.
func awaitServing(ctx context.Context, addr string, p *Process) error {
	return await(ctx, startLimit, p, func() error {
		text, err := FourLetters(ctx, addr, "srvr")
		if err != nil {
			return err
		}
		if !strings.Contains(text, "Mode:") {
			return fmt.Errorf("srvr at %s says %q", addr, text)
		}
		return nil
	})
}

// await polls ready until it is, the processes it depends on end, or the limit
// is over.
func await(ctx context.Context, limit time.Duration, p *Process, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return p.Ended()
		case <-ctx.Done():
			return fmt.Errorf("%s (pid %d) does not serve after %v: %w, log:\n%s", p.Name, p.Pid(), limit, err, Tail(p.log, 20))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
