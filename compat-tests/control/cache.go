package control

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Root is the root of the repository's work tree.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// CacheDir is where downloads and builds are kept between runs:
// ZKBRIDGE_COMPAT_CACHE, or .cache/compat in the work tree (ignored by git).
func CacheDir() string {
	if dir := os.Getenv("ZKBRIDGE_COMPAT_CACHE"); dir != "" {
		return dir
	}
	return filepath.Join(Root(), ".cache", "compat")
}

// ScratchDir is an empty directory for one test's data and logs under the
// cache. It is kept after a failure and emptied by the test's next run.
func ScratchDir(tb testing.TB, name string) string {
	tb.Helper()
	clean := strings.NewReplacer("/", "_", "+", "-", " ", "_").Replace
	dir := filepath.Join(CacheDir(), "runs", clean(tb.Name()), clean(name))
	if err := os.RemoveAll(dir); err != nil {
		tb.Fatalf("empty %s: %v", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.Fatalf("make %s: %v", dir, err)
	}
	return dir
}

// Once runs build while holding the cache's lock of that name, so that test
// binaries that run side by side build a thing once. build finds out itself
// whether its result is there already. The wait for another's build is bounded
// by ctx.
func Once(ctx context.Context, name string, build func() error) error {
	dir := filepath.Join(CacheDir(), "locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close() // releases the lock
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return build()
		}
		if err != syscall.EWOULDBLOCK {
			return fmt.Errorf("lock %s: %w", lock.Name(), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the build of %s by another test: %w", name, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// run runs a build command and returns an error that carries its output.
func run(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// newest is the latest modification time of the files below paths.
func newest(paths ...string) (time.Time, error) {
	var latest time.Time
	for _, path := range paths {
		err := filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			if !info.IsDir() && info.ModTime().After(latest) {
				latest = info.ModTime()
			}
			return nil
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	return latest, nil
}
