package wire

import (
	"context"
	"time"

	"zkbridge/zkproto"
)

// Open makes a stage for a caller that drives connections without a [Script].
// Nothing is cleaned up before or after. The parent of Root is server.Below, which the caller
// has made; zxids are told relative to base.
func Open(ctx context.Context, server Server, base int64) *Stage {
	return &Stage{ctx: ctx, server: server, base: base, sessions: map[int64]string{}}
}

// Try runs fn, which uses connections of the stage. The error says that one of
// them could not go on.
func (s *Stage) Try(what string, fn func()) error {
	return s.run(Script{Name: what, Run: func(*Stage) { fn() }})
}

// Transcript is what the connections have logged so far.
func (s *Stage) Transcript() Transcript { return s.transcript() }

// HangUp closes every connection.
func (s *Stage) HangUp() {
	for _, c := range s.conns {
		c.hangUp()
	}
}

// Closed says whether the connection is over.
func (c *Conn) Closed() bool { return c.gone }

// LastZxid is the highest zxid in the header of a reply or an event.
func (c *Conn) LastZxid() int64 { return c.last }

// AwaitZxid sends pings, so that the session lives, until the server's last zxid
// is z or later. Nothing is logged but events.
func (c *Conn) AwaitZxid(z int64) {
	deadline := time.Now().Add(patience)
	for c.last < z {
		if c.gone || time.Now().After(deadline) {
			panic(stop{c.name + ": still not: zxid " + c.stage.zxid(z)})
		}
		if c.ping(); c.last < z {
			time.Sleep(time.Millisecond) // between two pings
		}
	}
}

// Describe tells a request as the transcript does.
func Describe(xid int32, op zkproto.OpCode, m zkproto.Message) string {
	return describeRequest(xid, op, m)
}
