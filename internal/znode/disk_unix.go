//go:build unix

package znode

import (
	"errors"
	"os"
	"syscall"
)

var errHeld = errors.New("another process is using it: stop that one, or choose another directory (data.dir)")

// lockFile takes a lock that ends with the process, however it ends.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}
