package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// writeWithin is how long one write to an event stream may take.
const writeWithin = 10 * time.Second

// events is a stream of server-sent events.
type events struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	err error
}

// openEvents begins the stream. The deadlines that the server has for requests
// do not hold for it; each write has its own.
func openEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies of the nginx kind hold events back otherwise
	e := &events{w: w, rc: http.NewResponseController(w)}
	e.rc.SetReadDeadline(time.Time{})
	e.rc.SetWriteDeadline(time.Now().Add(writeWithin))
	w.WriteHeader(http.StatusOK)
	return e
}

// send adds one event; id may be empty. Body is one line of JSON.
func (e *events) send(name, id string, body []byte) {
	if e.err != nil {
		return
	}
	var b bytes.Buffer
	b.Grow(len(body) + len(name) + len(id) + 32)
	b.WriteString("event: " + name + "\n")
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("data: ")
	b.Write(body)
	b.WriteString("\n\n")
	e.write(b.Bytes())
}

func (e *events) sendJSON(name, id string, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only our own types are written
		panic("encoding an event: " + err.Error())
	}
	e.send(name, id, body)
}

// ping adds a comment.
func (e *events) ping() { e.write([]byte(": ping\n\n")) }

func (e *events) write(b []byte) {
	if e.err == nil {
		e.rc.SetWriteDeadline(time.Now().Add(writeWithin))
		_, e.err = e.w.Write(b)
	}
}

// flush sends what was added.
func (e *events) flush() bool {
	if e.err == nil {
		e.err = e.rc.Flush()
	}
	return e.err == nil
}

// pause waits until it is worth while to look again: newer is closed and the
// pace is kept. Meanwhile it pings. false: the stream ends.
func (h *handler) pause(ctx context.Context, e *events, newer <-chan struct{}, settled <-chan time.Time) bool {
	pace := time.NewTimer(h.cfg.Pace)
	defer pace.Stop()
	select {
	case <-pace.C:
	case <-ctx.Done():
		return false
	case <-h.reg.closed:
		return false
	}
	ping := time.NewTicker(h.cfg.Ping)
	defer ping.Stop()
	for {
		select {
		case <-newer:
			return true
		case <-settled:
			return true
		case <-ping.C:
			if e.ping(); !e.flush() {
				return false
			}
		case <-ctx.Done():
			return false
		case <-h.reg.closed:
			return false
		}
	}
}

// watchService streams the list of a service: the present one at once, then
// each newer one.
func (h *handler) watchService(w http.ResponseWriter, req *http.Request) error {
	key := serviceIn(req)
	all, err := flag(req, "all")
	if err != nil {
		return err
	}
	if p := h.reg.limits.checkService(key); p != nil {
		return p
	}
	if p := h.reg.unsure(); p != nil {
		return p
	}
	if p := h.reg.watchRoom(); p != nil {
		return p
	}
	s, p := h.reg.enter(key)
	if p != nil {
		return p
	}
	defer h.reg.leave(s)
	e := openEvents(w)
	for {
		v, newer := h.reg.look(s)
		e.send("instances", strconv.FormatUint(v.revision, 10), v.body(all))
		if !e.flush() || !h.pause(req.Context(), e, newer, nil) {
			return nil
		}
	}
}

// watchGroup streams the names of a group's services and, if asked, all their
// lists. Batches end with "synced", whose id is the position from which the
// stream can be resumed (Last-Event-ID) with the same epoch.
func (h *handler) watchGroup(w http.ResponseWriter, req *http.Request) error {
	lists, err := flag(req, "instances")
	if err != nil {
		return err
	}
	k := groupKey{req.PathValue("namespace"), req.PathValue("group")}
	if p := h.reg.limits.checkGroup(k.namespace, k.group); p != nil {
		return p
	}
	if p := h.reg.watchRoom(); p != nil {
		return p
	}
	g, p := h.reg.enterGroup(k)
	if p != nil {
		return p
	}
	defer h.reg.leaveGroup(g)

	since := h.reg.position(req.Header.Get("Last-Event-ID"))
	untilSettled, settled := h.reg.untilSettled()
	var settles <-chan time.Time
	if untilSettled > 0 {
		t := time.NewTimer(untilSettled)
		defer t.Stop()
		settles = t.C
	}
	e := openEvents(w)
	e.sendJSON("hello", "", helloEvent{Epoch: h.reg.epoch, Resumed: since > 0})
	names := uint64(0)
	for first := true; ; first = false {
		batch := h.reg.groupBatch(g, since, lists)
		if first || batch.namesRevision != names {
			e.sendJSON("names", "", namesEvent{Names: batch.names, Revision: batch.namesRevision})
		}
		for _, v := range batch.views {
			e.send("instances", "", v.body(true))
		}
		if !settled {
			_, settled = h.reg.untilSettled()
		}
		e.sendJSON("synced", h.reg.epoch+"."+strconv.FormatUint(batch.revision, 10), syncedEvent{Epoch: h.reg.epoch, Revision: batch.revision, Settled: settled})
		since, names = batch.revision, batch.namesRevision
		if !e.flush() || !h.pause(req.Context(), e, batch.newer, settles) {
			return nil
		}
	}
}

// groupBatch is what a group's stream sends at one time.
type groupBatch struct {
	revision      uint64
	names         []string
	namesRevision uint64
	views         []*view
	newer         <-chan struct{}
}

// groupBatch collects what changed in g after the revision since.
func (r *Registry) groupBatch(g *group, since uint64, lists bool) groupBatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := groupBatch{revision: r.revision, names: g.namesLocked(), namesRevision: g.namesRevision, newer: g.changed}
	if lists {
		for _, s := range g.sinceLocked(since) {
			b.views = append(b.views, s.viewLocked())
		}
	}
	return b
}

// position reads the id of a "synced" event; 0 if it is not of this life of
// the registry.
func (r *Registry) position(id string) uint64 {
	epoch, text, ok := strings.Cut(id, ".")
	n, err := strconv.ParseUint(text, 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok || err != nil || epoch != r.epoch || n > r.revision {
		return 0
	}
	return n
}

// untilSettled gives the time until the registry is settled, and whether it is.
func (r *Registry) untilSettled() (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.settleAt-r.nowLocked(), 0), r.settledLocked()
}
