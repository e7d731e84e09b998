package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"zkbridge/compat-tests/control"
)

// Options say how a server is started. The zero value is one with stock delays
// and without authentication.
type Options struct {
	HeapMB     int               // 0: 512
	Properties map[string]string // further ones, as in application.properties
}

// Tuned are the properties that make a server push and replicate quickly.
func Tuned() map[string]string {
	return map[string]string{
		"nacos.naming.push.pushTaskDelay":              "100",
		"nacos.core.protocol.distro.data.sync.delayMs": "200",
	}
}

// Server is one Nacos server.
type Server struct {
	dir     string
	port    int
	opts    Options
	members []string // of the cluster; empty: alone
	process *control.Process
}

// readyLimit is how long a server may take to start: 12 s on an idle machine.
const readyLimit = 3 * time.Minute

// Start starts one server that is alone, with its data below dir.
func Start(ctx context.Context, dir string, opts Options) (*Server, error) {
	s, err := prepare(dir, opts)
	if err != nil {
		return nil, err
	}
	return s, s.Start(ctx)
}

// StartCluster starts n servers that know each other, and waits for all.
func StartCluster(ctx context.Context, dir string, n int, opts Options) ([]*Server, error) {
	var list []*Server
	var members []string
	for k := range n {
		s, err := prepare(filepath.Join(dir, strconv.Itoa(k)), opts)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		members = append(members, s.Addr())
	}
	for _, s := range list {
		s.members = members
		if err := s.launch(ctx); err != nil {
			return list, err
		}
	}
	for _, s := range list {
		if err := s.awaitReady(ctx); err != nil {
			return list, err
		}
	}
	return list, nil
}

func prepare(dir string, opts Options) (*Server, error) {
	for range 100 {
		ports, err := control.Ports(1)
		if err != nil {
			return nil, err
		}
		if p := ports[0]; p-1000 > 1024 && free(p-1000) && free(p+1000) && free(p+1001) {
			return &Server{dir: dir, port: p, opts: opts}, os.MkdirAll(filepath.Join(dir, "conf"), 0o755)
		}
	}
	return nil, errors.New("no four free ports for a Nacos server")
}

func free(port int) bool {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// Addr is the main port, "host:port".
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// GRPCAddr is where clients' gRPC is.
func (s *Server) GRPCAddr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port+1000)) }

// Log is the file that the server writes to.
func (s *Server) Log() string { return filepath.Join(s.dir, "out.log") }

// Pid is the process id.
func (s *Server) Pid() int { return s.process.Pid() }

// Start starts the server again after Stop or Kill, on the same data, and waits
// until it is ready.
func (s *Server) Start(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		if err := s.launch(ctx); err != nil {
			return err
		}
		err := s.awaitReady(ctx)
		if err == nil || attempt == 3 || ctx.Err() != nil || s.process.Alive() {
			return err
		}
		// A database that was not made in time cannot be opened afterwards.
		if err := os.RemoveAll(filepath.Join(s.dir, "data", "derby-data")); err != nil {
			return err
		}
	}
}

func (s *Server) launch(ctx context.Context) error {
	java, err := control.Java()
	if err != nil {
		return err
	}
	classpath, err := control.Maven(ctx, filepath.Join(control.Root(), "compat-tests", "nacos", "server"))
	if err != nil {
		return err
	}
	heap := s.opts.HeapMB
	if heap == 0 {
		heap = 512
	}
	properties := map[string]string{
		"nacos.home": s.dir, "nacos.logs.path": filepath.Join(s.dir, "logs"), "nacos.server.ip": "127.0.0.1",
		"server.port": strconv.Itoa(s.port), "server.address": "127.0.0.1", "server.tomcat.accesslog.enabled": "false",
		"nacos.core.auth.enabled": "false", "spring.config.additional-location": "file:" + filepath.Join(s.dir, "conf") + "/",
	}
	if len(s.members) > 0 {
		properties["embeddedStorage"] = "true"
		properties["nacos.member.list"] = strings.Join(s.members, ",")
	} else {
		properties["nacos.standalone"] = "true"
	}
	maps.Copy(properties, s.opts.Properties)
	var text strings.Builder
	args := append([]string{java}, control.JVMFlags(heap)...)
	args = append(args, "-XX:MaxDirectMemorySize=512m")
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		args = append(args, "-D"+k+"="+properties[k])
		fmt.Fprintf(&text, "%s=%s\n", k, properties[k])
	}
	if err := os.WriteFile(filepath.Join(s.dir, "conf", "application.properties"), []byte(text.String()), 0o644); err != nil {
		return err
	}
	s.process, err = control.Run(control.Command{
		Name: "Nacos " + s.Addr(), Args: append(args, "-cp", classpath, "com.alibaba.nacos.Nacos"), Dir: s.dir, Log: s.Log(),
	})
	return err
}

// awaitReady waits until the server takes registrations: its HTTP port opens
// last.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	client := &http.Client{Timeout: 5 * time.Second}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr()+"/nacos/v1/console/health/readiness", nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.process.Done():
			return s.process.Ended()
		case <-ctx.Done():
			return fmt.Errorf("the Nacos at %s was not ready in time, log %s:\n%s", s.Addr(), s.Log(), control.Tail(s.Log(), 20))
		}
	}
}

// Stop ends the server with SIGTERM.
func (s *Server) Stop(ctx context.Context) error { return s.process.Stop(ctx) }

// Kill ends the server with SIGKILL.
func (s *Server) Kill() error { return s.process.Kill() }

// Close ends the server whatever it does.
func (s *Server) Close() {
	if s.process != nil && s.process.Alive() {
		_ = s.process.Kill()
	}
}
