package wire

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// fourLetterScripts pin the shape of the answers: numbers and names that differ
// between servers are replaced by what they are.
func fourLetterScripts() []Script {
	ask := func(s *Stage, word string) (*Conn, string) {
		c := s.Dial(word)
		c.logf("> %s", strings.TrimSpace(word))
		c.SendRaw([]byte(word))
		return c, c.ReadText()
	}
	say := func(c *Conn, text string) {
		for line := range strings.Lines(text) {
			c.logf("< %q", line)
		}
		c.logf("< closed")
	}
	return []Script{
		{Name: "4lw-ruok", Rule: "imok without a newline", Run: func(s *Stage) {
			c, text := ask(s, "ruok")
			say(c, text)
			c, text = ask(s, "ruok\n")
			say(c, text)
		}},
		{Name: "4lw-isro", Rule: "rw without a newline", Run: func(s *Stage) {
			c, text := ask(s, "isro")
			say(c, text)
		}},
		{Name: "4lw-srvr", Rule: "lines of srvr", Run: func(s *Stage) {
			c, text := ask(s, "srvr")
			say(c, shape(text))
		}},
		{Name: "4lw-stat", Rule: "lines of stat, with a client", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Exists("/wire", false)
			c, text := ask(s, "stat")
			say(c, shape(text))
		}},
		{Name: "4lw-conf", Rule: "keys of conf", Run: func(s *Stage) {
			c, text := ask(s, "conf")
			say(c, regexp.MustCompile(`(?m)^(dataDir|dataLogDir|clientPort|dataDirSize|dataLogSize|maxClientCnxns|tickTime|minSessionTimeout|maxSessionTimeout|serverId)=.+$`).ReplaceAllString(text, "$1=…"))
		}},
		{Name: "4lw-mntr", Rule: "the gauges of mntr, which monitoring reads by name", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 1)
			a.GetData("/wire", true)
			c, text := ask(s, "mntr")
			kinds := map[string]string{}
			for line := range strings.Lines(text) {
				key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				if !ok {
					c.logf("< not key and value: %q", line)
					continue
				}
				kinds[key] = kind(value)
			}
			for i, line := range slices.Collect(strings.Lines(text)) {
				if i < 2 {
					key, _, _ := strings.Cut(line, "\t")
					c.logf("< line %d: %s", i+1, key)
				}
			}
			for _, key := range mntrKeys {
				if kinds[key] == "" {
					kinds[key] = "missing"
				}
				c.logf("< %s: %s", key, kinds[key])
			}
		}},
		{Name: "4lw-half-closed", Rule: "the client may close its side before it reads", Run: func(s *Stage) {
			c := s.Dial("ruok")
			c.SendRaw([]byte("ruok"))
			c.HalfClose()
			say(c, c.ReadText())
		}},
		{Name: "4lw-in-pieces", Rule: "the word may come in pieces", Run: func(s *Stage) {
			c := s.Dial("ruok")
			for _, letter := range []byte("ruok") {
				c.SendRaw([]byte{letter})
			}
			say(c, c.ReadText())
		}},
	}
}

// mntrKeys are the gauges and counters that published dashboards and agents use.
var mntrKeys = []string{
	"zk_version", "zk_server_state", "zk_avg_latency", "zk_min_latency", "zk_max_latency", "zk_packets_received", "zk_packets_sent",
	"zk_num_alive_connections", "zk_outstanding_requests", "zk_znode_count", "zk_watch_count", "zk_ephemerals_count",
	"zk_approximate_data_size", "zk_open_file_descriptor_count", "zk_max_file_descriptor_count", "zk_uptime", "zk_global_sessions",
	"zk_local_sessions", "zk_connection_drop_probability", "zk_last_client_response_size", "zk_min_client_response_size", "zk_max_client_response_size",
	"zk_auth_failed_count",
}

var numbers = regexp.MustCompile(`\d+`)

// shape replaces what is a server's own in the text of srvr and stat.
func shape(text string) string {
	var out strings.Builder
	clients := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "Zookeeper version: "):
			ok := regexp.MustCompile(`^Zookeeper version: \d+\.\d+\.\d+\S*-\S+, built on (\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4}) \d\d:\d\d \S+\n$`).MatchString(line)
			fmt.Fprintf(&out, "version line as clients read it: %v\n", ok)
		case strings.HasPrefix(line, " /"):
			// One line for all: a connection that has just been closed may
			// still be listed.
			if clients {
				continue
			}
			clients = true
			out.WriteString(numbers.ReplaceAllString(regexp.MustCompile(`/[0-9a-f.:]+\[`).ReplaceAllString(line, "/ADDRESS["), "N"))
		case strings.HasPrefix(line, "Zxid: 0x"):
			out.WriteString("Zxid: 0xN\n")
		default:
			out.WriteString(numbers.ReplaceAllString(line, "N"))
		}
	}
	return out.String()
}

func kind(value string) string {
	switch {
	case regexp.MustCompile(`^-?\d+$`).MatchString(value):
		return "integer"
	case regexp.MustCompile(`^-?\d+\.\d+$`).MatchString(value):
		return "decimal"
	}
	return "text"
}
