//go:build compat

package dubbo

import (
	"os"
	"testing"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

func TestMain(m *testing.M) {
	os.Exit(control.Isolate(m, v336.fetch, v2723.fetch, scenario.FetchObserver))
}

func TestDubbo336(t *testing.T)  { scenario.Test(t, v336.family(), v336.besideRegistry) }
func TestDubbo2723(t *testing.T) { scenario.Test(t, v2723.family(), v2723.besideRegistry) }
