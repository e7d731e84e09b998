package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Disk keeps one snapshot.
type Disk interface {
	// Load gives the last snapshot that Save stored whole, or fs.ErrNotExist.
	Load() ([]byte, error)
	// Save replaces the snapshot. After a crash at any moment Load gives the old
	// one or the new one; after Save has returned nil, the new one.
	Save(snapshot []byte) error
	// SetAside moves a snapshot that cannot be used out of the way and says
	// where it is now.
	SetAside() (where string, err error)
}

const (
	snapshotFile = "registry.snapshot"
	lockFile     = "registry.lock"
	journalFile  = "registry.journal." // and the number of the part
)

// Dir is a Disk and a Journal in a directory. One registry at a time has it.
type Dir struct {
	path    string
	lock    *os.File
	journal *os.File // nil: none was begun
	part    uint64
}

// OpenDir makes the directory if need be and locks it. Close frees it.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("making the registry's data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the registry's data directory: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("the data directory %s is in use by another registry: stop that one or choose another directory (%w)", path, err)
	}
	left, _ := filepath.Glob(filepath.Join(path, snapshotFile+".new-*")) // the pattern is right
	for _, f := range left {                                             // a crash while saving
		os.Remove(f)
	}
	return &Dir{path: path, lock: lock}, nil
}

// Close frees the directory.
func (d *Dir) Close() error {
	if d.journal != nil {
		d.journal.Close()
	}
	return d.lock.Close()
}

func (d *Dir) partPath(part uint64) string {
	return filepath.Join(d.path, journalFile+strconv.FormatUint(part, 10))
}

// parts lists the parts of the journal, in order.
func (d *Dir) parts() (list []uint64) {
	files, _ := filepath.Glob(filepath.Join(d.path, journalFile+"*")) // the pattern is right
	for _, f := range files {
		if n, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(f), journalFile), 10, 64); err == nil {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// Append implements Journal.
func (d *Dir) Append(text []byte) error {
	_, err := d.journal.Write(sealedEntry(text))
	return err
}

// Begin implements Journal.
func (d *Dir) Begin() (uint64, error) {
	if d.part == 0 {
		if list := d.parts(); len(list) > 0 {
			d.part = list[len(list)-1]
		}
	}
	f, err := os.OpenFile(d.partPath(d.part+1), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	if d.journal != nil {
		d.journal.Close()
	}
	d.journal = f
	d.part++
	return d.part, nil
}

// Replay implements Journal.
func (d *Dir) Replay(from uint64, fn func([]byte)) error {
	for _, part := range d.parts() {
		if part < from {
			continue
		}
		text, err := os.ReadFile(d.partPath(part))
		if err != nil {
			return err
		}
		eachEntry(text, fn)
	}
	return nil
}

// Forget implements Journal.
func (d *Dir) Forget(before uint64) {
	for _, part := range d.parts() {
		if part < before {
			os.Remove(d.partPath(part))
		}
	}
}

// Load implements Disk.
func (d *Dir) Load() ([]byte, error) { return os.ReadFile(filepath.Join(d.path, snapshotFile)) }

// Save implements Disk: a new file is written, synced and renamed, and the
// directory is synced.
func (d *Dir) Save(snapshot []byte) (err error) {
	tmp, err := os.CreateTemp(d.path, snapshotFile+".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(snapshot); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), filepath.Join(d.path, snapshotFile)); err != nil {
		return err
	}
	dir, err := os.Open(d.path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// SetAside implements Disk.
func (d *Dir) SetAside() (string, error) {
	from, to := filepath.Join(d.path, snapshotFile), filepath.Join(d.path, snapshotFile+".damaged")
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return to, nil
}
