package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
)

// page is a service's file: what was imported.
type page struct {
	Service   registryclient.Service
	Instances []registryclient.Instance
}

const completeFile = "complete" // is there while the other files are a whole picture

// Load shows what was imported before a restart, until the registry confirms it
// or its time is over. It is called once, after the Book is loaded.
func (g *Guard) Load() error {
	if g.cfg.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(g.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of imports: %w", err)
	}
	files, err := os.ReadDir(g.cfg.Dir)
	if err != nil {
		return fmt.Errorf("read the directory of imports: %w", err)
	}
	count, whole, marked, now := 0, true, false, time.Now()
	for _, f := range files {
		switch {
		case f.Name() == completeFile:
			marked = true
		case strings.HasSuffix(f.Name(), ".json"):
			n, err := g.load(filepath.Join(g.cfg.Dir, f.Name()), now)
			count += n
			whole = whole && err == nil
		}
	}
	g.complete = marked && whole
	if marked && !whole {
		g.unmark()
	}
	if count > 0 {
		g.log.Info("what others had registered before the start is shown until the registry confirms it", "instances", count)
	}
	return nil
}

// unmark notes that the files are no whole picture. On a full disk that can be
// done.
func (g *Guard) unmark() {
	if err := os.Remove(filepath.Join(g.cfg.Dir, completeFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.diskErrors.Add(1)
		g.log.Warn("that the imports on disk are not complete could not be noted", "error", err)
	}
}

// load reads one file. One that cannot be read is left out and moved away: the
// registry will list what was in it, and until then nothing may be said of its service.
func (g *Guard) load(file string, now time.Time) (int, error) {
	var p page
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		g.diskErrors.Add(1)
		g.log.Warn("a file of imports cannot be read: without the registry clients are not served, as its service would seem to be empty", "file", file, "error", err)
		return 0, errors.Join(err, os.Rename(file, file+".damaged"))
	}
	s := g.service(p.Service)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range p.Instances {
		g.hold(s, claims.Endpoint(in), in, verdict{class: fromEarly, why: "the registry has not confirmed it since the start"}, now)
	}
	g.apply(s)
	return len(p.Instances), nil
}

// Complete says that everything is imported: what is on disk, once that is
// written, is a whole picture.
func (g *Guard) Complete() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.whole = true
}

// mark notes that what is on disk is a whole picture, once it is.
func (g *Guard) mark() {
	g.mu.Lock()
	due := g.whole && !g.complete && len(g.unwritten) == 0
	g.mu.Unlock()
	if !due {
		return
	}
	if err := os.WriteFile(filepath.Join(g.cfg.Dir, completeFile), nil, 0o600); err != nil {
		if g.diskErrors.Add(1) == 1 {
			g.log.Warn("that the imports are complete could not be noted", "error", err)
		}
		return
	}
	g.mu.Lock()
	g.complete = true
	g.mu.Unlock()
}

// Picture reports whether a whole picture of the registry was loaded from disk.
func (g *Guard) Picture() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.complete
}

// atOnce is how many files are written in one go, so that nobody waits for us
// for long.
const atOnce = 500

// write keeps what has changed of the imports. A change is on disk within two
// seconds; what is lost in between the registry tells again. It reports whether
// there is nothing more to write for now.
func (g *Guard) write() bool {
	if g.cfg.Dir == "" {
		return true
	}
	g.mu.Lock()
	list := make([]*service, 0, min(len(g.unwritten), atOnce))
	for s := range g.unwritten {
		if len(list) == atOnce {
			break
		}
		list = append(list, s)
		delete(g.unwritten, s)
	}
	g.mu.Unlock()
	failed := false
	for _, s := range list {
		if err := g.writeService(s); err != nil {
			g.mu.Lock()
			g.unwritten[s] = struct{}{} // again at the next look
			unmark := g.complete
			g.complete = false
			g.mu.Unlock()
			failed = true
			if unmark { // a service that is not there yet would seem to be empty
				g.unmark()
			}
			if g.diskErrors.Add(1) == 1 {
				g.log.Warn("imports cannot be kept for a start without the registry; tried again until they can", "error", err)
			}
		}
	}
	g.mu.Lock()
	more := len(g.unwritten) > 0
	g.mu.Unlock()
	g.mark()
	return failed || !more
}

func (g *Guard) writeService(s *service) error {
	s.mu.Lock()
	p := page{Service: s.name, Instances: slices.Clone(s.last)}
	for _, h := range s.held {
		p.Instances = append(p.Instances, h.Instance)
	}
	s.mu.Unlock()
	sum := sha256.Sum256([]byte(s.name.String()))
	name := filepath.Join(g.cfg.Dir, hex.EncodeToString(sum[:16])+".json")
	if len(p.Instances) == 0 {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
