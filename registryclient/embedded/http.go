package embedded

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	rc "zkbridge/registryclient"
)

// HandlerConfig makes the handler of the HTTP API.
type HandlerConfig struct {
	Token string // what clients must send as "Authorization: Bearer ..."; empty: nothing
	// Ping is the pause after which a silent event stream gets a comment line, so
	// that both ends notice a dead connection. Default 5 s.
	Ping time.Duration
	// Pace is the least time between two events of one stream for the same
	// list; what changes meanwhile is one event. The first is never delayed. Default 10 ms.
	Pace time.Duration
	Log  *slog.Logger // nil: silent
}

// handler is the HTTP API of a registry. It is described in openapi.yaml.
type handler struct {
	reg   *Registry
	cfg   HandlerConfig
	token [sha256.Size]byte
	mux   *http.ServeMux
}

// route is one operation of the API.
type route struct {
	method, pattern string
	open            bool // needs no token
	handle          func(http.ResponseWriter, *http.Request) error
}

const (
	groupPath    = "/v1/namespaces/{namespace}/groups/{group}"
	servicePath  = groupPath + "/services/{service}"
	instancePath = servicePath + "/instances/{instance}"
	ownerPath    = "/v1/owners/{cluster}/{bridge}"
)

// routes is the whole API.
func (h *handler) routes() []route {
	return []route{
		{"GET", "/healthz", true, h.health},
		{"GET", "/openapi.yaml", true, h.openAPI},
		{"GET", "/v1/status", false, h.status},
		{"GET", "/v1/services", false, h.allServices},
		{"GET", groupPath + "/services", false, h.groupServices},
		{"GET", groupPath + "/watch", false, h.watchGroup},
		{"GET", servicePath + "/instances", false, h.instances},
		{"GET", servicePath + "/watch", false, h.watchService},
		{"GET", instancePath, false, h.instance},
		{"PUT", instancePath, false, h.register},
		{"DELETE", instancePath, false, h.deregister},
		{"POST", instancePath + "/heartbeat", false, h.heartbeat},
		{"PUT", ownerPath + "/lease", false, h.renew},
		{"GET", ownerPath + "/services", false, h.ownServices},
		{"PUT", ownerPath + "/namespaces/{namespace}/groups/{group}/services/{service}", false, h.publish},
	}
}

// NewHandler gives the HTTP API of reg.
func NewHandler(reg *Registry, cfg HandlerConfig) http.Handler {
	if cfg.Ping <= 0 {
		cfg.Ping = 5 * time.Second
	}
	if cfg.Pace <= 0 {
		cfg.Pace = 10 * time.Millisecond
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	h := &handler{reg: reg, cfg: cfg, token: sha256.Sum256([]byte(cfg.Token)), mux: http.NewServeMux()}
	for _, rt := range h.routes() {
		h.mux.Handle(rt.method+" "+rt.pattern, h.operation(rt))
	}
	return h
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, pattern := h.mux.Handler(req); pattern == "" {
		h.fail(w, req, h.noRoute(w, req))
		return
	}
	h.mux.ServeHTTP(w, req)
}

// noRoute says whether the path or the method is unknown.
func (h *handler) noRoute(w http.ResponseWriter, req *http.Request) error {
	var allowed []string
	for _, m := range []string{"GET", "PUT", "POST", "DELETE"} {
		other := req.Clone(req.Context())
		other.Method = m
		if _, pattern := h.mux.Handler(other); pattern != "" {
			allowed = append(allowed, m)
		}
	}
	if allowed == nil {
		return problem(codeNoRoute, "look at /openapi.yaml; a / inside a name is written %2F", "there is nothing at %s", req.URL.EscapedPath())
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return problem(codeMethod, "use "+strings.Join(allowed, " or "), "%s is not possible here", req.Method)
}

// operation checks the token and writes the error of a route.
func (h *handler) operation(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !rt.open && !h.allowed(req) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="zkbridge registry"`)
			h.fail(w, req, problem(codeUnauthorized, "send the header \"Authorization: Bearer TOKEN\" with the token that the registry was started with", "the token is missing or wrong"))
			return
		}
		if err := rt.handle(w, req); err != nil {
			h.fail(w, req, err)
		}
	})
}

func (h *handler) allowed(req *http.Request) bool {
	if h.cfg.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1
}

// fail answers with the problem inside err.
func (h *handler) fail(w http.ResponseWriter, req *http.Request, err error) {
	p := problemOf(err)
	status := classes[p.Code].status
	if status >= http.StatusInternalServerError && p.Code != codeUnavailable {
		h.cfg.Log.Error("request failed", "method", req.Method, "path", req.URL.Path, "peer", req.RemoteAddr, "err", err)
	} else {
		h.cfg.Log.Debug("request refused", "method", req.Method, "path", req.URL.Path, "peer", req.RemoteAddr, "err", err)
	}
	writeJSON(w, status, p)
}

// writeJSON answers with v. An error of the connection is nobody's business any more.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only our own types are written
		panic("encoding an answer: " + err.Error())
	}
	writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(body[:len(body):len(body)], '\n'))
}

// readBody reads a body of at most limit bytes.
func readBody(w http.ResponseWriter, req *http.Request, limit int) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, int64(limit)))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, problem(codeTooLarge, "send less, or raise the registry's limit", "the body has more than %d bytes", limit)
	case err != nil:
		return nil, problem(codeInvalid, "send it again", "the body could not be read: %v", err)
	}
	return body, nil
}

func serviceIn(req *http.Request) rc.Service {
	return rc.Service{Namespace: req.PathValue("namespace"), Group: req.PathValue("group"), Name: req.PathValue("service")}
}

func (h *handler) health(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]string{"status": "up"})
	return nil
}

func (h *handler) status(w http.ResponseWriter, _ *http.Request) error {
	s := h.reg.Stats()
	st := Status{
		Epoch: s.Epoch, Revision: s.Revision, Settled: s.Settled, Services: s.Services, Native: s.NativeInstances, Owned: s.OwnedInstances,
		Watches: s.Watches, Expired: s.Expired, SaveFails: s.SaveErrors, Owners: h.reg.Owners(),
	}
	if !s.SavedAt.IsZero() {
		st.SavedAt = &s.SavedAt
	}
	writeJSON(w, http.StatusOK, st)
	return nil
}
