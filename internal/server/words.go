package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Four-letter words, as ZooKeeper 3.9.5 answers them
// (org.apache.zookeeper.server.command): four bytes at the start of a connection
// where a length would be, a text, and the connection is closed.

const notServing = "This ZooKeeper instance is not currently serving requests"

// word is one of the words that ZooKeeper knows.
type word struct {
	name   string
	answer func(s *Server, c *conn) string // nil: not done here
	always bool                            // also while the server is not serving
}

var words = []word{
	{name: "ruok", always: true, answer: func(*Server, *conn) string { return "imok" }},
	{name: "isro", always: true, answer: (*Server).isro},
	{name: "srvr", answer: (*Server).srvr},
	{name: "stat", answer: (*Server).stat},
	{name: "mntr", answer: (*Server).mntr},
	{name: "conf", answer: (*Server).conf},
	{name: "cons"}, {name: "crst"}, {name: "dirs"}, {name: "dump"}, {name: "envi"}, {name: "gtmk"}, {name: "hash"},
	{name: "srst"}, {name: "stmk"}, {name: "wchc"}, {name: "wchp"}, {name: "wchs"},
}

// knownWord finds the word that b is.
func knownWord(b []byte) (*word, bool) {
	for i := range words {
		if string(b) == words[i].name {
			return &words[i], true
		}
	}
	return nil, false
}

// answerWord answers w and has the connection closed.
func (c *conn) answerWord(w *word) error {
	s := c.srv
	s.count.words.Add(1)
	ready, _ := s.cfg.Ready()
	listed := slices.Contains(s.cfg.FourLetterWords, w.name) || slices.Contains(s.cfg.FourLetterWords, "*")
	var text string
	switch {
	case w.answer == nil || !listed:
		text = w.name + " is not executed because it is not in the whitelist.\n"
	case !ready && !w.always:
		text = notServing + "\n"
	default:
		text = w.answer(s, c)
	}
	c.out.reply([]byte(text), 0)
	return errGoodbye
}

func (s *Server) isro(*conn) string {
	if ready, _ := s.cfg.Ready(); !ready {
		return "null"
	}
	return "rw"
}

func (s *Server) srvr(*conn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\n", s.cfg.About.Version)
	s.serverLines(&b)
	return b.String()
}

func (s *Server) stat(own *conn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\nClients:\n", s.cfg.About.Version)
	for _, c := range s.connections() {
		interest := 1
		if c == own {
			interest = 0
		}
		fmt.Fprintf(&b, " /%s[%x](queued=0,recved=%d,sent=%d)\n", c, interest, c.received.Load(), c.out.sentPackets())
	}
	b.WriteByte('\n')
	s.serverLines(&b)
	return b.String()
}

// serverLines are what srvr and stat have in common.
func (s *Server) serverLines(b *strings.Builder) {
	lat := s.count.latency()
	tree := s.cfg.Tree.Stats()
	fmt.Fprintf(b, "Latency min/avg/max: %d/%s/%d\n", lat.min.Milliseconds(), javaDouble(lat.average()), lat.max.Milliseconds())
	fmt.Fprintf(b, "Received: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n", s.received(), s.sent(), s.connected())
	fmt.Fprintf(b, "Zxid: 0x%x\nMode: standalone\nNode count: %d\n", tree.Zxid, tree.Nodes+1)
}

// javaDouble writes milliseconds as Java does a double of at most four decimals.
func javaDouble(d time.Duration) string {
	text := strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 4, 64)
	text = strings.TrimRight(text, "0")
	if strings.HasSuffix(text, ".") {
		text += "0"
	}
	return text
}

func (s *Server) conf(*conn) string {
	a := &s.cfg.About
	var b strings.Builder
	for _, kv := range []struct {
		key   string
		value any
	}{
		{"clientPort", a.ClientPort},
		{"secureClientPort", -1},
		{"dataDir", a.DataDir},
		{"dataDirSize", a.DataSize()},
		{"dataLogDir", a.DataDir},
		{"dataLogSize", a.DataSize()},
		{"tickTime", a.TickTime.Milliseconds()},
		{"maxClientCnxns", s.cfg.MaxConnectionsPerAddress},
		{"minSessionTimeout", a.MinSessionTimeout.Milliseconds()},
		{"maxSessionTimeout", a.MaxSessionTimeout.Milliseconds()},
		{"clientPortListenBacklog", -1},
		{"serverId", 0},
	} {
		fmt.Fprintf(&b, "%s=%v\n", kv.key, kv.value)
	}
	return b.String()
}

func (s *Server) mntr(*conn) string {
	lat := s.count.latency()
	tree := s.cfg.Tree.Stats()
	open, limit := descriptors()
	sess := s.cfg.Sessions.Stats()
	var b strings.Builder
	for _, kv := range []struct {
		key   string
		value any
	}{
		{"version", s.cfg.About.Version},
		{"server_state", "standalone"},
		{"avg_latency", javaDouble(lat.average())},
		{"max_latency", lat.max.Milliseconds()},
		{"min_latency", lat.min.Milliseconds()},
		{"packets_received", s.received()},
		{"packets_sent", s.sent()},
		{"num_alive_connections", s.connected()},
		{"outstanding_requests", 0},
		{"uptime", time.Since(s.started).Milliseconds()},
		{"znode_count", tree.Nodes + 1},
		{"watch_count", tree.Watches()},
		{"ephemerals_count", tree.Ephemerals},
		{"approximate_data_size", tree.DataSize},
		{"global_sessions", sess.Open + sess.Closing},
		{"local_sessions", 0},
		{"open_file_descriptor_count", open},
		{"max_file_descriptor_count", limit},
		{"connection_drop_probability", "0.0"},
		{"last_client_response_size", -1}, // not measured
		{"max_client_response_size", -1},
		{"min_client_response_size", -1},
		{"outstanding_tls_handshake", 0},
		{"auth_failed_count", s.count.authFailed.Load()},
		{"non_mtls_remote_conn_count", 0},
		{"non_mtls_local_conn_count", 0},
		{"connection_request_count", s.count.accepted.Load()},
		{"connection_rejected", s.count.refusals()},
		{"bytes_received_count", s.count.bytesIn.Load()},
		{"response_bytes", s.count.bytesOut.Load()},
		{"stale_sessions_expired", sess.Expired},
	} {
		fmt.Fprintf(&b, "zk_%s\t%v\n", kv.key, kv.value)
	}
	return b.String()
}
