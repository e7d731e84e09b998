//go:build compat

package dubbogo

import (
	"context"
	"os"
	"testing"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m, fetch, scenario.FetchObserver)) }

func fetch(ctx context.Context) error {
	_, err := program(ctx)
	return err
}

func TestDubboGo331(t *testing.T) { scenario.Test(t, family(), nil) }
