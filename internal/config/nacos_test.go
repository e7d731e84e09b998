package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/config"
)

func TestSamplesForNacos(t *testing.T) {
	for _, name := range []string{"nacos-2.yaml", "nacos-3.yaml"} {
		c, err := config.Load("../../fixtures/config/"+name, nil)
		require.NoError(t, err)
		require.Equal(t, "nacos", c.Registry.Kind)
		require.Len(t, c.Registry.Nacos.Servers, 3)
		require.Equal(t, config.Default().Registry.Nacos.Settle, c.Registry.Nacos.Settle)
	}
}

func TestNacosIsValidated(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no servers", `{kind: nacos}`, "registry.nacos.servers: is empty"},
		{"no password", `{kind: nacos, nacos: {servers: [a], username: u}}`, "registry.nacos.password"},
		{"half a pair", `{kind: nacos, nacos: {servers: [a], tls: {certFile: x}}}`, "registry.nacos.tls.certFile"},
		{"limit", `{kind: nacos, nacos: {servers: [a], metadataLimit: 0}}`, "registry.nacos.metadataLimit"},
		{"health", `{kind: nacos, nacos: {servers: [a], healthInterval: 20s}}`, "registry.nacos.healthInterval"},
		{"settle", `{kind: nacos, nacos: {servers: [a], settle: 0s}}`, "registry.nacos.settle"},
		{"pool", `{kind: nacos, nacos: {servers: [a], instancesPerConnection: 0}}`, "registry.nacos.instancesPerConnection"},
		{"bytes", `{kind: nacos, nacos: {servers: [a], bytesPerConnection: 20000000}}`, "registry.nacos.bytesPerConnection"},
		{"group", "{kind: nacos, nacos: {servers: [a]}}\nspaces: [{name: s, namespace: public, group: 'a/b', roots: [{path: /dubbo}]}]", "does not take the group"},
		{"namespace", "{kind: nacos, nacos: {servers: [a]}}\nspaces: [{name: s, namespace: 'x y', group: 'g', roots: [{path: /dubbo}]}]", "does not take the namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Load(write(t, "registry: "+c.text+"\n"), nil)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := config.Load(write(t, "registry: {kind: nacos, nacos: {servers: [a]}}\nspaces: [{name: s, namespace: '{tenant}', group: 'g-{tenant}', roots: [{path: '/apps/{tenant}/dubbo'}]}]\n"), nil)
	require.NoError(t, err)
}
