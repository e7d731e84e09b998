package bench

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc: USER_HZ, 100 on every
// architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// meter reads how much CPU time a process spends.
type meter struct {
	pid    int
	before time.Duration
	ok     bool
}

func startMeter(pid int) meter {
	before, err := cpuTime(pid)
	return meter{pid: pid, before: before, ok: pid != 0 && err == nil}
}

// spent is the CPU time since the start, if it can be known.
func (m meter) spent() (time.Duration, bool) {
	after, err := cpuTime(m.pid)
	return after - m.before, m.ok && err == nil
}

// resident is the resident memory of a process in bytes (VmRSS).
func resident(pid int) (int64, error) {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseResident(string(body))
}

func parseResident(status string) (int64, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("no VmRSS in the status of the process")
}

// cpuTime is the CPU time that a process has used, user and system.
func cpuTime(pid int) (time.Duration, error) {
	body, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseCPUTime(string(body))
}

func parseCPUTime(stat string) (time.Duration, error) {
	// The second field is the command in parentheses, and may contain anything.
	_, rest, ok := strings.Cut(stat[strings.LastIndexByte(stat, ')')+1:], " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0, fmt.Errorf("cannot read the CPU time in %q", stat)
	}
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime, fields 14 and 15
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// FindPID returns the id of the process of this machine that listens on addr, 0
// if there is none that can be seen.
func FindPID(addr string) int {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil || !local(tcp.IP) {
		return 0
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		body, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		if inode := listener(string(body), tcp); inode != "" {
			return holder("socket:[" + inode + "]")
		}
	}
	return 0
}

// local reports whether ip is an address of this machine.
func local(ip net.IP) bool {
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}

// listener finds the inode of the socket that listens on addr in the text of
// /proc/net/tcp or tcp6.
func listener(table string, addr *net.TCPAddr) string {
	const listening = "0A"
	lines := bufio.NewScanner(strings.NewReader(table))
	for lines.Scan() {
		f := strings.Fields(lines.Text()) // sl local remote state queues timer retransmits uid timeout inode
		if len(f) < 10 || f[3] != listening {
			continue
		}
		host, port, _ := strings.Cut(f[1], ":")
		n, err := strconv.ParseUint(port, 16, 16)
		if err != nil || int(n) != addr.Port {
			continue
		}
		if ip := parseProcIP(host); ip.IsUnspecified() || ip.Equal(addr.IP) {
			return f[9]
		}
	}
	return ""
}

// parseProcIP reads an address as /proc/net shows it: words of four bytes, each
// in the machine's order, which is taken to be little-endian.
func parseProcIP(text string) net.IP {
	ip, err := hex.DecodeString(text)
	if err != nil || len(ip)%4 != 0 {
		return nil
	}
	for w := 0; w < len(ip); w += 4 {
		ip[w], ip[w+1], ip[w+2], ip[w+3] = ip[w+3], ip[w+2], ip[w+1], ip[w]
	}
	return ip
}

// holder finds a process that has file open.
func holder(file string) int {
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, d := range descriptors {
		if target, err := os.Readlink(d); err == nil && target == file {
			pid, _ := strconv.Atoi(strings.Split(d, "/")[2])
			return pid
		}
	}
	return 0
}
