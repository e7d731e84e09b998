package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"
)

// Config is what the listener shows. All functions are safe for concurrent use.
type Config struct {
	// Ready says whether ZooKeeper clients are served, and if not, one reason a
	// line.
	Ready func() (ok bool, reasons []string)
	// Explain says what a path is and why it is or is not in a list. The value's
	// JSON form and its String are two forms of the same answer.
	Explain func(path string) fmt.Stringer
	// Stale lists the consumers that have not followed up an event, in the same
	// two forms. Nil: nobody looks for them.
	Stale func() fmt.Stringer
	// Held is what is held; nil: there is nothing that holds.
	Held    *Held
	Metrics http.Handler
	// ZooKeeper are the metrics under ZooKeeper's own names. Nil: none.
	ZooKeeper http.Handler
	// Commands are ZooKeeper's AdminServer commands: /commands and below. Nil: none.
	Commands http.Handler
	Pprof    bool
	Log      *slog.Logger
}

// Held lists the addresses that are held, in the two forms, and takes an
// operator's word on one.
type Held struct {
	List func() fmt.Stringer
	Keep func(key string) error
	Drop func(key string) error
}

// Handler answers /metrics, /metrics/zookeeper, /commands, /healthz, /readyz,
// /explain?path=P, /stale-consumers, /held and, if asked for, /debug/pprof/.
func Handler(cfg Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", cfg.Metrics)
	if cfg.ZooKeeper != nil {
		mux.Handle("GET /metrics/zookeeper", cfg.ZooKeeper)
	}
	if cfg.Commands != nil {
		mux.Handle("GET /commands", cfg.Commands)
		mux.Handle("GET /commands/", cfg.Commands)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		ok, reasons := cfg.Ready()
		if ok {
			_, _ = io.WriteString(w, "ready\n")
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "not ready\n%s\n", strings.Join(reasons, "\n"))
	})
	mux.HandleFunc("GET /explain", func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Query().Get("path")
		if !strings.HasPrefix(path, "/") {
			http.Error(w, "explain needs ?path= with an absolute znode path, such as /explain?path=/dubbo", http.StatusBadRequest)
			return
		}
		write(w, r, cfg.Explain(path))
	})
	mux.HandleFunc("GET /stale-consumers", func(w http.ResponseWriter, r *http.Request) {
		if cfg.Stale == nil {
			http.Error(w, "nobody looks for stale consumers: server.staleAfter is 0", http.StatusNotFound)
			return
		}
		write(w, r, cfg.Stale())
	})
	if cfg.Held != nil {
		mux.HandleFunc("GET /held", func(w http.ResponseWriter, r *http.Request) { write(w, r, cfg.Held.List()) })
		mux.HandleFunc("POST /held/keep", command(cfg.Held.Keep))
		mux.HandleFunc("POST /held/drop", command(cfg.Held.Drop))
	}
	if cfg.Pprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// command does what an operator says of ?key=.
func command(do func(key string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Query().Get("key")
		if key == "" {
			http.Error(w, "?key= is missing: GET /held shows the keys", http.StatusBadRequest)
			return
		}
		if err := do(key); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, "done\n")
	}
}

// write gives answer in the form that r asks for.
func write(w http.ResponseWriter, r *http.Request, answer fmt.Stringer) {
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintln(w, strings.TrimRight(answer.String(), "\n"))
}

// Serve answers on ln until ctx ends, then lets requests finish for a second.
// It closes ln.
func Serve(ctx context.Context, ln net.Listener, cfg Config) error {
	srv := &http.Server{
		Handler:           Handler(cfg),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = srv.Shutdown(grace)
		_ = srv.Close()
	}()
	err := srv.Serve(ln)
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return nil
	}
	return fmt.Errorf("admin listener %s: %w", ln.Addr(), err)
}
