//go:build compat

package dubbo

import (
	"os"
	"testing"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/scenario"
)

func TestMain(m *testing.M) {
	os.Exit(control.Isolate(m, V336.Fetch, V2723.Fetch, scenario.FetchObserver))
}

func TestDubbo336(t *testing.T)  { scenario.Test(t, V336.Family(), V336.besideRegistry) }
func TestDubbo2723(t *testing.T) { scenario.Test(t, V2723.Family(), V2723.besideRegistry) }
