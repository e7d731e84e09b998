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
		{Name: "4lw-cons", Rule: "lines of cons, with and without a session", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Exists("/wire", false)
			c, text := ask(s, "cons")
			say(c, connectionLines(text, a))
		}},
		{Name: "4lw-crst", Rule: "crst forgets what a connection did", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Exists("/wire", false)
			c, text := ask(s, "crst")
			say(c, text)
			c, text = ask(s, "cons")
			say(c, connectionLines(text, a))
		}},
		{Name: "4lw-srst", Rule: "srst begins the counting anew", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Exists("/wire", false)
			c, text := ask(s, "srst")
			say(c, text)
			c, text = ask(s, "srvr")
			counts := regexp.MustCompile(`Received: (\d+)\n`).FindStringSubmatch(text)
			c.logf("-- few packets are counted: %v", counts != nil && len(counts[1]) == 1)
		}},
		{Name: "4lw-dirs", Rule: "lines of dirs", Run: func(s *Stage) {
			c, text := ask(s, "dirs")
			say(c, numbers.ReplaceAllString(text, "N"))
		}},
		{Name: "4lw-dump", Rule: "lines of dump, with a session and its nodes", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 1)
			a.Create("/wire-2", 1)
			c, text := ask(s, "dump")
			say(c, dumpShape(text, a))
		}},
		{Name: "4lw-envi", Rule: "keys of envi", Run: func(s *Stage) {
			c, text := ask(s, "envi")
			say(c, regexp.MustCompile(`(?m)=.*$`).ReplaceAllString(text, "=…"))
		}},
		{Name: "4lw-trace-mask", Rule: "gtmk and stmk: a number without a newline", Run: func(s *Stage) {
			c, text := ask(s, "gtmk")
			say(c, text)
			for _, mask := range []byte{7, 50} { // the last is 306 again
				c = s.Dial("stmk")
				c.logf("> stmk %d", 256+int(mask))
				c.SendRaw([]byte{'s', 't', 'm', 'k', 0, 0, 0, 0, 0, 0, 1, mask})
				say(c, c.ReadText())
				c, text = ask(s, "gtmk")
				say(c, text)
			}
		}},
		{Name: "4lw-watches", Rule: "wchs, wchc and wchp: the data table, not watches on children", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 1)
			a.GetData("/wire", true)
			a.GetChildren("/wire", true)
			a.Exists("/wire-none", true)
			b.GetData("/wire", true)
			for _, word := range []string{"wchs", "wchc", "wchp"} {
				c, text := ask(s, word)
				text = strings.NewReplacer(hexID(a), "A", hexID(b), "B").Replace(text)
				say(c, sortedBlocks(text))
			}
		}},
		{Name: "4lw-telnet", Rule: "what telnet sends for ^C closes the connection", Run: func(s *Stage) {
			c := s.Dial("^C")
			c.SendRaw([]byte{0xff, 0xf4, 0xff, 0xfd, 0x06})
			c.logf("< %q, closed", c.ReadText())
		}},
		{Name: "4lw-admin-only", Rule: "commands of the admin server are no words", Run: func(s *Stage) {
			for _, word := range []string{"icfg", "lead", "sysp"} {
				c := s.Dial(word)
				c.SendRaw([]byte(word))
				c.logf("< %q, closed", c.ReadText())
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

func hexID(c *Conn) string { return fmt.Sprintf("0x%x", uint64(c.ID)) }

// connectionLines are the line of a's connection and one for those without a
// session, times and addresses replaced.
// sent is counted when the bytes are out, so a server that is slow to write may say one less.
func connectionLines(text string, a *Conn) string {
	var own, bare string
	last := ""
	for line := range strings.Lines(text) {
		last = line
		line = regexp.MustCompile(`/[0-9a-f.:]+\[`).ReplaceAllString(line, "/ADDRESS[")
		switch {
		case strings.Contains(line, "sid="+hexID(a)+","):
			own = regexp.MustCompile(`(sent=|ADDRESS\[|est=|lresp=|lat=|lzxid=0x)(?:[0-9a-e][0-9a-f]*)`).ReplaceAllString(strings.Replace(line, hexID(a), "A", 1), "${1}N")
		case !strings.Contains(line, "sid=") && line != "\n":
			bare = numbers.ReplaceAllString(line, "N")
		}
	}
	return own + bare + fmt.Sprintf("last line empty: %v\n", last == "\n")
}

// dumpShape is dump with what is a server's own replaced, and of the sessions
// only a's: others may not have gone yet.
func dumpShape(text string, a *Conn) string {
	var out strings.Builder
	owner, expiring := "", false
	for line := range strings.Lines(text) {
		line = regexp.MustCompile(`expire at [A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d [A-Z]+ \d{4}:`).ReplaceAllString(line, "expire at DATE:")
		line = regexp.MustCompile(`ip: /127\.0\.0\.1:\d+ `).ReplaceAllString(line, "ip: /ADDRESS ")
		line = strings.ReplaceAll(line, hexID(a), "A")
		switch {
		case strings.HasPrefix(line, "0x"), line == "A:\n":
			owner = line
		case strings.HasSuffix(line, "dump:\n"):
			owner = ""
		}
		switch {
		case strings.Contains(line, "expire at"):
			if !expiring { // how many there are depends on the clock
				expiring = true
				out.WriteString(regexp.MustCompile(`^\d+`).ReplaceAllString(line, "N"))
			}
		case owner != "" && owner != "A:\n", strings.HasPrefix(line, "\t0x"), strings.HasSuffix(line, "sessionId: 0x0\n"),
			strings.HasPrefix(line, "\tip:") && !strings.HasSuffix(line, "sessionId: A\n"):
		default:
			if strings.HasSuffix(line, "dump:\n") {
				expiring = false
			}
			out.WriteString(regexp.MustCompile(`\(\d+\)`).ReplaceAllString(line, "(N)"))
		}
	}
	return out.String()
}

// sortedBlocks sorts the answer of wchc or wchp: head lines, and the lines below
// each.
func sortedBlocks(text string) string {
	var blocks []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") && len(blocks) > 0 {
			blocks[len(blocks)-1] += line
		} else if line != "\n" {
			blocks = append(blocks, line)
		}
	}
	for i, b := range blocks {
		head, rest, _ := strings.Cut(b, "\n")
		lines := slices.Sorted(strings.Lines(rest))
		blocks[i] = head + "\n" + strings.Join(lines, "")
	}
	if !strings.Contains(text, "Total") {
		slices.Sort(blocks)
	}
	return strings.Join(blocks, "") + fmt.Sprintf("last line empty: %v\n", strings.HasSuffix(text, "\n\n"))
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
