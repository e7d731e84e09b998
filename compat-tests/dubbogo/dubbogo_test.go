//go:build compat

package dubbogo

import (
	"os"
	"testing"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m, Fetch, scenario.FetchObserver)) }

func TestDubboGo331(t *testing.T) { scenario.Test(t, Family(), nil) }
