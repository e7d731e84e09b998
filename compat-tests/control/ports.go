package control

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports below the kernel's ephemeral range, so that no outgoing connection takes
// one while its server is down.
const (
	firstPort = 20000
	lastPort  = 31999
)

var (
	reservedMu sync.Mutex
	reserved   []*os.File // locks held until this process ends
)

// Ports reserves n TCP ports that no other test binary on this machine is given
// while this one runs, and that nobody listens on now.
func Ports(n int) ([]int, error) {
	reservedMu.Lock()
	defer reservedMu.Unlock()
	dir := filepath.Join(os.TempDir(), "zkbridge-compat-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var ports []int
	for range 1000 {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return nil, fmt.Errorf("reserve a port: %w", err)
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !free(port) {
			file.Close()
			continue
		}
		reserved = append(reserved, file)
		ports = append(ports, port)
	}
	return nil, errors.New("no free ports between 20000 and 31999")
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
