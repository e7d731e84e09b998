package server

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/user"
	"runtime"
	"runtime/debug"
	"strings"
)

// Environment is what envi tells, under ZooKeeper's keys. What is said of Java
// there is said of Go here.
func (s *Server) Environment() []Setting {
	host, _ := os.Hostname()
	dir, _ := os.Getwd()
	name, home := "", ""
	if u, err := user.Current(); err == nil {
		name, home = u.Username, u.HomeDir
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = int64(m.Sys) // none is set
	}
	megabytes := func(n uint64) string { return fmt.Sprintf("%dMB", n>>20) }
	return []Setting{
		{"zookeeper.version", s.Version()},
		{"host.name", host},
		{"java.version", runtime.Version()},
		{"java.vendor", "zkbridge"},
		{"java.home", ""},
		{"java.class.path", ""},
		{"java.library.path", ""},
		{"java.io.tmpdir", os.TempDir()},
		{"java.compiler", runtime.Compiler},
		{"os.name", strings.ToUpper(runtime.GOOS[:1]) + runtime.GOOS[1:]},
		{"os.arch", runtime.GOARCH},
		{"os.version", kernel()},
		{"user.name", name},
		{"user.home", home},
		{"user.dir", dir},
		{"os.memory.free", megabytes(m.HeapSys - m.HeapInuse)},
		{"os.memory.max", megabytes(uint64(limit))},
		{"os.memory.total", megabytes(m.Sys)},
	}
}

// kernel is the system's release, "unknown" where it does not say.
func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return string(bytes.TrimSpace(b))
}

func (s *Server) envi(*conn) string {
	var b strings.Builder
	b.WriteString("Environment:\n")
	for _, kv := range s.Environment() {
		fmt.Fprintf(&b, "%s=%v\n", kv.Key, kv.Value)
	}
	return b.String()
}
