package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"zkbridge/internal/config"
)

var update = flag.Bool("update", false, "rewrite the sample file")

const sample = "../../fixtures/config/zkbridge.yaml"

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "zkbridge.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSampleFileIsCompleteAndGivesTheDefaults(t *testing.T) {
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(sample), 0o755))
		require.NoError(t, os.WriteFile(sample, []byte(config.Sample()), 0o644))
	}
	text, err := os.ReadFile(sample)
	require.NoError(t, err)
	require.Equal(t, config.Sample(), string(text), "run go test ./internal/config -update")
	c, err := config.Load(sample, nil)
	require.NoError(t, err)
	require.Equal(t, config.Default(), c)
}

func TestNoFileGivesTheDefaults(t *testing.T) {
	c, err := config.Load("", nil)
	require.NoError(t, err)
	require.Equal(t, config.Default(), c)
}

func TestFlagWinsOverEnvironmentWinsOverFile(t *testing.T) {
	path := write(t, "server: {listen: '127.0.0.1:1', tickTime: 1s, maxFrame: 2000}\n")
	t.Setenv("ZKBRIDGE_SERVER_LISTEN", "127.0.0.1:2")
	t.Setenv("ZKBRIDGE_SERVER_TICKTIME", "3s")
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	config.AddFlags(flags)
	require.NoError(t, flags.Parse([]string{"--server.listen=127.0.0.1:3", "--guard.cap=0.3"}))
	c, err := config.Load(path, flags)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:3", c.Server.Listen)
	require.InDelta(t, 0.3, c.Guard.Cap, 1e-9)
	require.Equal(t, 3*time.Second, c.Server.TickTime)
	require.Equal(t, 2000, c.Server.MaxFrame)
	require.Equal(t, config.Default().Admin, c.Admin)
}

func TestSpacesKeepTheirCaseAndDots(t *testing.T) {
	path := write(t, `
spaces:
  - name: Tenants.A
    namespace: "{tenant}"
    group: G.x
    roots: [{path: "/apps/{tenant}/com.Foo", layouts: [dubbo]}, {path: "/other/{tenant}"}]
`)
	c, err := config.Load(path, nil)
	require.NoError(t, err)
	require.Equal(t, []config.Space{{
		Name: "Tenants.A", Phase: "native", Namespace: "{tenant}", Group: "G.x",
		Roots: []config.Root{{Path: "/apps/{tenant}/com.Foo", Layouts: []string{"dubbo"}, ACL: "enforce"}, {Path: "/other/{tenant}", Layouts: []string{"dubbo"}, ACL: "enforce"}},
	}}, c.Spaces)
}

func TestNoSpacesAtAllCanBeSaid(t *testing.T) {
	c, err := config.Load(write(t, "spaces: []\n"), nil)
	require.NoError(t, err)
	require.Empty(t, c.Spaces)
}

