package server

import (
	"encoding/binary"
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

// defaultTraceMask is ZooTrace's. Nothing is traced here, but the mask is kept.
const defaultTraceMask = 306

// word is one of the words that ZooKeeper knows.
type word struct {
	name   string
	answer func(s *Server, c *conn) string
	always bool // also while the server is not serving
	bare   bool // no newline behind the sentence that it is not serving
}

var words = []word{
	{name: "ruok", always: true, answer: func(*Server, *conn) string { return "imok" }},
	{name: "isro", always: true, answer: (*Server).isro},
	{name: "gtmk", always: true, answer: (*Server).gtmk},
	{name: "envi", always: true, answer: (*Server).envi},
	{name: "srvr", answer: (*Server).srvr},
	{name: "stat", answer: (*Server).stat},
	{name: "srst", answer: (*Server).srst},
	{name: "mntr", answer: (*Server).mntr},
	{name: "conf", answer: (*Server).conf},
	{name: "cons", answer: (*Server).cons},
	{name: "crst", answer: (*Server).crst},
	{name: "dirs", answer: (*Server).dirs},
	{name: "dump", answer: (*Server).dump},
	{name: "hash", bare: true, answer: func(*Server, *conn) string { return "" }}, // digests are not kept
	{name: "wchc", answer: (*Server).wchc},
	{name: "wchp", answer: (*Server).wchp},
	{name: "wchs", answer: (*Server).wchs},
	{name: maskWord, always: true, answer: (*Server).gtmk},
}

// maskWord, stmk, is followed by the mask: 8 bytes.
const maskWord = "stmk"

// interrupted is what telnet sends for ^C: the connection is closed, and that is
// all (TelnetCloseCommand).
const interrupted = "\xff\xf4\xff\xfd"

// Words are the four-letter words that Config.FourLetterWords may list.
func Words() []string {
	names := make([]string, len(words))
	for i := range words {
		names[i] = words[i].name
	}
	slices.Sort(names)
	return names
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
	c.received.Store(c.received.Load() + 1)
	ready, _ := s.cfg.Ready()
	listed := slices.Contains(s.cfg.FourLetterWords, w.name) || slices.Contains(s.cfg.FourLetterWords, "*")
	var text string
	switch {
	case !listed:
		text = w.name + " is not executed because it is not in the whitelist.\n"
	case !ready && !w.always:
		text = notServing
		if !w.bare {
			text += "\n"
		}
	default:
		if w.name == maskWord {
			if err := c.readMask(); err != nil {
				return err
			}
		}
		text = w.answer(s, c)
	}
	if c.secured != nil {
		c.secured.frame.text = true
	}
	c.out.reply([]byte(text), 0)
	return errGoodbye
}

// readMask takes the mask behind stmk.
func (c *conn) readMask() error {
	const size = len(maskWord) + 8
	if err := c.need(size); err != nil {
		return err
	}
	c.srv.SetTraceMask(int64(binary.BigEndian.Uint64(c.in.buf[c.in.at+len(maskWord):])))
	return nil
}

// TraceMask is ZooKeeper's trace mask. It is kept for tools that set it; nothing
// here is traced.
func (s *Server) TraceMask() int64 { return s.traceMask.Load() }

// SetTraceMask sets what TraceMask gives.
func (s *Server) SetTraceMask(mask int64) { s.traceMask.Store(mask) }

func (s *Server) gtmk(*conn) string { return strconv.FormatInt(s.TraceMask(), 10) }

func (s *Server) isro(*conn) string {
	if ready, _ := s.cfg.Ready(); !ready {
		return "null"
	}
	return "rw"
}

func (s *Server) srvr(*conn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\n", s.Version())
	s.serverLines(&b)
	return b.String()
}

func (s *Server) stat(own *conn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\nClients:\n", s.Version())
	for _, r := range s.Connections() {
		r.line(&b, own, true)
	}
	b.WriteByte('\n')
	s.serverLines(&b)
	return b.String()
}

// serverLines are what srvr and stat have in common.
func (s *Server) serverLines(b *strings.Builder) {
	lat := s.latency()
	tree := s.cfg.Tree.Stats()
	fmt.Fprintf(b, "Latency min/avg/max: %d/%s/%d\n", lat.min.Milliseconds(), JavaDouble(lat.average()), lat.max.Milliseconds())
	fmt.Fprintf(b, "Received: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n", s.received(), s.sent(), s.connected())
	fmt.Fprintf(b, "Zxid: 0x%x\nMode: standalone\nNode count: %d\n", tree.Zxid, tree.Nodes+1)
}

func (s *Server) srst(*conn) string {
	s.ResetStats()
	return "Server stats reset.\n"
}

func (s *Server) crst(*conn) string {
	s.ResetConnections()
	return "Connection stats reset.\n"
}

func (s *Server) dirs(*conn) string {
	size := s.cfg.About.DataSize()
	return fmt.Sprintf("datadir_size: %d\nlogdir_size: %d\n", size, size)
}

// JavaDouble writes milliseconds as Java does a double of at most four decimals.
func JavaDouble(d time.Duration) string { return javaDouble(float64(d) / float64(time.Millisecond)) }

func javaDouble(f float64) string {
	text := strings.TrimRight(strconv.FormatFloat(f, 'f', 4, 64), "0")
	if strings.HasSuffix(text, ".") {
		text += "0"
	}
	return text
}

// Setting is one line of conf.
type Setting struct {
	Key   string
	Value any
}

// Settings are what conf tells of a standalone server, under the keys of conf.
func (s *Server) Settings() []Setting {
	a := &s.cfg.About
	size := a.DataSize()
	port := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	return []Setting{
		{"clientPort", a.ClientPort},
		{"secureClientPort", port(a.SecureClientPort)},
		{"dataDir", a.DataDir},
		{"dataDirSize", size},
		{"dataLogDir", a.DataDir},
		{"dataLogSize", size},
		{"tickTime", a.TickTime.Milliseconds()},
		{"maxClientCnxns", s.cfg.MaxConnectionsPerAddress},
		{"minSessionTimeout", a.MinSessionTimeout.Milliseconds()},
		{"maxSessionTimeout", a.MaxSessionTimeout.Milliseconds()},
		{"clientPortListenBacklog", -1},
		{"serverId", 0},
	}
}

func (s *Server) conf(*conn) string {
	var b strings.Builder
	for _, kv := range s.Settings() {
		fmt.Fprintf(&b, "%s=%v\n", kv.Key, kv.Value)
	}
	return b.String()
}

// mntr writes each measure on a line, whole numbers without decimals: parsers of
// agents fail on others.
func (s *Server) mntr(*conn) string {
	var b strings.Builder
	fmt.Fprintf(&b, "zk_version\t%s\nzk_server_state\tstandalone\n", s.Version())
	for _, m := range s.Monitor() {
		for _, f := range m.Flat() {
			fmt.Fprintf(&b, "zk_%s\t%s\n", f.Name, f.Text())
		}
	}
	return b.String()
}

// Flat is the measure as mntr has it: a summary is several numbers, in
// milliseconds.
func (m Measure) Flat() []Measure {
	if m.Kind != Summary {
		return []Measure{m}
	}
	t := &m.Times
	ms := func(d time.Duration) float64 { return float64(d.Milliseconds()) }
	return []Measure{
		{Name: "avg_" + m.Name, Value: float64(t.Average()) / float64(time.Millisecond), Fraction: true},
		{Name: "min_" + m.Name, Value: ms(t.Min)},
		{Name: "max_" + m.Name, Value: ms(t.Max)},
		{Name: "cnt_" + m.Name, Value: float64(t.Count)},
		{Name: "sum_" + m.Name, Value: ms(t.Sum)},
		{Name: "p50_" + m.Name, Value: ms(t.Median)},
		{Name: "p95_" + m.Name, Value: ms(t.P95)},
		{Name: "p99_" + m.Name, Value: ms(t.P99)},
		{Name: "p999_" + m.Name, Value: ms(t.P999)},
	}
}

// Text is the value as mntr writes it.
func (m Measure) Text() string {
	if m.Fraction {
		return javaDouble(m.Value)
	}
	return strconv.FormatInt(int64(m.Value), 10)
}
