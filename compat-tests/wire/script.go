package wire

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"zkbridge/zkproto"
)

// Script is one conversation with a server. It uses nodes whose names begin
// with /wire only, and leaves none behind.
type Script struct {
	Name string // lower case, words separated by dashes; the file in testdata
	Rule string // what it pins; a field report is named by its number
	Run  func(s *Stage)

	Fast     bool // needs a server with short ticks (FastTick) because it waits for an expiry
	Restarts bool // restarts the server
	Setup    Setup
}

// Setup is how the servers of a script are set up beyond the defaults.
type Setup string

// The setups.
const (
	Default  Setup = ""
	Extended Setup = "extended types" // TTL nodes; containers and TTL nodes are looked for every [ReapInterval]
	Guarded  Setup = "guarded"        // super is who has [SuperDigest]; quotas are enforced
	SkipACL  Setup = "skip acl"       // ACLs are not looked at
)

// Setups are all setups.
func Setups() []Setup { return []Setup{Default, Extended, Guarded, SkipACL} }

// ReapInterval is how often servers of [Extended] look for what to remove.
const ReapInterval = 300 * time.Millisecond

// FastTick is the tick of the servers that [Script.Fast] scripts want.
const FastTick = 200 * time.Millisecond

// Root is the prefix of the nodes that scripts make.
const Root = "/wire"

// Transcript is what a script saw: for each connection, in the order of their
// opening, the lines of what was sent and received.
type Transcript string

// Server is what a script is played against.
type Server struct {
	Addr    string
	Below   string                      // path that the nodes of a script are below, like a client's chroot; may be ""
	Restart func(context.Context) error // stops the server and starts it on the same data; for [Script.Restarts]
}

// Stage is one run of a script.
type Stage struct {
	ctx      context.Context
	server   Server
	base     int64            // zxids are told relative to this one
	mark     int64            // the last zxid before a restart, behind which zxids are only later
	sessions map[int64]string // id to the name of the connection that got it
	opened   []opened         // to be closed in the end
	conns    []*Conn
	notes    []string
}

type opened struct {
	id     int64
	passwd []byte
}

// stop is what a script panics with when it cannot go on.
type stop struct{ why string }

// Play runs a script against a server, which should be idle otherwise. An error means that the script could not be played to its end;
// the transcript is then what was seen until then.
func Play(ctx context.Context, script Script, server Server) (t Transcript, err error) {
	s := &Stage{ctx: ctx, server: server, sessions: map[int64]string{}}
	if s.base, err = s.sweep(nil); err != nil {
		return "", fmt.Errorf("before %s: %w", script.Name, err)
	}
	defer func() {
		t = s.transcript()
		for _, c := range s.conns {
			c.hangUp()
		}
		if _, after := s.sweep(s.opened); after != nil && err == nil {
			err = fmt.Errorf("after %s: %w", script.Name, after)
		}
	}()
	err = s.run(script)
	return t, err
}

func (s *Stage) run(script Script) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = fmt.Errorf("%s: %s", script.Name, r.why)
		default:
			panic(r)
		}
	}()
	script.Run(s)
	return nil
}

func (s *Stage) transcript() Transcript {
	var out strings.Builder
	for _, n := range s.notes {
		fmt.Fprintf(&out, "%s\n", n)
	}
	for _, c := range s.conns {
		fmt.Fprintf(&out, "== %s\n", c.name)
		for _, line := range c.log {
			fmt.Fprintf(&out, "%s\n", line)
		}
	}
	return Transcript(out.String())
}

// Note writes a line that belongs to no connection.
func (s *Stage) Note(format string, args ...any) {
	s.notes = append(s.notes, "-- "+fmt.Sprintf(format, args...))
}

// Restart restarts the server, whose last zxid c is asked for first. Every
// connection ends.
func (s *Stage) Restart(c *Conn) {
	s.mark = c.Sync("/").Zxid
	if err := s.server.Restart(s.ctx); err != nil {
		panic(stop{"restart: " + err.Error()})
	}
	for _, c := range s.conns {
		c.Silently(c.ExpectClose)
		c.logf("-- the server was restarted")
	}
}

// Until polls ok until it holds.
func (s *Stage) Until(what string, ok func() bool) {
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			panic(stop{"still not: " + what})
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// zxid tells a zxid from the wire.
func (s *Stage) zxid(z int64) string {
	if z == 0 || z == -1 {
		return fmt.Sprint(z)
	}
	if s.mark != 0 && z > s.mark {
		return "later"
	}
	return fmt.Sprintf("%+d", z-s.base)
}

// session tells a session id.
func (s *Stage) session(id int64) string {
	if id == 0 {
		return "0"
	}
	if name, ok := s.sessions[id]; ok {
		return "session of " + name
	}
	return "an unknown session"
}

// sweep ends the sessions that a script left, removes its nodes, and returns
// the server's last zxid.
func (s *Stage) sweep(left []opened) (int64, error) {
	w := &Stage{ctx: s.ctx, server: Server{Addr: s.server.Addr}, sessions: map[int64]string{}}
	defer func() {
		for _, c := range w.conns {
			c.hangUp()
		}
	}()
	var last int64
	err := w.run(Script{Name: "clean up", Run: func(w *Stage) {
		for _, o := range left {
			c := w.Dial("old")
			if c.Handshake(zkproto.ConnectRequest{Timeout: 30000, SessionID: o.id, Passwd: o.passwd}).SessionID != 0 {
				c.CloseSession()
			}
		}
		c := w.Connect("sweeper")
		c.makeAll(s.server.Below)
		for _, dir := range []string{"", "/zookeeper/quota", s.server.Below} {
			list, _ := c.GetChildren(cmp.Or(dir, "/"), false).Body.(*zkproto.GetChildrenResponse)
			if list == nil {
				panic(stop{"cannot list " + dir})
			}
			for _, name := range list.Children {
				if strings.HasPrefix("/"+name, Root) {
					c.removeAll(dir + "/" + name)
				}
			}
		}
		last = c.CloseSession().Zxid
	}})
	return last, err
}

// makeAll makes the nodes of a path that are missing.
func (c *Conn) makeAll(path string) {
	if path == "" {
		return
	}
	c.makeAll(path[:strings.LastIndexByte(path, '/')])
	if r := c.Create(path, zkproto.FlagPersistent); r.Err != zkproto.OK && r.Err != zkproto.NodeExists {
		panic(stop{fmt.Sprintf("cannot make %s: %v", path, r.Err)})
	}
}

// splitPath gives the names in a path.
func splitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func (c *Conn) removeAll(path string) {
	if list, ok := c.Do(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: path}).Body.(*zkproto.GetChildrenResponse); ok {
		for _, name := range list.Children {
			c.removeAll(path + "/" + name)
		}
	}
	if r := c.Delete(path, -1); r.Err != zkproto.OK && r.Err != zkproto.NoNode {
		panic(stop{fmt.Sprintf("cannot remove %s: %v", path, r.Err)})
	}
}

func (s *Stage) number(n int32) string { return fmt.Sprint(n) }
