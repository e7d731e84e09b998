//go:build compat

package wire_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/wire"
)

var update = flag.Bool("update", false, "rewrite the control's transcripts in testdata")

func TestMain(m *testing.M) { os.Exit(control.Isolate(m)) }

// settings are what the control and the bridge are told for a setup.
func settings(setup wire.Setup) control.Options {
	switch setup {
	case wire.Extended:
		ms := strconv.FormatInt(wire.ReapInterval.Milliseconds(), 10)
		return control.Options{
			JVM:    append(control.JVMFlags(128), "-Dznode.container.checkIntervalMs="+ms),
			Lines:  []string{"extendedTypesEnabled=true"},
			Server: []string{"extendedTypes: true", "containerCheckInterval: " + ms + "ms"},
		}
	case wire.Guarded:
		return control.Options{
			Lines:  []string{"extendedTypesEnabled=false", "enforceQuota=true", "DigestAuthenticationProvider.superDigest=" + wire.SuperDigest},
			Server: []string{"enforceQuota: true", "superDigest: " + strconv.Quote(wire.SuperDigest)},
		}
	case wire.SkipACL:
		return control.Options{
			Lines:  []string{"extendedTypesEnabled=false", "skipACL=yes"},
			Server: []string{"skipACL: true"},
		}
	}
	return control.Options{Lines: []string{"extendedTypesEnabled=false"}} // ZooKeeper's default
}

// TestScripts plays every script against the control and then against the
// bridge, one server of each for all of them that want the same setup.
func TestScripts(t *testing.T) {
	play := func(name string, setup wire.Setup, fast bool) {
		t.Run(name, func(t *testing.T) {
			opts := settings(setup)
			if fast {
				opts.Tick = wire.FastTick
			}
			servers := map[control.Kind]control.Target{}
			for _, kind := range control.Selected(t) {
				if kind != control.BridgeRegistry { // what clients see does not depend on where the registry is
					servers[kind] = control.Start(t, kind, opts)
				}
			}
			for _, script := range wire.Scripts() {
				if script.Fast == fast && script.Setup == setup {
					t.Run(script.Name, func(t *testing.T) { compare(t, script, servers) })
				}
			}
		})
	}
	play("normal", wire.Default, false)
	play("short ticks", wire.Default, true)
	for _, setup := range wire.Setups() {
		if setup != wire.Default {
			play(string(setup), setup, false)
		}
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
		if script.Fast || script.Restarts || script.Setup != wire.Default || aboutTheRoot[script.Name] {
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
// or its name stands within another path, or the length of its name counts.
var aboutTheRoot = map[string]bool{
	"watch-root": true, "create-below-zookeeper": true, "frame-limit": true,
	"quota-counting": true, "quota-deepest": true, "quota-pieces": true, "quota-texts": true, "quota-not-enforced": true,
}

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