func TestMistakesAreNamed(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "server: {lisen: x}", "lisen"},
		{"unknown key in a list", "spaces: [{name: a, grup: b}]", "grup"},
		{"not yaml", "server: [", "configuration file"},
		{"peers", "bridge: {peers: [a]}", "not supported yet"},
		{"id", "bridge: {id: 255}", "between 1 and 254"},
		{"phase", "spaces: [{name: a, phase: mirror, namespace: n, group: g, roots: [{path: /a}]}]", "needs an existing ensemble"},
		{"layout", "spaces: [{name: a, namespace: n, group: g, roots: [{path: /a, layouts: [curator]}]}]", "not a layout"},
		{"pattern", "spaces: [{name: a, namespace: '{t}', group: g, roots: [{path: /a}]}]", "{t} is not in the root /a"},
		{"word", "server: {fourLetterWords: [icfg]}", "not a four-letter word"},
		{"open registry", "registry: {embedded: {listen: '0.0.0.0:8849'}}", "set a token or listen on loopback"},
		{"two spaces one name", "spaces: [{name: a, namespace: n, group: g, roots: [{path: /a}]}, {name: a, namespace: n, group: h, roots: [{path: /b}]}]", "names two spaces"},
		{"negative staleness", "server: {staleAfter: -1s}", "negative"},
		{"strict about what is not kept", "server: {staleAfter: 0s, expireStale: true}", "needs server.staleAfter"},
		{"acl", "spaces: [{name: a, namespace: n, group: g, roots: [{path: /a, acl: maybe}]}]", "not enforce or ignore"},
		{"super password", "server: {superDigest: 'super:secret'}", "not the password itself"},
		{"container checks", "server: {containerCheckInterval: 1ms}", "shorter than 100ms"},
		{"container pace", "server: {containerMaxPerMinute: 0}", "not above 0"},
		{"TLS without a certificate", "server: {tls: {listen: '127.0.0.1:2281', keyFile: k}}", "server.tls.certFile: is empty"},
		{"TLS without a key", "server: {tls: {listen: '127.0.0.1:2281', certFile: c}}", "server.tls.keyFile: is empty"},
		{"clients without authorities", "server: {tls: {listen: '127.0.0.1:2281', certFile: c, keyFile: k, clientAuth: need}}", "server.tls.clientCAFile: is empty"},
		{"client auth", "server: {tls: {clientAuth: maybe}}", "not none, want or need"},
		{"TLS version", "server: {tls: {minVersion: '1.1'}}", "not 1.2 or 1.3"},
		{"timeouts", "server: {minSessionTimeout: 50s}", "no range"},
		{"start", "registry: {startWithoutRegistry: maybe}", "not wait or serve"},
		{"start with Nacos", "registry: {kind: nacos, nacos: {servers: ['h:8848']}, startWait: -1s}", "registry.startWait: -1s is negative"},
		{"no share", "guard: {cap: 1.5}", "guard.cap: 1.5 is not a share"},
		{"nobody is many", "guard: {massShare: 0}", "guard.massShare: 0 is not a share"},
		{"mass", "guard: {massSessions: 0}", "guard.massSessions: 0 is not above 0"},
		{"hold", "guard: {hold: 0s}", "guard.hold: 0s is not a positive duration"},
		{"holds that end before they end", "guard: {hold: 2h}", "guard.holdMax: 1h0m0s is shorter than guard.hold (2h0m0s)"},
		{"probe", "guard: {probe: icmp}", "not tcp, dubbo or off"},
		{"duration", "server: {tickTime: soon}", "tickTime"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := config.Load(write(t, tc.text), nil)
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := config.Load("no/such/file.yaml", nil)
	require.ErrorContains(t, err, "does not exist")
}

func TestEnvironmentVariablesThatAreNoKeysAreErrors(t *testing.T) {
	t.Setenv("ZKBRIDGE_SERVER_LISTNE", "127.0.0.1:2")
	_, err := config.Load("", nil)
	require.ErrorContains(t, err, "ZKBRIDGE_SERVER_LISTNE: no key has this name")

	require.NoError(t, os.Unsetenv("ZKBRIDGE_SERVER_LISTNE"))
	for _, other := range []string{ // somebody else's, and what Kubernetes sets for a service
		"ZKBRIDGE_TEST_TARGETS", "ZKBRIDGE_PORT", "ZKBRIDGE_SERVER_PORT", "ZKBRIDGE_SERVER_SERVICE_HOST", "ZKBRIDGE_SERVER_SERVICE_PORT_CLIENT",
		"ZKBRIDGE_REGISTRY_PORT_8849_TCP", "ZKBRIDGE_REGISTRY_PORT_8849_TCP_ADDR", "ZKBRIDGE_REGISTRY_PORT_8849_TCP_PROTO",
	} {
		t.Setenv(other, "x")
	}
	_, err = config.Load("", nil)
	require.NoError(t, err)
}

func TestSessionTimeoutsAreTwoAndTwentyTicksUnlessSaid(t *testing.T) {
	shortest, longest := config.Default().Server.SessionTimeouts()
	require.Equal(t, 4*time.Second, shortest)
	require.Equal(t, 40*time.Second, longest)
	shortest, longest = config.Server{TickTime: time.Second, MaxSessionTimeout: 6 * time.Second}.SessionTimeouts()
	require.Equal(t, 2*time.Second, shortest)
	require.Equal(t, 6*time.Second, longest)
}

func TestYAMLOfAConfigurationLoadsBackToIt(t *testing.T) {
	c := config.Default()
	c.Server.Listen = "127.0.0.1:1234"
	c.Spaces = append(c.Spaces, config.Space{Name: "b", Phase: "native", Namespace: "n", Group: "g", Roots: []config.Root{{Path: "/b", Layouts: []string{"dubbo"}, ACL: "ignore"}}})
	back, err := config.Load(write(t, config.YAML(c, false)), nil)
	require.NoError(t, err)
	require.Equal(t, c, back)
}

func TestSecretsAreNotShown(t *testing.T) {
	c := config.Default()
	c.Registry.Token = "t0psecret"
	shown := config.YAML(c.WithoutSecrets(), false)
	require.NotContains(t, shown, "t0psecret")
	require.Contains(t, shown, `token: "(hidden)"`)
	require.Equal(t, "t0psecret", c.Registry.Token)
	require.Equal(t, config.YAML(config.Default(), false), config.YAML(config.Default().WithoutSecrets(), false))
}
