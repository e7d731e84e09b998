package server_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

var quiet = slog.New(slog.DiscardHandler)

// skim reads n frames and allocates nothing.
func skim(nc net.Conn, buf []byte, n int) error {
	have := 0
	for n > 0 {
		k, err := nc.Read(buf[have:])
		if err != nil {
			return err
		}
		have += k
		at := 0
		for n > 0 && have-at >= 4 {
			size := 4 + int(binary.BigEndian.Uint32(buf[at:]))
			if have-at < size {
				break
			}
			at += size
			n--
		}
		have = copy(buf, buf[at:have])
	}
	return nil
}

// Whole round trips over loopback: the client's cost is in it.
func BenchmarkRoundTrip(b *testing.B) {
	for _, op := range []struct {
		name string
		op   zkproto.OpCode
		m    message
	}{
		{"getData", zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/bench"}},
		{"exists", zkproto.OpExists, &zkproto.ExistsRequest{Path: "/bench"}},
		{"getChildren2", zkproto.OpGetChildren2, &zkproto.GetChildren2Request{Path: "/bench"}},
		{"ping", zkproto.OpPing, nil},
		{"setData", zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/bench", Data: make([]byte, 100), Version: -1}},
	} {
		for _, conns := range []int{1, 16} {
			for _, depth := range []int{1, 16, 100} {
				b.Run(fmt.Sprintf("%s/conns=%d/depth=%d", op.name, conns, depth), func(b *testing.B) {
					s := serve(b, options{server: server.Config{Log: quiet}})
					c := s.connect()
					c.ok(zkproto.OpCreate, create("/bench", zkproto.FlagPersistent, make([]byte, 100)...))
					var batch []byte
					for range depth {
						batch = append(batch, request(1, op.op, op.m)...)
					}
					clients := make([]*client, conns)
					for i := range clients {
						clients[i] = s.connect()
					}
					b.ReportAllocs()
					b.ResetTimer()
					var all sync.WaitGroup
					for _, c := range clients {
						all.Go(func() {
							buf := make([]byte, 64<<10)
							for range b.N / (depth * conns) {
								if _, err := c.nc.Write(batch); err != nil {
									b.Error(err)
									return
								}
								if err := skim(c.nc, buf, depth); err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
					all.Wait()
				})
			}
		}
	}
}

// One change heard by many.
func BenchmarkFanOut(b *testing.B) {
	s := serve(b, options{server: server.Config{Log: quiet}})
	writer := s.connect()
	writer.create("/d", zkproto.FlagPersistent)
	const n = 1000
	watchers := make([]*client, n)
	for i := range watchers {
		watchers[i] = s.connect()
		watchers[i].ok(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/d", Mode: zkproto.WatchPersistent})
	}
	set := request(1, zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/d", Version: -1})
	buf := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		_, err := writer.nc.Write(set)
		require.NoError(b, err)
		require.NoError(b, skim(writer.nc, buf, 1))
		for _, w := range watchers {
			require.NoError(b, skim(w.nc, buf, 1))
		}
	}
}

// What an idle session costs the server: its goroutine, its connection, its
// session. The client's end is a bare socket, whose memory is in it too.
func BenchmarkIdleSession(b *testing.B) {
	s := serve(b, options{server: server.Config{Log: quiet}})
	const n = 2000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = s.connect()
		clients[i].ok(zkproto.OpPing, nil)
	}
	for b.Loop() {
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/n, "heap-B/session")
	b.ReportMetric(float64(after.StackInuse-before.StackInuse)/n, "stack-B/session")
	runtime.KeepAlive(clients)
}
