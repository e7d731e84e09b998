//go:build compat

package kazoo

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/control"
	"zkbridge/compat-tests/secure"
)

// What kazoo sees through TLS, with a certificate of its own.
func TestThroughTLS(t *testing.T) {
	interpreter, err := python(t.Context())
	require.NoError(t, err)
	want := ""
	for _, kind := range control.Selected(t) {
		if kind == control.BridgeRegistry {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			s := secure.Start(t, kind)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, interpreter, filepath.Join(appDir(), "secure.py"), s.Addr, s.CA, s.ClientCert, s.ClientKey)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			require.NoError(t, cmd.Run(), "%s\n%s", out.String(), errs.String())
			require.Contains(t, out.String(), "stopped\n")
			t.Logf("%s", out.String())
			if want != "" {
				require.Equal(t, want, out.String())
			}
			want = out.String()
		})
	}
}
