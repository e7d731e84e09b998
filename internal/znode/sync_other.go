//go:build !linux

package znode

import "os"

func syncData(f *os.File) error { return f.Sync() }
