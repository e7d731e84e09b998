package znode_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"sync"

	"zkbridge/internal/znode"
)

// memDisk is a directory in memory that can fail, and that knows what was
// synced.
type memDisk struct {
	mu    sync.Mutex
	files map[string]*memFile
	held  bool

	short     int // bytes after which a write stops without an error; -1: never
	writeErr  error
	syncErr   error
	renameErr error
	removeErr error
	readErr   error
	syncs     int
}

// set changes what the disk does, while somebody uses it.
func (d *memDisk) set(fn func(d *memDisk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn(d)
}

// has reports whether there is a file.
func (d *memDisk) has(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files[name] != nil
}

type memFile struct {
	disk   *memDisk
	data   []byte
	synced int
}

func newDisk() *memDisk { return &memDisk{files: make(map[string]*memFile), short: -1} }

// withFile is a disk as another process finds it, with the given content.
func withFile(content []byte) *memDisk {
	d := newDisk()
	d.files[znode.StoreFile] = &memFile{disk: d, data: bytes.Clone(content), synced: len(content)}
	return d
}

// crashed is the disk after a power cut that left the file at cut bytes.
func (d *memDisk) crashed(cut int) *memDisk { return withFile(d.content()[:cut]) }

func (d *memDisk) content() []byte { return d.files[znode.StoreFile].data }

func (d *memDisk) synced() int { return d.files[znode.StoreFile].synced }

type unlock func()

func (u unlock) Close() error { u(); return nil }

func (d *memDisk) Lock() (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held {
		return nil, errors.New("held")
	}
	d.held = true
	return unlock(func() { d.held = false }), nil
}

func (d *memDisk) Read(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readErr != nil {
		return nil, d.readErr
	}
	f := d.files[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(f.data), nil
}

func (d *memDisk) Create(name string) (znode.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &memFile{disk: d}
	d.files[name] = f
	return f, nil
}

func (d *memDisk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removeErr != nil {
		return d.removeErr
	}
	delete(d.files, name)
	return nil
}

func (d *memDisk) SyncNames() error { return nil }

func (d *memDisk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.renameErr != nil {
		return d.renameErr
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	return nil
}

func (d *memDisk) names() int { return len(maps.Clone(d.files)) }

func (f *memFile) Write(b []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.writeErr != nil {
		return 0, f.disk.writeErr
	}
	if n := f.disk.short; n >= 0 && n < len(b) {
		f.data = append(f.data, b[:n]...)
		return n, nil
	}
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *memFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.syncErr != nil {
		return f.disk.syncErr
	}
	f.disk.syncs++
	f.synced = len(f.data)
	return nil
}

func (f *memFile) Close() error { return nil }
