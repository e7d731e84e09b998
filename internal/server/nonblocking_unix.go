//go:build unix

package server

import (
	"errors"
	"syscall"
)

// canTry says that sockets can be read and written without waiting.
const canTry = true

func writeNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), b)
		if !errors.Is(err, syscall.EINTR) {
			return n, again(err)
		}
	}
}

func readNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		if !errors.Is(err, syscall.EINTR) {
			return n, again(err)
		}
	}
}

func again(err error) error {
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK) {
		return errWouldBlock
	}
	return err
}
