//go:build compat

package secure_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/secure"
)

func TestMain(m *testing.M) { os.Exit(control.Isolate(m)) }

func TestJavaClientThroughTLS(t *testing.T) {
	java, err := control.Java()
	require.NoError(t, err)
	classpath, err := control.Maven(t.Context(), filepath.Join(control.Root(), "compat-tests", "zookeeper"))
	require.NoError(t, err)
	seen := map[string]string{} // by what the client has
	for _, kind := range control.Selected(t) {
		if kind == control.BridgeRegistry { // what clients see does not depend on where the registry is
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			s := secure.Start(t, kind)
			for who, pair := range map[string]string{"certificate": s.ClientPair, "no certificate": "none"} {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, java, append(control.JVMFlags(128), "-cp", classpath,
					filepath.Join(control.Root(), "compat-tests", "secure", "java", "Client.java"), s.Addr, s.CA, pair)...)
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				require.NoError(t, cmd.Run(), "%s: %s\n%s", who, out.String(), errs.String())
				require.Contains(t, out.String(), "closed\n")
				t.Logf("%s:\n%s", who, out.String())
				if want, ok := seen[who]; ok {
					require.Equal(t, want, out.String(), who)
				}
				seen[who] = out.String()
			}
		})
	}
}
