package server_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
	"zkbridge/zkproto"
)

func all() server.Config {
	return server.Config{About: about(), FourLetterWords: []string{"*"}}
}

func TestConsTellsOfEachConnection(t *testing.T) {
	b := serve(t, options{server: all()})
	c := b.connect()
	line := func() string {
		for l := range strings.Lines(b.word("cons")) {
			if strings.HasPrefix(l, " /"+c.nc.LocalAddr().String()) {
				return l
			}
		}
		t.Fatal("the connection is not listed")
		return ""
	}
	head := fmt.Sprintf(` /%s[1](queued=0,`, c.nc.LocalAddr())
	tail := `,est=\d{13},to=40000,lcxid=0x%x,lzxid=0x%x,lresp=\d+,llat=\d+,minlat=\d+,avglat=\d+,maxlat=\d+\)\n$`
	require.Regexp(t, `recved=1,sent=1,sid=0x1[0-9a-f]{14},lop=SESS`+fmt.Sprintf(tail, 0, 1), line())
	c.create("/a", zkproto.FlagPersistent)
	require.Eventually(t, func() bool { return strings.Contains(line(), "lop=CREA") }, tick, poll)
	c.ok(zkproto.OpPing, nil)
	require.Eventually(t, func() bool { return strings.Contains(line(), "lop=PING") }, tick, poll)
	require.True(t, strings.HasPrefix(line(), head))
	require.Regexp(t, `recved=3,sent=3,sid=0x1[0-9a-f]{14},lop=PING`+fmt.Sprintf(tail, c.xid-1, 2), line(), "a ping has no xid of its own")

	require.Equal(t, "Connection stats reset.\n", b.word("crst"))
	require.Regexp(t, `recved=0,sent=0,sid=0x1[0-9a-f]{14},lop=NA,est=\d{13},to=40000,lzxid=0xffffffffffffffff,lresp=0,llat=0,minlat=0,avglat=0,maxlat=0\)\n$`, line())
	require.Regexp(t, `(?m)^ /127\.0\.0\.1:\d+\[0\]\(queued=0,recved=1,sent=0\)$`, b.word("cons"), "the one that asks")
	require.True(t, strings.HasSuffix(b.word("cons"), ")\n\n"))
}

func TestWatchesByConnectionAndPath(t *testing.T) {
	b := serve(t, options{server: all()})
	require.Equal(t, "0 connections watching 0 paths\nTotal watches:0\n", b.word("wchs"))
	require.Equal(t, "\n", b.word("wchc"))
	require.Equal(t, "\n", b.word("wchp"))
	one, two := b.connect(), b.connect()
	one.create("/a", zkproto.FlagPersistent)
	one.watchData("/a")
	one.watchChildren("/a") // not in the table that is shown
	one.call(zkproto.OpExists, &zkproto.ExistsRequest{Path: "/none", Watch: true})
	two.watchData("/a")
	require.Equal(t, "2 connections watching 2 paths\nTotal watches:3\n", b.word("wchs"))
	require.Equal(t, fmt.Sprintf("0x%x\n\t/a\n\t/none\n0x%x\n\t/a\n\n", one.id, two.id), b.word("wchc"))
	require.Equal(t, fmt.Sprintf("/a\n\t0x%x\n\t0x%x\n/none\n\t0x%x\n\n", one.id, two.id, one.id), b.word("wchp"))
}

func TestDump(t *testing.T) {
	b := serve(t, options{server: all()})
	c := b.connect()
	c.create("/b", zkproto.FlagEphemeral)
	c.create("/a", zkproto.FlagEphemeral)
	require.Regexp(t, fmt.Sprintf(`\ASessionTracker dump:
Session Sets \(1\)/\(1\):
1 expire at [A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \S+ \d{4}:
	0x%[1]x
ephemeral nodes dump:
Sessions with Ephemerals \(1\):
0x%[1]x:
	/a
	/b
Connections dump:
Connections Sets \(2\)/\(2\):
1 expire at .*:
	ip: /127\.0\.0\.1:\d+ sessionId: 0x0
1 expire at .*:
	ip: /%[2]s sessionId: 0x%[1]x
\z`, c.id, c.nc.LocalAddr()), b.word("dump"))
}

