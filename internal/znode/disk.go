package znode

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk is the directory under a Store. Tests hand in one that fails.
type Disk interface {
	// Lock keeps every other process out until the result is closed.
	Lock() (io.Closer, error)
	// Read is the whole content of a file; fs.ErrNotExist if there is none.
	Read(name string) ([]byte, error)
	// Create makes a file, or empties the one that is there, for writing at its
	// end.
	Create(name string) (File, error)
	// Rename puts a file in the place of another.
	Rename(from, to string) error
	// Remove deletes a file; it is no error if there is none.
	Remove(name string) error
	// SyncNames returns when all names are on disk as they are.
	SyncNames() error
}

// File is an open file that is only ever appended to.
type File interface {
	io.Writer
	// Sync returns when everything written is on disk.
	Sync() error
	Close() error
}

// directoryDisk is a directory of the file system.
type directoryDisk string

func openDirectory(dir string) (directoryDisk, error) {
	if _, err := os.Stat(dir); err == nil {
		return directoryDisk(dir), nil
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = syncDirectory(filepath.Dir(dir))
	}
	if err != nil {
		return "", fmt.Errorf("make data directory %s: %w", dir, err)
	}
	return directoryDisk(dir), nil
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d directoryDisk) Lock() (io.Closer, error) {
	f, err := os.Open(string(d))
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d directoryDisk) Read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(d), name))
}

func (d directoryDisk) Create(name string) (File, error) {
	f, err := os.OpenFile(filepath.Join(string(d), name), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return dataFile{f}, nil
}

func (d directoryDisk) Rename(from, to string) error {
	return os.Rename(filepath.Join(string(d), from), filepath.Join(string(d), to))
}

func (d directoryDisk) Remove(name string) error {
	if err := os.Remove(filepath.Join(string(d), name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d directoryDisk) SyncNames() error { return syncDirectory(string(d)) }

// dataFile syncs the data and what is needed to find it, not the times.
type dataFile struct{ *os.File }

func (f dataFile) Sync() error { return syncData(f.File) }
