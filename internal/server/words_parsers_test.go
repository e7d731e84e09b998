package server_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

// The texts are an API: go-zookeeper, and what is built on it, takes them apart. It
// knows only the date that servers up to 3.6 print.
// Field report 67.
func TestWordsAsGoZookeeperReadsThem(t *testing.T) {
	b := serve(t, options{server: server.Config{FourLetterWords: []string{"*"}}}) // with the version that is told by default
	c := b.connect()
	c.create("/a", zkproto.FlagEphemeral)
	addr := []string{b.listener.Addr().String()}
	require.Equal(t, []bool{true}, zk.FLWRuok(addr, time.Second))
	stats, ok := zk.FLWSrvr(addr, time.Second)
	require.True(t, ok)
	require.NoError(t, stats[0].Error)
	require.Equal(t, zk.ModeStandalone, stats[0].Mode)
	require.EqualValues(t, 6, stats[0].NodeCount)
	require.EqualValues(t, 2, stats[0].Counter, "of the zxid")
	conns, _ := zk.FLWCons(addr, time.Second) // it stumbles over the line of its own connection, as on a real server
	found := false
	for _, one := range conns[0].Clients {
		if one.SessionID == c.id {
			found = true
			require.Equal(t, c.nc.LocalAddr().String(), one.Addr)
			require.EqualValues(t, 40000, one.Timeout)
		}
	}
	require.True(t, found)
}
