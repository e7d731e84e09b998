//go:build compat

package curator

import (
	"context"
	"os"
	"testing"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m, fetch)) }

func fetch(ctx context.Context) error {
	_, err := classpath(ctx)
	return err
}

func TestCurator59(t *testing.T) { scenario.Test(t, family(), nil) }
