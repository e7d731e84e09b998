package kazoo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"zkbridge/compat-tests/apps"
	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

// directory is where the application's providers register.
const directory = "/greet/providers"

func appDir() string { return filepath.Join(control.Root(), "compat-tests", "kazoo", "app") }

// python makes the virtual environment once and returns its interpreter.
func python(ctx context.Context) (string, error) {
	dir := filepath.Join(control.CacheDir(), "kazoo")
	interpreter := filepath.Join(dir, "bin", "python")
	requirements := filepath.Join(appDir(), "requirements.txt")
	want, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	installed := filepath.Join(dir, "requirements.txt") // written last
	err = control.Once(ctx, "kazoo", func() error {
		if have, err := os.ReadFile(installed); err == nil && string(have) == string(want) {
			return nil
		}
		system, err := exec.LookPath("python3")
		if err != nil {
			return errors.New("no python3 in PATH: install Python 3 with its venv module (Debian: python3-venv)")
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		for _, args := range [][]string{
			{system, "-m", "venv", dir},
			{interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", requirements},
		} {
			if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%v: %w\n%s", args, err, out)
			}
		}
		return os.WriteFile(installed, want, 0o644)
	})
	if err != nil {
		return "", fmt.Errorf("install kazoo: %w", err)
	}
	return interpreter, nil
}

// start starts a program of app.
func start(tb testing.TB, name string, port int, dir, program string, options ...string) *apps.App {
	tb.Helper()
	interpreter, err := python(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return apps.Start(tb, apps.Command{
		Name: name, Port: port, Dir: dir,
		Args: append([]string{interpreter, "-u", filepath.Join(appDir(), program)}, options...),
		Env:  []string{"PYTHONDONTWRITEBYTECODE=1"},
	})
}

func family() scenario.Family {
	return scenario.Family{
		Name: "kazoo",
		Provider: func(tb testing.TB, p scenario.Place) *apps.App {
			tb.Helper()
			return start(tb, p.Name, p.Port, p.Dir, "greet.py", "provider", "zookeeper="+p.ZooKeeper, "host="+control.ProviderIP, fmt.Sprintf("port=%d", p.Port), "dir="+directory)
		},
		Consumer: func(tb testing.TB, p scenario.Place) *apps.App {
			tb.Helper()
			return start(tb, p.Name, 0, p.Dir, "greet.py", "consumer", "zookeeper="+p.ZooKeeper, "dir="+directory)
		},
		Address:   func(port int) string { return fmt.Sprintf("%s:%d", control.ProviderIP, port) },
		Directory: directory,
	}
}
