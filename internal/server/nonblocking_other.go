//go:build !unix

package server

import "errors"

// canTry says that sockets cannot be tried here: each write may wait.
const canTry = false

func writeNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
func readNow(uintptr, []byte) (int, error)  { return 0, errors.ErrUnsupported }
