package registry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Lie is what a registry says of a service in place of its instances.
type Lie func(instances []map[string]any) []map[string]any

// Lies.
var (
	// halfGone leaves out every other instance.
	halfGone Lie = func(all []map[string]any) (some []map[string]any) {
		for n, i := range all {
			if n%2 == 0 {
				some = append(some, i)
			}
		}
		return some
	}
	// allGone leaves out everything.
	allGone Lie = func([]map[string]any) []map[string]any { return nil }
	// allUnhealthy marks everything as unhealthy.
	allUnhealthy Lie = func(all []map[string]any) []map[string]any {
		for _, i := range all {
			i["healthy"] = false
		}
		return all
	}
)

// liar stands between a bridge and its registry. It passes everything on but the
// lists that the bridge follows: those it tells as it likes.
type liar struct {
	registry string // base URL, without a slash at its end
	addr     string
	client   http.Client

	mu      sync.Mutex
	lie     Lie  // nil: the truth
	settled bool // says that the registry is complete, whatever that says
	streams map[*followed]struct{}
}

// followed is one stream of a bridge.
type followed struct {
	mu     sync.Mutex
	to     http.ResponseWriter
	truth  map[string]map[string]any // by service: the list as the registry sent it
	names  map[string]any
	synced map[string]any
	id     string
}

// newLiar listens; the registry is named later.
func newLiar(t *testing.T) *liar {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &liar{addr: ln.Addr().String(), streams: map[*followed]struct{}{}}
	server := &http.Server{Handler: l}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ln)
	}()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return l
}

// inFront is control.Options.Registry.
func (l *liar) inFront(registry string) string {
	l.registry = registry
	return "http://" + l.addr
}

// tell makes the registry's lists these from now on; nil is the truth.
func (l *liar) tell(lie Lie) {
	l.mu.Lock()
	l.lie = lie
	streams := make([]*followed, 0, len(l.streams))
	for s := range l.streams {
		streams = append(streams, s)
	}
	l.mu.Unlock()
	for _, s := range streams {
		s.mu.Lock()
		l.send(s, nil)
		s.mu.Unlock()
	}
}

// pretendSettled makes the registry say that it knows everybody, also just after
// its start: as registries do that know no better.
func (l *liar) pretendSettled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = true
}

// awaitStream waits until a bridge follows the lists.
func (l *liar) awaitStream(t *testing.T, limit time.Duration) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) { // between two looks
		l.mu.Lock()
		n := len(l.streams)
		l.mu.Unlock()
		if n > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no bridge follows the registry's lists after %v", limit)
		}
	}
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/watch") && r.URL.Query().Get("instances") == "true" {
		l.stream(w, r)
		return
	}
	to, err := url.Parse(l.registry)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
	proxy.ServeHTTP(w, r)
}

// stream passes an event stream on, lists as they are told now. It always asks
// for the whole picture.
func (l *liar) stream(w http.ResponseWriter, r *http.Request) {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, l.registry+r.URL.RequestURI(), nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	res, err := l.client.Do(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	s := &followed{to: w, truth: map[string]map[string]any{}}
	defer func() {
		l.mu.Lock()
		delete(l.streams, s)
		l.mu.Unlock()
	}()
	var event, id string
	changed := map[string]bool{}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event = value
		case "id":
			id = value
		case "data":
			s.mu.Lock()
			s.take(event, id, value, changed)
			switch event {
			case "instances", "names": // told with the next synced
			case "synced":
				l.mu.Lock()
				l.streams[s] = struct{}{}
				l.mu.Unlock()
				l.send(s, changed)
				changed = map[string]bool{}
			default:
				s.write(event, id, []byte(value))
			}
			s.flush()
			s.mu.Unlock()
			id = ""
		case "":
			if value != "" { // a comment keeps the stream alive
				s.mu.Lock()
				_, _ = w.Write([]byte(": ping\n\n"))
				s.flush()
				s.mu.Unlock()
			}
		}
	}
}

// take keeps what the registry has said.
func (s *followed) take(event, id, data string, changed map[string]bool) {
	var body map[string]any
	decode := json.NewDecoder(strings.NewReader(data))
	decode.UseNumber()
	if decode.Decode(&body) != nil {
		return
	}
	switch event {
	case "instances":
		service, _ := body["service"].(string)
		s.truth[service] = body
		changed[service] = true
	case "names":
		s.names = body
	case "synced":
		s.synced, s.id = body, id
	}
}

// send tells the lists of the services named (nil: all) and ends the batch. The
// stream's lock must be held.
func (l *liar) send(s *followed, services map[string]bool) {
	l.mu.Lock()
	lie, settled := l.lie, l.settled
	l.mu.Unlock()
	if s.names != nil {
		s.encode("names", "", s.names)
	}
	for service, truth := range s.truth {
		if services != nil && !services[service] {
			continue
		}
		told := map[string]any{}
		for key, value := range truth {
			told[key] = value
		}
		if lie != nil && strings.HasPrefix(service, "providers:") {
			told["instances"] = lie(instances(truth))
		}
		s.encode("instances", "", told)
	}
	synced := map[string]any{}
	for key, value := range s.synced {
		synced[key] = value
	}
	if settled {
		synced["settled"] = true
	}
	s.encode("synced", s.id, synced)
	s.flush()
}

// instances is a copy of a list.
func instances(list map[string]any) []map[string]any {
	var all []map[string]any
	items, _ := list["instances"].([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		one := map[string]any{}
		for key, value := range fields {
			one[key] = value
		}
		all = append(all, one)
	}
	return all
}

func (s *followed) encode(event, id string, body map[string]any) {
	data, err := json.Marshal(body)
	if err != nil {
		return
	}
	s.write(event, id, data)
}

func (s *followed) write(event, id string, data []byte) {
	var b bytes.Buffer
	b.WriteString("event: " + event + "\n")
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	_, _ = s.to.Write(b.Bytes())
}

func (s *followed) flush() {
	control := http.NewResponseController(s.to)
	_ = control.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_ = control.Flush()
}
