package registry

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// Table remembers, over restarts, which ip and port of which service we
// publish, or have withdrawn less than five minutes ago: for registries that
// cannot say whose a record is. Records are written before the registry is
// called and not synced: a crash of the process loses none, one of the machine
// ends what we published as well.
type Table struct {
	mu      sync.Mutex
	entries map[registryclient.Service]map[string]entry
	count   int
	file    *os.File // nil: in memory only
	path    string
	lines   int // in the file
	// torn is when the file was last tried to be made anew because it may end in
	// the middle of a line: what follows could not be read. Zero: it is whole.
	torn   time.Time
	errors uint64
}

// entry is one ip and port of a service.
type entry struct {
	State state
	When  time.Time // of the withdrawal

	// In memory only.
	seen   bool // the registry has shown it since it is published
	absent bool // and a list without it after that: the withdrawal may be seen before it is answered
}

type state string

const (
	published state = "published" // it is, or may be, in the registry
	withdrawn state = "withdrawn"
	seenGone  state = "gone"   // withdrawn, and the registry has shown a list without it since
	native    state = "native" // somebody else has a record there beside ours
)

// rememberWithdrawn is how long the registry may still show what we withdrew.
const rememberWithdrawn = 5 * time.Minute

// tornRetry is how often a file that could not be written is tried again.
const tornRetry = time.Second

// tableHeader is the first line of the file.
const tableHeader = `{"zkbridge":"published instances","format":1}`

// line is one record of the file: the newest of an ip and port counts.
type line struct {
	Namespace string `json:"namespace"`
	Group     string `json:"group"`
	Service   string `json:"service"`
	Endpoint  string `json:"endpoint"`
	State     state  `json:"state"` // "": forget it
	When      int64  `json:"when"`  // seconds since 1970
}

func newTable() *Table {
	return &Table{entries: make(map[registryclient.Service]map[string]entry)}
}

// OpenTable reads the table in the file at path, made if it is not there, and
// keeps it there from now on. A line that cannot be read ends it: it was being
// written when the machine stopped.
func OpenTable(path string) (*Table, error) {
	t := newTable()
	t.path = path
	f, err := os.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("open the table of published instances: %w", err)
	default:
		err = t.read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("read the table of published instances %s: %w", path, err)
		}
	}
	if err := t.rewrite(); err != nil {
		return nil, fmt.Errorf("write the table of published instances: %w", err)
	}
	return t, nil
}

func (t *Table) read(r io.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	if !s.Scan() {
		return s.Err() // empty: it was being made
	}
	if s.Text() != tableHeader {
		return fmt.Errorf("its first line is not %s: it was written by another version, or is something else; move it away", tableHeader)
	}
	for s.Scan() {
		var l line
		if json.Unmarshal(s.Bytes(), &l) != nil {
			return nil
		}
		svc := registryclient.Service{Namespace: l.Namespace, Group: l.Group, Name: l.Service}
		t.put(svc, l.Endpoint, entry{State: l.State, When: time.Unix(l.When, 0)})
	}
	return s.Err()
}

// put changes an entry in memory and tells whether that changed anything.
func (t *Table) put(svc registryclient.Service, at string, e entry) bool {
	of := t.entries[svc]
	old, had := of[at]
	if e.State == "" {
		if !had {
			return false
		}
		delete(of, at)
		t.count--
		if len(of) == 0 {
			delete(t.entries, svc)
		}
		return true
	}
	if had && old.State == e.State && (e.State != withdrawn || old.When.Equal(e.When)) {
		return false
	}
	if of == nil {
		of = make(map[string]entry)
		t.entries[svc] = of
	}
	if !had {
		t.count++
	}
	of[at] = e
	return true
}

// set changes an entry, in the file too.
func (t *Table) setLocked(svc registryclient.Service, at string, e entry) {
	if !t.put(svc, at, e) || t.file == nil {
		return
	}
	if t.torn.IsZero() {
		b, err := json.Marshal(line{svc.Namespace, svc.Group, svc.Name, at, e.State, e.When.Unix()})
		if err == nil {
			_, err = t.file.Write(append(b, '\n'))
		}
		if err != nil {
			t.errors++
			t.torn = time.Now().Add(-tornRetry)
		}
	}
	if t.lines++; t.torn.IsZero() && t.lines <= 1000+4*t.count || time.Since(t.torn) < tornRetry {
		return
	}
	if t.rewrite() != nil {
		t.errors++
		if !t.torn.IsZero() {
			t.torn = time.Now()
		}
	}
}

// rewrite makes the file anew, without what is out of date.
func (t *Table) rewrite() error {
	t.expire(time.Now())
	tmp := t.path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, tableHeader)
	lines := 0
	for svc, of := range t.entries {
		for at, e := range of {
			b, err := json.Marshal(line{svc.Namespace, svc.Group, svc.Name, at, e.State, e.When.Unix()})
			if err != nil {
				continue
			}
			w.Write(append(b, '\n'))
			lines++
		}
	}
	if err := errors.Join(w.Flush(), f.Sync(), os.Rename(tmp, t.path)); err != nil {
		f.Close()
		return err
	}
	if dir, err := os.Open(filepath.Dir(t.path)); err == nil {
		_ = dir.Sync()
		dir.Close()
	}
	if t.file != nil {
		t.file.Close()
	}
	t.file, t.lines, t.torn = f, lines, time.Time{}
	return nil
}

// expire forgets what was withdrawn too long ago.
func (t *Table) expire(now time.Time) {
	for svc, of := range t.entries {
		for at, e := range of {
			if e.State != published && e.State != native && now.Sub(e.When) > rememberWithdrawn {
				t.put(svc, at, entry{})
			}
		}
	}
}

// Publishing notes that the instances are about to be published.
func (t *Table) Publishing(svc registryclient.Service, list []registryclient.Instance) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, in := range list {
		if at := claims.Endpoint(in); t.entries[svc][at].State != native {
			t.setLocked(svc, at, entry{State: published})
		}
	}
}

// Published notes that the registry has accepted the list: what else was
// published under the service is withdrawn.
func (t *Table) Published(svc registryclient.Service, list []registryclient.Instance, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	has := make(map[string]bool, len(list))
	for _, in := range list {
		has[claims.Endpoint(in)] = true
	}
	for at, e := range t.entries[svc] {
		switch {
		case has[at] && e.State != native:
			t.setLocked(svc, at, entry{State: published})
		case e.State == published && !has[at]:
			gone := entry{State: withdrawn, When: now}
			if e.absent {
				gone.State = seenGone
			}
			t.setLocked(svc, at, gone)
		case (e.State == withdrawn || e.State == seenGone) && now.Sub(e.When) > rememberWithdrawn:
			t.setLocked(svc, at, entry{})
		}
	}
}

// Services lists the services under which something is published, in order.
func (t *Table) Services() (list []registryclient.Service) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for svc, of := range t.entries {
		for _, e := range of {
			if e.State == published {
				list = append(list, svc)
				break
			}
		}
	}
	slices.SortFunc(list, registryclient.Service.Compare)
	return list
}

// Errors counts the records that could not be written.
func (t *Table) Errors() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.errors
}

// Close closes the file. The table stays usable, in memory.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	err := errors.Join(t.file.Sync(), t.file.Close())
	t.file = nil
	return err
}
