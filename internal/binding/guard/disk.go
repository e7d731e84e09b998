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

const completeFile = "complete" // is there once a whole picture was

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
	count, now := 0, time.Now()
	for _, f := range files {
		switch {
		case f.Name() == completeFile:
			g.complete = true
		case strings.HasSuffix(f.Name(), ".json"):
			count += g.load(filepath.Join(g.cfg.Dir, f.Name()), now)
		}
	}
	if count > 0 {
		g.log.Info("what others had registered before the start is shown until the registry confirms it", "instances", count)
	}
	return nil
}

// load reads one file. One that cannot be read is left out: the registry will
// list what was in it.
func (g *Guard) load(file string, now time.Time) int {
	var p page
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		g.diskErrors.Add(1)
		g.log.Warn("a file of imports cannot be read, and is left out", "file", file, "error", err)
		return 0
	}
	s := g.service(p.Service)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range p.Instances {
		g.hold(s, claims.Endpoint(in), in, verdict{class: fromEarly, why: "the registry has not confirmed it since the start"}, now)
	}
	g.apply(s)
	return len(p.Instances)
}

// Complete says that everything is imported: what is on disk from now on is a
// whole picture.
func (g *Guard) Complete() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cfg.Dir == "" || g.complete {
		return
	}
	if err := os.WriteFile(filepath.Join(g.cfg.Dir, completeFile), nil, 0o600); err != nil {
		g.diskErrors.Add(1)
		g.log.Warn("that the imports are complete could not be noted", "error", err)
		return
	}
	g.complete = true
}

// Picture reports whether a whole picture of the registry was loaded from disk.
func (g *Guard) Picture() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.complete
}

// write keeps what has changed of the imports. A change is on disk within two
// seconds; what is lost in between the registry tells again.
func (g *Guard) write() {
	g.mu.Lock()
	list := make([]*service, 0, len(g.unwritten))
	for s := range g.unwritten {
		list = append(list, s)
	}
	clear(g.unwritten)
	g.mu.Unlock()
	for _, s := range list {
		if err := g.writeService(s); err != nil {
			g.mu.Lock()
			g.unwritten[s] = struct{}{} // again at the next look
			g.mu.Unlock()
			if g.diskErrors.Add(1) == 1 {
				g.log.Warn("imports cannot be kept for a start without the registry; tried again until they can", "error", err)
			}
		}
	}
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
