package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
	"time"
)

// bridge is `zkbridge serve`, with its registry inside or beside it.
type bridge struct {
	opts     Options
	program  string
	config   string // file
	admin    string // host:port
	registry string // host:port of the native HTTP API
	apart    bool   // the registry is a process of its own
	log      string
	regLog   string
	process  *Process
	regProc  *Process
}

func newBridge(ctx context.Context, o Options, apart bool) (Target, error) {
	program, err := BuildBridge(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := Ports(2)
	if err != nil {
		return nil, err
	}
	b := &bridge{
		opts: o, program: program, apart: apart,
		config:   filepath.Join(o.Dir, "zkbridge.yaml"),
		admin:    net.JoinHostPort(o.host(), strconv.Itoa(ports[0])),
		registry: net.JoinHostPort(o.host(), strconv.Itoa(ports[1])),
		log:      filepath.Join(o.Dir, "zkbridge.log"),
		regLog:   filepath.Join(o.Dir, "registry.log"),
	}
	if err := b.writeConfig(); err != nil {
		return nil, err
	}
	if apart {
		return &bridgeRegistry{b}, nil
	}
	return b, nil
}

// BuildBridge builds ./cmd/zkbridge into the cache and returns the program's
// path.
func BuildBridge(ctx context.Context) (string, error) {
	return GoProgram(ctx, Root(), "./cmd/zkbridge", "zkbridge")
}

var bridgeConfig = template.Must(template.New("zkbridge.yaml").Parse(`# Written by the compat tests.
data:
  dir: {{printf "%q" .Data}}
server:
  listen: {{printf "%q" .Listen}}
  tickTime: {{.Tick}}
  minSessionTimeout: {{.Min}}
  maxSessionTimeout: {{.Max}}
  maxConnectionsPerAddress: 0
  fourLetterWords: ["*"]
{{- range .Server}}
  {{.}}
{{- end}}
registry:
{{- if .Apart}}
  address: {{printf "%q" .RegistryURL}}
{{- else}}
  embedded:
    listen: {{printf "%q" .Registry}}
{{- end}}
admin:
  listen: {{printf "%q" .Admin}}
{{- range .Bridge}}
{{.}}
{{- end}}
`))

func (b *bridge) writeConfig() error {
	url := b.RegistryURL()
	if b.opts.Registry != nil {
		url = b.opts.Registry(url)
	}
	var out bytes.Buffer
	err := bridgeConfig.Execute(&out, map[string]any{
		"Data":        filepath.Join(b.opts.Dir, "data"),
		"Listen":      b.Addr(),
		"Tick":        b.opts.tick(),
		"Min":         b.opts.minSession(),
		"Max":         b.opts.maxSession(),
		"Server":      b.opts.Server,
		"Apart":       b.apart,
		"Registry":    b.registry,
		"RegistryURL": url,
		"Admin":       b.admin,
		"Bridge":      b.opts.Bridge,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(b.config, out.Bytes(), 0o644)
}

func (b *bridge) Name() string { return string(Bridge) }
func (b *bridge) Addr() string { return net.JoinHostPort(b.opts.host(), strconv.Itoa(b.opts.Port)) }

func (b *bridge) RegistryURL() string { return "http://" + b.registry }
func (b *bridge) AdminURL() string    { return "http://" + b.admin }

func (b *bridge) Logs() []string {
	if b.apart {
		return []string{b.log, b.regLog}
	}
	return []string{b.log}
}

func (b *bridge) Pid() int {
	if b.process == nil {
		return 0
	}
	return b.process.Pid()
}

func (b *bridge) Start(ctx context.Context) error {
	if b.process != nil {
		return errors.New("is already running")
	}
	p, err := Run(Command{Name: "zkbridge serve", Args: []string{b.program, "serve", "--config", b.config}, Log: b.log, Dir: b.opts.Dir})
	if err != nil {
		return err
	}
	b.process = p
	if err := await(ctx, startLimit, p, func() error { return answers(ctx, b.AdminURL()+"/readyz") }); err != nil {
		return err
	}
	return awaitServing(ctx, b.Addr(), p)
}

func (b *bridge) Kill(context.Context) error {
	p := b.process
	b.process = nil
	if p == nil {
		return nil
	}
	return p.Kill()
}

func (b *bridge) Stop(ctx context.Context) error {
	p := b.process
	b.process = nil
	if p == nil {
		return nil
	}
	return p.Stop(ctx)
}

func (b *bridge) Restart(ctx context.Context) error {
	if err := b.Kill(ctx); err != nil {
		return err
	}
	return b.Start(ctx)
}

// bridgeRegistry is the bridge with its registry as a process of its own. Start
// starts both; Kill, Stop and Restart are about the bridge.
type bridgeRegistry struct{ *bridge }

func (b *bridgeRegistry) Name() string { return string(BridgeRegistry) }

func (b *bridgeRegistry) Start(ctx context.Context) error {
	if b.regProc == nil {
		if err := b.StartRegistry(ctx); err != nil {
			return err
		}
	}
	return b.bridge.Start(ctx)
}

func (b *bridgeRegistry) Restart(ctx context.Context) error {
	if err := b.Kill(ctx); err != nil {
		return err
	}
	return b.bridge.Start(ctx) // the registry may be away
}

func (b *bridgeRegistry) StartRegistry(ctx context.Context) error {
	if b.regProc != nil {
		return errors.New("the registry is already running")
	}
	p, err := Run(Command{
		Name: "zkbridge registry serve", Log: b.regLog, Dir: b.opts.Dir,
		Args: []string{b.program, "registry", "serve", "--listen", b.registry, "--data-dir", filepath.Join(b.opts.Dir, "registry")},
	})
	if err != nil {
		return err
	}
	b.regProc = p
	return await(ctx, startLimit, p, func() error { return answers(ctx, b.RegistryURL()+"/healthz") })
}

func (b *bridgeRegistry) StopRegistry(ctx context.Context) error {
	p := b.regProc
	b.regProc = nil
	if p == nil {
		return nil
	}
	return p.Stop(ctx)
}

func (b *bridgeRegistry) KillRegistry(context.Context) error {
	p := b.regProc
	b.regProc = nil
	if p == nil {
		return nil
	}
	return p.Kill()
}

// answers reports whether a GET is answered with 200.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, res.Status)
	}
	return nil
}
