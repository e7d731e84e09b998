package control

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"
)

// ProviderIP is an address of the documentation range that a test binary inside
// [Isolate] has on its loopback device. Dubbo refuses to publish a provider
// whose host is in 127.0.0.0/8, so providers listen here.
const ProviderIP = "192.0.2.10"

// insideEnv tells the re-executed test binary that it is inside the namespace.
const insideEnv = "ZKBRIDGE_COMPAT_NETNS"

// Isolate runs the tests of a package inside a network namespace of their own,
// in which only a loopback device exists, with 127.0.0.1 and [ProviderIP]. It is
// called from TestMain and gives the status to exit with:
//
//	func TestMain(m *testing.M) { os.Exit(control.Isolate(m, fetch)) }
//
// The test binary executes itself a second time in the new namespace. The
// namespace has no name and ends with its last process, however that ends.
// Nothing can be downloaded in it: servers, and what fetch functions name, are
// fetched and built before.
func Isolate(m *testing.M, fetch ...func(ctx context.Context) error) int {
	if inside() {
		if err := setUpLoopback(); err != nil {
			fmt.Fprintf(os.Stderr, "set up the loopback device of the test's network namespace: %v\n", err)
			return 1
		}
		allowParallel()
		return m.Run()
	}
	for _, f := range append(fetch, fetchServers) {
		if err := f(context.Background()); err != nil {
			fmt.Fprintf(os.Stderr, "fetch what the tests need: %v\n", err)
			return 1
		}
	}
	status, err := reexecute()
	if err != nil {
		fmt.Fprintf(os.Stderr, "these tests need a network namespace of their own (root, or user namespaces allowed): %v\n", err)
		return 1
	}
	return status
}

func inside() bool { return os.Getenv(insideEnv) != "" }

// allowParallel lets the runs against the kinds of target go on side by side,
// also on fewer cores: most of a run is waiting. -parallel wins over it.
func allowParallel() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", strconv.Itoa(max(len(Kinds()), runtime.GOMAXPROCS(0))))
	}
}

// fetchServers fetches and builds the kinds of target that are selected.
func fetchServers(ctx context.Context) error {
	kinds, err := selected()
	if err != nil {
		return err
	}
	if slices.Contains(kinds, ZooKeeper) {
		if _, err := zooKeeperClasspath(ctx); err != nil {
			return err
		}
	}
	if slices.Contains(kinds, Bridge) || slices.Contains(kinds, BridgeRegistry) {
		if _, err := BuildBridge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reexecute runs this test binary in a new network namespace and returns its
// exit status.
func reexecute() (int, error) {
	// Pdeathsig is about the thread that forks: keep it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			_ = cmd.Process.Signal(sig)
		case err := <-done:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return exit.ExitCode(), nil
			}
			return 0, err
		}
	}
}

// ifreq is the kernel's struct ifreq, of which an address or flags are used.
type ifreq struct {
	name [16]byte
	data [24]byte
}

// setUpLoopback brings the loopback device up and gives it ProviderIP.
func setUpLoopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)

	up := ifreq{}
	copy(up.name[:], "lo")
	*(*uint16)(unsafe.Pointer(&up.data[0])) = syscall.IFF_UP | syscall.IFF_RUNNING
	if err := ioctl(fd, syscall.SIOCSIFFLAGS, &up); err != nil {
		return fmt.Errorf("lo up: %w", err)
	}
	if err := setAddress(fd, syscall.SIOCSIFADDR, net.ParseIP(ProviderIP)); err != nil {
		return fmt.Errorf("%s on lo: %w", ProviderIP, err)
	}
	if err := setAddress(fd, syscall.SIOCSIFNETMASK, net.IPv4(255, 255, 255, 255)); err != nil {
		return fmt.Errorf("%s/32 on lo: %w", ProviderIP, err)
	}
	return nil
}

// setAddress sets the address or the mask of the alias lo:1.
func setAddress(fd int, request uintptr, ip net.IP) error {
	r := ifreq{}
	copy(r.name[:], "lo:1")
	addr := (*syscall.RawSockaddrInet4)(unsafe.Pointer(&r.data[0]))
	addr.Family = syscall.AF_INET
	copy(addr.Addr[:], ip.To4())
	return ioctl(fd, request, &r)
}

func ioctl(fd int, request uintptr, r *ifreq) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(r)))
	if errno != 0 {
		return errno
	}
	return nil
}
