package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// JVMFlags are the flags of every JVM the tests start: small, and quick to
// start rather than fast in the long run.
func JVMFlags(heapMB int) []string {
	return []string{
		fmt.Sprintf("-Xmx%dm", heapMB), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Djava.net.preferIPv4Stack=true",
	}
}

// Java is the java command, or a sentence that says that it is missing.
func Java() (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", errors.New("the compat tests need a JDK 17 or later on the PATH (no java found)")
	}
	return path, nil
}

// Maven compiles the Maven project in dir (if it has sources) and returns its
// run-time class path. The result is cached until a file of the project changes;
// while the jars are there nothing is downloaded and Maven is not even started.
// sources are directories outside dir that the project compiles.
func Maven(ctx context.Context, dir string, sources ...string) (classpath string, err error) {
	name := strings.ReplaceAll(strings.Trim(strings.TrimPrefix(dir, Root()), "/"), "/", "-")
	out := filepath.Join(CacheDir(), "maven", name)
	list := filepath.Join(out, "classpath")
	err = Once(ctx, "maven-"+name, func() error {
		if cp, ok := cachedClasspath(append(sources, dir), list); ok {
			classpath = cp
			return nil
		}
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		mvn, err := exec.LookPath("mvn")
		if err != nil {
			return errors.New("the compat tests need Maven on the PATH to fetch their Java peers (no mvn found)")
		}
		args := []string{mvn, "-q", "-B", "-Dstyle.color=never", "-DbuildDirectory=" + out, "-Dmdep.outputFile=" + list + ".new"}
		goals := []string{"dependency:build-classpath"}
		_, err = os.Stat(filepath.Join(dir, "src"))
		compiled := err == nil || len(sources) > 0
		if compiled {
			goals = []string{"compile", "dependency:build-classpath"}
		}
		if offline := run(ctx, dir, append(append(args, "-o"), goals...)...); offline != nil {
			if err := run(ctx, dir, append(args, goals...)...); err != nil {
				return fmt.Errorf("fetch and build %s with Maven (network or a filled local repository needed): %w", name, err)
			}
		}
		body, err := os.ReadFile(list + ".new")
		if err != nil {
			return err
		}
		classpath = strings.TrimSpace(string(body))
		if compiled {
			classpath = filepath.Join(out, "classes") + string(filepath.ListSeparator) + classpath
		}
		if err := os.WriteFile(list+".new", []byte(classpath), 0o644); err != nil {
			return err
		}
		return os.Rename(list+".new", list)
	})
	return classpath, err
}

// cachedClasspath reads the class path found earlier, unless a file of the
// project is newer or a jar has gone.
func cachedClasspath(dirs []string, list string) (string, bool) {
	made, err := os.Stat(list)
	if err != nil {
		return "", false
	}
	changed, err := newest(dirs...)
	if err != nil || changed.After(made.ModTime()) {
		return "", false
	}
	body, err := os.ReadFile(list)
	if err != nil {
		return "", false
	}
	for _, entry := range filepath.SplitList(string(body)) {
		if _, err := os.Stat(entry); err != nil {
			return "", false
		}
	}
	return string(body), true
}
