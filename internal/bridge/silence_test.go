package bridge_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"zkbridge/zkproto"
)

// silent is how many providers fall silent at once; `make load` asks for more.
var silent = flag.Int("silent", 1000, "providers of TestThousandsFallSilent")

// provide opens a session, creates an ephemeral in it and goes away.
func provide(address, path string, timeout time.Duration) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	hello := zkproto.ConnectRequest{Timeout: int32(timeout / time.Millisecond), Passwd: make([]byte, 16)}
	b := zkproto.AppendFrame(nil, hello.AppendTo)
	b = zkproto.AppendFrame(b, func(b []byte) []byte {
		h := zkproto.RequestHeader{Xid: 1, Op: zkproto.OpCreate}
		m := zkproto.CreateRequest{Path: path, Data: []byte("10.0.0.1"), ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeral}
		return m.AppendTo(h.AppendTo(b))
	})
	if _, err := conn.Write(b); err != nil {
		return err
	}
	var frame []byte
	for range 2 {
		length := make([]byte, 4)
		if _, err := io.ReadFull(conn, length); err != nil {
			return err
		}
		frame = make([]byte, binary.BigEndian.Uint32(length))
		if _, err := io.ReadFull(conn, frame); err != nil {
			return err
		}
	}
	h, _, err := zkproto.DecodeReply(frame)
	if err == nil && h.Err != zkproto.OK {
		err = h.Err
	}
	return err
}

// TestThousandsFallSilent: thousands of providers are cut off at once. With the
// guard they end as sessions and stay as addresses, without it they go; in both cases
// another client hardly notices.
func TestThousandsFallSilent(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		t.Run(fmt.Sprintf("guard=%v", guarded), func(t *testing.T) {
			const perService = 50
			timeout := time.Second // long enough for all of them to come
			if *silent > 2000 {
				timeout = 4 * time.Second
			}
			c := defaults(t)
			c.Server.TickTime = timeout / 2
			c.Log.Level = "warn"
			c.Server.MaxConnectionsPerAddress = 0
			c.Guard.Enabled, c.Guard.Probe = guarded, "off"
			r := start(t, c)
			ready(t, r)
			other := connect(t, r)
			dir := func(i int) string { return fmt.Sprintf("/dubbo/com.example.Service%d/providers", i/perService) }
			for i := 0; i < *silent; i += perService {
				makeDirs(t, other, dir(i))
			}
			_, err := other.Create("/other", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			begin := time.Now()
			var next atomic.Int64
			var comers sync.WaitGroup
			for range 8 {
				comers.Go(func() {
					for i := int(next.Add(1)) - 1; i < *silent; i = int(next.Add(1)) - 1 {
						name := fmt.Sprintf("dubbo%%3A%%2F%%2F10.%d.%d.%d%%3A20880%%2Fcom.example.Service%d", i>>16, i>>8&255, i&255, i/perService)
						if err := provide(r.ClientAddr(), dir(i)+"/"+name, timeout); err != nil {
							t.Errorf("provider %d: %v", i, err)
						}
					}
				})
			}
			comers.Wait()
			require.False(t, t.Failed())
			came := time.Since(begin)
			var waits []time.Duration
			for {
				at := time.Now()
				_, err := other.Set("/other", nil, -1)
				require.NoError(t, err)
				waits = append(waits, time.Since(at))
				if len(waits)%1000 == 0 {
					_, text := get(t, r.AdminURL()+"/metrics")
					if metric(t, text, "zkbridge_sessions") == 1 {
						break
					}
				}
				require.Less(t, time.Since(begin), came+4*timeout+20*time.Second)
			}
			left := 0
			for i := 0; i < *silent; i += perService {
				names, _, err := other.Children(dir(i))
				require.NoError(t, err)
				left += len(names)
			}
			if guarded {
				require.Equal(t, *silent, left)
			} else {
				require.Zero(t, left)
			}
			slices.Sort(waits)
			t.Logf("%d providers came within %v and were gone; while their sessions ended another client made %d writes: p50 %v, p99 %v, longest %v",
				*silent, came.Round(time.Millisecond), len(waits), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])
			require.Less(t, waits[len(waits)*99/100], 100*time.Millisecond)
		})
	}
}

// metric is the value of one without labels.
func metric(t *testing.T, text, name string) (v float64) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if n, err := fmt.Sscanf(line, name+" %g", &v); err == nil && n == 1 {
			return v
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
