package control

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// GoProgram builds the Go package pkg of the module in dir into the cache, under
// that name, and returns the program's path. Go's own build cache makes every
// call but the first cheap.
func GoProgram(ctx context.Context, dir, pkg, name string) (string, error) {
	program := filepath.Join(CacheDir(), "bin", name)
	if inside() { // built before; see Isolate
		if _, err := os.Stat(program); err == nil {
			return program, nil
		}
	}
	err := Once(ctx, "go-"+name, func() error {
		if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
			return err
		}
		// Another test may be running the program: replace the file, never write it.
		fresh := program + ".new"
		if err := run(ctx, dir, "go", "build", "-o", fresh, pkg); err != nil {
			return err
		}
		return os.Rename(fresh, program)
	})
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return program, nil
}
