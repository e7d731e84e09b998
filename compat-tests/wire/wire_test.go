//go:build compat

package wire_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/wire"
)

var update = flag.Bool("update", false, "rewrite the control's transcripts in testdata")

func TestMain(m *testing.M) { os.Exit(control.Isolate(m)) }

// extendedTypesOff is ZooKeeper's default, which the bridge follows until it
// has TTL nodes.
const extendedTypesOff = "extendedTypesEnabled=false"

// TestScripts plays every script against the control and then against the
// bridge, one server of each for all of them.
func TestScripts(t *testing.T) {
	for _, fast := range []bool{false, true} {
		name, opts := "normal", control.Options{Lines: []string{extendedTypesOff}}
		if fast {
			name, opts.Tick = "short ticks", wire.FastTick
		}
		t.Run(name, func(t *testing.T) {
			servers := map[control.Kind]control.Target{}
			for _, kind := range control.Selected(t) {
				if kind != control.BridgeRegistry { // what clients see does not depend on where the registry is
					servers[kind] = control.Start(t, kind, opts)
				}
			}
			for _, script := range wire.Scripts() {
				if script.Fast == fast {
					t.Run(script.Name, func(t *testing.T) { compare(t, script, servers) })
				}
			}
		})
	}
}

// TestScriptsInABoundDirectory plays the scripts in a directory that is bound to
// the registry: what a client sees must not differ there.
func TestScriptsInABoundDirectory(t *testing.T) {
	if !slices.Contains(control.Selected(t), control.Bridge) {
		return
	}
	bridge := control.Start(t, control.Bridge, control.Options{})
	for _, script := range wire.Scripts() {
		if script.Fast || script.Restarts || aboutTheRoot[script.Name] {
			continue
		}
		t.Run(script.Name, func(t *testing.T) {
			want, err := wire.Expected(script.Name, transcript(t, script))
			require.NoError(t, err)
			got, err := wire.Play(t.Context(), script, wire.Server{Addr: bridge.Addr(), Below: "/dubbo/com.acme.Greeter/providers"})
			require.NoError(t, err, "bridge, after\n%s", got)
			require.Equal(t, string(want), string(got), "bridge against control")
		})
	}
}

// aboutTheRoot are the scripts in which the parent of /wire has to be the root,
// or the length of its name counts.
var aboutTheRoot = map[string]bool{"watch-root": true, "create-below-zookeeper": true, "frame-limit": true}

func transcript(t *testing.T, script wire.Script) wire.Transcript {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("testdata", script.Name+".txt"))
	require.NoError(t, err)
	_, lines, _ := strings.Cut(string(page), "\n")
	return wire.Transcript(lines)
}

func compare(t *testing.T, script wire.Script, servers map[control.Kind]control.Target) {
	t.Log(script.Rule)
	file := filepath.Join("testdata", script.Name+".txt")
	if server, ok := servers[control.ZooKeeper]; ok {
		got, err := wire.Play(t.Context(), script, wire.Server{Addr: server.Addr(), Restart: server.Restart})
		require.NoError(t, err, "control, after\n%s", got)
		page := "# " + script.Rule + "\n" + string(got)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), page, "control against testdata")
	}
	want, err := wire.Expected(script.Name, transcript(t, script))
	require.NoError(t, err)
	if server, ok := servers[control.Bridge]; ok {
		got, err := wire.Play(t.Context(), script, wire.Server{Addr: server.Addr(), Restart: server.Restart})
		require.NoError(t, err, "bridge, after\n%s", got)
		require.Equal(t, string(want), string(got), "bridge against control")
	}
}
