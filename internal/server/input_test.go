package server_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

// TestFramesInPieces: however the network cuts them, requests of all sizes arrive
// whole and in order, one at a time and many at once.
func TestFramesInPieces(t *testing.T) {
	for _, tc := range []struct {
		name    string
		pipes   bool
		restful bool // every round of requests in a new goroutine
	}{{"sockets", false, false}, {"sockets, clients with time", false, true}, {"connections that cannot be tried", true, false}} {
		t.Run(tc.name, func(t *testing.T) {
			b := serve(t, options{pipes: tc.pipes})
			if tc.restful {
				server.RestAlways(b.server)
			}
			c := b.connect()
			c.within(time.Minute)
			c.create("/n", zkproto.FlagPersistent)
			rnd := rand.New(rand.NewPCG(1, 2))

			// The frames are around the sizes of all buffers.
			var sizes []int
			for _, n := range []int{1, 60, 512, 4096, 65536} {
				for _, d := range []int{-60, -40, -4, -1, 0, 1} {
					sizes = append(sizes, max(0, n+d))
				}
			}
			sizes = append(sizes, 300_000)
			var stream []byte
			var want [][]byte
			for i := range 4 * len(sizes) {
				size := sizes[i%len(sizes)]
				if i >= len(sizes) {
					size = sizes[rnd.IntN(len(sizes))] / (1 + rnd.IntN(8))
				}
				data := bytes.Repeat([]byte{byte(i)}, size)
				stream = append(stream, request(int32(2*i), zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/n", Data: data, Version: -1})...)
				stream = append(stream, request(int32(2*i+1), zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/n"})...)
				want = append(want, data)
			}
			sent := make(chan error, 1)
			go func() {
				for len(stream) > 0 {
					n := min(len(stream), []int{1, 7, 100, 511, 513, 4095, 5000, 70_000}[rnd.IntN(8)])
					if _, err := c.nc.Write(stream[:n]); err != nil {
						sent <- err
						return
					}
					stream = stream[n:]
				}
				sent <- nil
			}()
			for i, data := range want {
				f := c.reply()
				require.Equal(t, int32(2*i), f.Xid)
				require.Equal(t, zkproto.OK, f.Err)
				f = c.reply()
				require.Equal(t, int32(2*i+1), f.Xid)
				var m zkproto.GetDataResponse
				require.NoError(t, m.Decode(f.body))
				require.True(t, bytes.Equal(data, m.Data), "data of request %d: got %d bytes, want %d", i, len(m.Data), len(data))
			}
			require.NoError(t, <-sent)
		})
	}
}

// TestHalfAFrame: a client that stops in the middle of a frame keeps nobody
// waiting, and goes on where it stopped.
func TestHalfAFrame(t *testing.T) {
	b := serve(t, options{})
	slow, other := b.connect(), b.connect()
	for _, size := range []int{20, 2000, 30_000, 100_000} {
		ask := request(1, zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/none", Data: make([]byte, size), Version: -1})
		for _, cut := range []int{2, 4, 9, len(ask) / 2, len(ask) - 1} {
			_, err := slow.nc.Write(ask[:cut])
			require.NoError(t, err)
			other.ok(zkproto.OpPing, nil)
			_, err = slow.nc.Write(ask[cut:])
			require.NoError(t, err)
			require.Equal(t, zkproto.NoNode, slow.reply().Err)
		}
	}
}
