package adminserver

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"zkbridge/internal/server"
)

// Config is what the commands tell of.
type Config struct {
	Server *server.Server
	// Ready says whether ZooKeeper clients are served.
	Ready func() (ok bool, reason string)
	// Initial is the configuration as it was given, for initial_configuration.
	Initial string
	// Snapshot is up to which zxid everything persistent is on disk.
	Snapshot func() (zxid int64)
}

const notServing = "This ZooKeeper instance is not currently serving requests"

// command is one of the AdminServer's.
type command struct {
	names  []string // the primary one first
	always bool     // also while the server is not serving
	answer func(cfg *Config, query url.Values) (data object, problem string)
}

// Handler answers GET /commands and GET /commands/<name or alias>.
func Handler(cfg Config) http.Handler {
	byName := make(map[string]*command)
	var primary []string
	for i := range commands {
		primary = append(primary, commands[i].names[0])
		for _, name := range commands[i].names {
			byName[name] = &commands[i]
		}
	}
	slices.Sort(primary)
	mux := http.NewServeMux()
	index := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for _, name := range primary {
			_, _ = fmt.Fprintf(w, "<a href=\"/commands/%s\">%s</a>\n<br/>\n", name, name)
		}
	}
	mux.HandleFunc("GET /commands", index)
	mux.HandleFunc("GET /commands/{$}", index)
	mux.HandleFunc("GET /commands/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name := r.PathValue("name")
		_, _ = io.WriteString(w, answer(&cfg, byName[name], name, r.URL.Query()))
	})
	return mux
}

// answer is the text for one command; c is nil if there is none of that name.
func answer(cfg *Config, c *command, name string, query url.Values) string {
	var data object
	var problem string
	switch ready, _ := cfg.Ready(); {
	case c == nil:
		problem = "Unknown command: " + name
	case !ready && !c.always:
		name, problem = c.names[0], notServing
	default:
		name = c.names[0]
		data, problem = c.answer(cfg, query)
	}
	data = append(data, member{"command", name})
	if problem == "" {
		data = append(data, member{"error", nil})
	} else {
		data = append(data, member{"error", problem})
	}
	var b strings.Builder
	render(&b, data, "")
	return b.String()
}
