package guard_test

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/guard"
)

// TestDubboProbe: with Dubbo's heart-beat a port that somebody holds open without
// answering says nothing, and one that answers renews.
func TestDubboProbe(t *testing.T) {
	for name, c := range map[string]struct {
		answer  []byte
		answers bool
	}{
		"answers":   {append([]byte{0xda, 0xbb, 0x22, 20}, make([]byte, 12)...), true},
		"silent":    {nil, false},
		"other":     {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), false},
		"cut short": {[]byte{0xda, 0xbb}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(cfg *guard.Config) {
				cfg.Probe = guard.ProbeDubbo
				cfg.Dial = func(context.Context, string, string) (net.Conn, error) {
					here, there := net.Pipe()
					go func() {
						defer there.Close()
						request := make([]byte, 17)
						if _, err := io.ReadFull(there, request); err != nil || request[0] != 0xda || request[1] != 0xbb {
							return
						}
						if c.answer == nil {
							_, _ = there.Read(request) // until the probe gives up
							return
						}
						_, _ = there.Write(c.answer)
					}()
					return here, nil
				}
			}, func(t *testing.T, w *world) {
				held(t, w)
				time.Sleep(30 * time.Second)
				synctest.Wait()
				st := w.guard.Stats()
				require.Positive(t, st.Probes)
				require.Zero(t, st.Refusals)
				require.Equal(t, c.answers, st.Answers > 0)
				require.Len(t, w.shown("com.x.S"), 2)
			})
		})
	}
}