func TestStatsReset(t *testing.T) {
	b := serve(t, options{server: all()})
	c := b.connect()
	c.create("/a", zkproto.FlagPersistent)
	require.Contains(t, b.word("mntr"), "zk_connection_request_count\t1\n")
	before := b.server.Stats()
	require.Equal(t, "Server stats reset.\n", b.word("srst"))
	srvr := b.word("srvr")
	require.Contains(t, srvr, "Latency min/avg/max: 0/0.0/0\nReceived: 1\nSent: 0\n")
	mntr := b.word("mntr")
	for _, line := range []string{"connection_request_count\t0", "cnt_updatelatency\t0", "znode_count\t6", "packets_sent\t0"} {
		require.Contains(t, mntr, "zk_"+line+"\n")
	}
	c.setData("/a", 1)
	require.Contains(t, b.word("srvr"), "Sent: 1\n")
	after := b.server.Stats()
	require.Equal(t, before.Created, after.Created, "our own counters go on")
	require.Greater(t, after.BytesIn, before.BytesIn)
}

func TestTraceMaskIsKept(t *testing.T) {
	b := serve(t, options{server: all()})
	require.Equal(t, "306", b.word("gtmk"))
	require.Equal(t, "4711", b.word("stmk"+string(binary.BigEndian.AppendUint64(nil, 4711))))
	require.Equal(t, "4711", b.word("gtmk"))
}

func TestSmallWords(t *testing.T) {
	b := serve(t, options{server: all()})
	require.Equal(t, "datadir_size: 4711\nlogdir_size: 4711\n", b.word("dirs"))
	require.Empty(t, b.word("hash"))
	envi := b.word("envi")
	require.True(t, strings.HasPrefix(envi, "Environment:\nzookeeper.version=3.9.5-"))
	var keys []string
	for line := range strings.Lines(envi) {
		if key, _, ok := strings.Cut(line, "="); ok {
			keys = append(keys, key)
		}
	}
	require.Equal(t, "zookeeper.version host.name java.version java.vendor java.home java.class.path java.library.path java.io.tmpdir java.compiler "+
		"os.name os.arch os.version user.name user.home user.dir os.memory.free os.memory.max os.memory.total", strings.Join(keys, " "))
	require.Regexp(t, `(?m)^os\.memory\.free=\d+MB$`, envi)
	telnet := b.raw()
	_, err := telnet.nc.Write([]byte("\xff\xf4\xff\xfd\x06"))
	require.NoError(t, err)
	left, _ := io.ReadAll(telnet.nc)
	require.Empty(t, left)
	require.Zero(t, b.server.Stats().Malformed)
}

// Field report 68: a bridge that cannot serve says so in the words that ask.
func TestWordsWhileNotServing(t *testing.T) {
	cfg := all()
	cfg.Ready = func() (bool, string) { return false, "not yet" }
	b := serve(t, options{server: cfg})
	const sentence = "This ZooKeeper instance is not currently serving requests"
	for _, w := range server.Words() {
		switch w {
		case "ruok", "envi", "gtmk", "isro", "stmk":
		case "hash":
			require.Equal(t, sentence, b.word(w), w)
		default:
			require.Equal(t, sentence+"\n", b.word(w), w)
		}
	}
	require.Equal(t, "imok", b.word("ruok"))
	require.Equal(t, "null", b.word("isro"))
	require.Equal(t, "306", b.word("gtmk"))
	require.Contains(t, b.word("envi"), "Environment:\n")
}

// Agents read mntr by name, and fail on a whole number with decimals.
func TestMntrHasTheNamesOfZooKeeper(t *testing.T) {
	b := serve(t, options{server: all()})
	c := b.connect()
	for range 20 {
		c.ok(zkproto.OpExists, &zkproto.ExistsRequest{Path: "/"})
	}
	seen := map[string]string{}
	for line := range strings.Lines(b.word("mntr")) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		require.True(t, ok, line)
		require.NotContains(t, seen, key)
		seen[key] = value
		switch key {
		case "zk_version", "zk_server_state":
		case "zk_avg_latency", "zk_connection_drop_probability", "zk_avg_readlatency", "zk_avg_updatelatency":
			require.Regexp(t, `^\d+\.\d{1,4}$`, value, key)
		default:
			require.Regexp(t, `^-?\d+$`, value, key)
		}
	}
	require.Equal(t, "2", seen["zk_cnt_readlatency"], "one in sixteen")
	require.Equal(t, "0", seen["zk_connection_drop_count"])
	require.NoError(t, c.nc.Close())
	require.Eventually(t, func() bool { return strings.Contains(b.word("mntr"), "zk_connection_drop_count\t1\n") }, tick, poll)
}
