//go:build unix

package server

import (
	"os"
	"syscall"
)

// descriptors is how many files the process has open and may have open; -1 where
// the system does not say.
func descriptors() (open, limit int64) {
	open, limit = -1, -1
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		open = int64(len(list))
	}
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) == nil {
		limit = int64(r.Cur)
	}
	return open, limit
}
