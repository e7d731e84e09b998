package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

func about() server.About {
	return server.About{
		Version:    "3.9.5-0123456789012345678901234567890123456789, built on 2026-02-03 04:05 UTC",
		ClientPort: 2181, TickTime: 2 * time.Second, MinSessionTimeout: 4 * time.Second, MaxSessionTimeout: 40 * time.Second,
		DataDir: "/var/lib/data", DataSize: func() int64 { return 4711 },
	}
}

// Pitfall P56: health checks by four-letter word.
func TestWords(t *testing.T) {
	b := serve(t, options{server: server.Config{About: about(), MaxConnectionsPerAddress: 60}})
	require.Equal(t, "imok", b.word("ruok"))
	require.Equal(t, "rw", b.word("isro"))
	c := b.connect()
	c.create("/a", zkproto.FlagEphemeral)
	c.watchData("/a")

	require.Regexp(t, `\AZookeeper version: 3\.9\.5-[0-9a-f]{40}, built on 2026-02-03 04:05 UTC
Latency min/avg/max: \d+/\d+\.\d{1,4}/\d+
Received: 6
Sent: 3
Connections: \d
Outstanding: 0
Zxid: 0x2
Mode: standalone
Node count: 6
\z`, b.word("srvr"))

	require.Regexp(t, `\AZookeeper version: 3\.9\.5-.*
Clients:
( /127\.0\.0\.1:\d+\[[01]\]\(queued=0,recved=\d+,sent=\d+\)
)+
Latency min/avg/max: \d+/\d+\.\d{1,4}/\d+
Received: 7
`, b.word("stat"))
	require.Contains(t, b.word("stat"), " /"+c.nc.LocalAddr().String()+"[1](queued=0,recved=3,sent=3)\n")

	require.Equal(t, `clientPort=2181
secureClientPort=-1
dataDir=/var/lib/data
dataDirSize=4711
dataLogDir=/var/lib/data
dataLogSize=4711
tickTime=2000
maxClientCnxns=60
minSessionTimeout=4000
maxSessionTimeout=40000
clientPortListenBacklog=-1
serverId=0
`, b.word("conf"))

	mntr := b.word("mntr")
	for line := range strings.Lines(mntr) {
		require.Regexp(t, `^zk_[a-z0-9_]+\t.+\n$`, line)
	}
	require.True(t, strings.HasPrefix(mntr, "zk_version\t3.9.5-0123456789012345678901234567890123456789, built on 2026-02-03 04:05 UTC\nzk_server_state\tstandalone\n"))
	for _, want := range []string{
		"znode_count\t6", "watch_count\t1", "ephemerals_count\t1", "global_sessions\t1", "outstanding_requests\t0",
	} {
		require.Contains(t, mntr, "zk_"+want+"\n")
	}
	require.EqualValues(t, 7, b.server.Stats().Words)
}

func TestWordsNotListed(t *testing.T) {
	sentence := func(w string) string { return w + " is not executed because it is not in the whitelist.\n" }
	b := serve(t, options{server: server.Config{FourLetterWords: []string{"srvr"}}})
	for _, w := range []string{"ruok", "mntr", "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "srst", "stmk", "wchc", "wchp", "wchs"} {
		require.Equal(t, sentence(w), b.word(w))
	}
	require.Contains(t, b.word("srvr"), "Mode: standalone")
	all := serve(t, options{server: server.Config{FourLetterWords: []string{"*"}}})
	require.Equal(t, "imok", all.word("ruok"))
	require.Contains(t, all.word("dump"), "SessionTracker dump:\n")
}

// A word in pieces, with a line end behind it, from a client that half-closes.
func TestWordAsPeopleSendIt(t *testing.T) {
	b := serve(t, options{})
	c := b.raw()
	for _, piece := range []string{"r", "uo", "k", "\n"} {
		_, err := c.nc.Write([]byte(piece))
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, c.nc.(interface{ CloseWrite() error }).CloseWrite())
	buf := make([]byte, 16)
	n, err := c.nc.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "imok", string(buf[:n]))
	// Behind a handshake it is a frame of a silly length.
	shaken := b.connect()
	_, err = shaken.nc.Write([]byte("ruok"))
	require.NoError(t, err)
	shaken.closed()
	// Commands of the admin server are none.
	admin := b.raw()
	_, err = admin.nc.Write([]byte("icfg"))
	require.NoError(t, err)
	admin.closed()
}

func TestStats(t *testing.T) {
	b := serve(t, options{})
	c := b.connect()
	c.create("/a", zkproto.FlagPersistent)
	c.fails(zkproto.NodeExists, zkproto.OpCreate, create("/a", zkproto.FlagPersistent))
	c.fails(zkproto.MarshallingError, zkproto.OpGetData, bad{})
	for range 31 {
		c.ok(zkproto.OpPing, nil)
	}
	c.watchData("/a")
	c.setData("/a", 1)
	st := b.server.Stats()
	require.ElementsMatch(t, []server.RequestCount{
		{Op: zkproto.OpCreate, Code: zkproto.OK, Count: 1},
		{Op: zkproto.OpCreate, Code: zkproto.NodeExists, Count: 1},
		{Op: zkproto.OpGetData, Code: zkproto.MarshallingError, Count: 1},
		{Op: zkproto.OpGetData, Code: zkproto.OK, Count: 1},
		{Op: zkproto.OpPing, Code: zkproto.OK, Count: 31},
		{Op: zkproto.OpSetData, Code: zkproto.OK, Count: 1},
	}, st.Requests)
	samples := int64(0)
	for _, l := range st.Latencies {
		samples += l.Count
		require.Positive(t, l.Sum)
	}
	require.EqualValues(t, 3, samples, "one request in sixteen")
	require.EqualValues(t, 1, st.Events)
	require.EqualValues(t, 1, st.Created)
	require.EqualValues(t, 1, st.Malformed)
	require.Equal(t, 1, st.Connections)
	require.Positive(t, st.BytesIn)
	require.Positive(t, st.BytesOut)
	require.Len(t, st.Rejected, 12)
}
