package embedded_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

func TestNotOnTheNetworkWithoutAToken(t *testing.T) {
	reg := running(t, embedded.Config{})
	for _, listen := range []string{"0.0.0.0:0", "[::]:0", ":0"} {
		err := embedded.ServeHTTP(t.Context(), reg, embedded.HTTPConfig{Listen: listen})
		require.ErrorContains(t, err, "set a token, or listen on a loopback address such as 127.0.0.1:8849", listen)
	}
	for _, cfg := range []embedded.HTTPConfig{{Listen: "127.0.0.1:0"}, {Listen: "localhost:0"}, {Listen: "0.0.0.0:0", Token: "t"}} {
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Ready = func(net.Addr) { cancel() }
		require.NoError(t, embedded.ServeHTTP(ctx, reg, cfg), "%s", cfg.Listen)
	}
	require.ErrorContains(t, embedded.ServeHTTP(t.Context(), reg, embedded.HTTPConfig{Listen: "127.0.0.1:99999"}), "opening the registry's listener")
}

// process is a registry as its own process would be.
type process struct {
	address string
	stop    func()
}

func serve(t *testing.T, cfg embedded.ServeConfig) process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	cfg.Listen = "127.0.0.1:0"
	cfg.Ready = func(a net.Addr) { ready <- a }
	go func() { ended <- embedded.Serve(ctx, cfg) }()
	select {
	case a := <-ready:
		return process{a.String(), func() {
			cancel()
			require.NoError(t, <-ended)
		}}
	case err := <-ended:
		cancel()
		require.NoError(t, err)
		panic("not reached")
	}
}

func TestServeKeepsItsDataAndEndsWithOpenStreams(t *testing.T) {
	data := t.TempDir()
	p := serve(t, embedded.ServeConfig{Data: data})
	api, err := embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: p.address})
	require.NoError(t, err)
	defer api.Close()
	_, err = api.Register(t.Context(), service("s"), "10.0.0.1", 1, embedded.Registration{TTL: embedded.Duration(time.Hour)})
	require.NoError(t, err)
	require.ErrorContains(t, embedded.Serve(t.Context(), embedded.ServeConfig{Data: data}), "in use by another registry")

	watching := make(chan error, 1)
	seen := make(chan struct{}, 10)
	go func() {
		watching <- api.Watch(context.Background(), service("s"), false, func(embedded.InstanceList) { seen <- struct{}{} })
	}()
	<-seen
	began := time.Now()
	p.stop()
	assert.Less(t, time.Since(began), 4*time.Second, "an open stream delayed the end")
	require.ErrorIs(t, <-watching, rc.ErrUnavailable)

	p = serve(t, embedded.ServeConfig{Data: data})
	again, err := embedded.NewHTTPClient(embedded.HTTPClientConfig{Address: p.address})
	require.NoError(t, err)
	l, err := again.Instances(t.Context(), service("s"), false)
	require.NoError(t, err)
	assert.Len(t, l.Instances, 1)
	again.Close()
	p.stop()
}
