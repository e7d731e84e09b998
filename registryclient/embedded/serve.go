package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// DefaultListen is where the registry listens unless told otherwise.
const DefaultListen = "127.0.0.1:8849"

// HTTPConfig makes the HTTP server of a registry.
type HTTPConfig struct {
	Listen   string       // address and port; default DefaultListen
	Listener net.Listener // if not nil, it is used instead
	// Token is what every client must send. It is required unless the address is
	// a loopback one.
	Token string
	Ping  time.Duration // of event streams; default 5 s
	Log   *slog.Logger  // nil: silent
	// Ready, if not nil, is called with the address once requests are accepted.
	Ready func(net.Addr)
}

// ServeHTTP serves the HTTP API of reg until ctx ends, then ends all streams,
// answers what is under way and returns nil. It closes the listener.
func ServeHTTP(ctx context.Context, reg *Registry, cfg HTTPConfig) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ln := cfg.Listener
	if ln == nil {
		if cfg.Listen == "" {
			cfg.Listen = DefaultListen
		}
		var err error
		if ln, err = new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen); err != nil {
			return fmt.Errorf("opening the registry's listener: %w", err)
		}
	}
	if err := checkExposure(ln.Addr(), cfg.Token); err != nil {
		return errors.Join(err, ln.Close())
	}
	streams, endStreams := context.WithCancel(ctx)
	defer endStreams()
	srv := &http.Server{
		Handler:           NewHandler(reg, HandlerConfig{Token: cfg.Token, Ping: cfg.Ping, Log: cfg.Log}),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return streams },
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	var stopping sync.WaitGroup
	served := make(chan struct{})
	stopping.Go(func() {
		select {
		case <-ctx.Done():
		case <-served:
			return
		}
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if srv.Shutdown(late) != nil {
			srv.Close()
		}
	})
	cfg.Log.Info("registry listening", "address", ln.Addr().String(), "token", cfg.Token != "")
	if cfg.Ready != nil {
		cfg.Ready(ln.Addr())
	}
	err := srv.Serve(ln)
	close(served)
	stopping.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the registry: %w", err)
}

// checkExposure refuses to be reachable from other machines without a token.
func checkExposure(a net.Addr, token string) error {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() || strings.TrimSpace(token) != "" {
		return nil
	}
	return fmt.Errorf("the registry will not listen on %s without a token, because every machine could then register and remove instances: set a token, or listen on a loopback address such as %s", a, DefaultListen)
}

// ServeConfig makes a registry that is a process of its own.
type ServeConfig struct {
	HTTPConfig
	Data     string // directory of the snapshot; empty: nothing is kept over a restart
	Registry Config // its Disk is ignored
}

// Serve opens the data directory, runs a registry and serves it over HTTP
// until ctx ends.
func Serve(ctx context.Context, cfg ServeConfig) (err error) {
	cfg.Registry.Disk = nil
	if cfg.Data != "" {
		dir, err := OpenDir(cfg.Data)
		if err != nil {
			return err
		}
		defer dir.Close()
		cfg.Registry.Disk = dir
	}
	if cfg.Registry.Log == nil {
		cfg.Registry.Log = cfg.Log
	}
	reg, err := New(cfg.Registry)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var runErr error
	running.Go(func() { runErr = reg.Run(ctx) })
	err = ServeHTTP(ctx, reg, cfg.HTTPConfig)
	cancel()
	running.Wait()
	return errors.Join(err, runErr)
}
