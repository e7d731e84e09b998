package histories

import (
	"fmt"
	"slices"
	"strings"

	"zkbridge/compat-tests/wire"
	"zkbridge/zkproto"
)

// History is what some clients do, one step after the other.
type History []Step

// Step is something that one client does. Every step can follow every other:
// a client without a connection resumes its session first, or opens one.
type Step struct {
	Client   int // 0 is A
	Kind     Kind
	Requests []Request
}

// Kind is what a step does.
type Kind int

const (
	// Send sends the requests at once and reads until all are answered.
	Send Kind = iota
	// Cut closes the socket when nothing is on its way.
	Cut
	// SendAndCut sends the first request, a write, and closes the socket without
	// reading the answer, when the server has carried the request out.
	SendAndCut
	// Connect opens a connection (to the client's session, if it has one) and
	// sends the requests before the handshake is answered. If there is a
	// connection, the server closes it, and the new one has taken the session over.
	Connect
	// Intrude connects to the client's session with a wrong password.
	Intrude
	// Close sends the requests and behind them closeSession.
	Close
	// Expire resumes the session with the shortest timeout and waits for its end
	// without a sign of life. The connection stays open.
	Expire
	// CutAndExpire is Expire after the connection was cut.
	CutAndExpire
	// ComeBack connects to the last session of the client that has ended.
	ComeBack
)

func (k Kind) String() string {
	return [...]string{"send", "cut", "send and cut", "connect", "intrude", "close", "expire", "cut and expire", "come back"}[k]
}

// Request is one frame.
type Request struct {
	Xid  int32 // 0: the next one
	Op   zkproto.OpCode
	Body zkproto.Message // nil for none
	Off  int             // bytes cut off the end of the body; more than it has leave none

	// Seen makes the relative zxid of setWatches the last one that the client has
	// seen. Without it that of Body counts from the start of the history.
	Seen bool
}

func (r Request) String() string {
	text := strings.TrimPrefix(wire.Describe(0, r.Op, r.Body), "0 ")
	if r.Xid != 0 {
		text += fmt.Sprintf(" xid=%d", r.Xid)
	}
	if r.Op == zkproto.OpSetWatches || r.Op == zkproto.OpSetWatches2 {
		text += " relative to " + r.relative()
	}
	if r.Off > 0 {
		text += fmt.Sprintf(" without its last %d bytes", r.Off)
	}
	return text
}

func (r Request) relative() string {
	if r.Seen {
		return "the last zxid seen"
	}
	switch m := r.Body.(type) {
	case *zkproto.SetWatchesRequest:
		return fmt.Sprintf("zxid %+d", m.RelativeZxid)
	case *zkproto.SetWatches2Request:
		return fmt.Sprintf("zxid %+d", m.RelativeZxid)
	}
	return "?"
}

// String is the history as a script to read.
func (h History) String() string {
	var out strings.Builder
	for _, s := range h {
		fmt.Fprintf(&out, "%s %v", name(s.Client), s.Kind)
		switch {
		case len(s.Requests) == 1:
			fmt.Fprintf(&out, " %v", s.Requests[0])
		default:
			for _, r := range s.Requests {
				fmt.Fprintf(&out, "\n    %v", r)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func name(client int) string { return string(rune('A' + client)) }

// message is the body with the zxids of this run.
func (r Request) message(base, seen int64) zkproto.Message {
	pick := func(relative int64) int64 {
		if r.Seen {
			return seen
		}
		return min(base+relative, max(base, seen)) // what no server is ahead of
	}
	switch m := r.Body.(type) {
	case *zkproto.SetWatchesRequest:
		c := *m
		c.RelativeZxid = pick(m.RelativeZxid)
		return &c
	case *zkproto.SetWatches2Request:
		c := *m
		c.RelativeZxid = pick(m.RelativeZxid)
		return &c
	}
	return r.Body
}

// oneZxid says whether the request is a write that is carried out in one
// transaction, whatever its outcome.
func (r Request) oneZxid() bool {
	return r.Off == 0 && slices.Contains([]zkproto.OpCode{
		zkproto.OpCreate, zkproto.OpCreate2, zkproto.OpDelete, zkproto.OpSetData, zkproto.OpSetACL,
	}, r.Op)
}

// writes says whether the request asks for a change. Behind a setACL that is
// still on its way a real server checks changes against the old list, because
// what it prepares leaves out the new one (PrepRequestProcessor).
func (r Request) writes() bool {
	return r.oneZxid() || slices.Contains([]zkproto.OpCode{zkproto.OpMulti, zkproto.OpCreateContainer, zkproto.OpCreateTTL}, r.Op)
}

// alone says whether a request is not sent with others.
func (r Request) alone() bool {
	switch m := r.Body.(type) {
	case *zkproto.CreateRequest:
		return confused(r.Op, m.Flags)
	case *zkproto.MultiRequest:
		return slices.ContainsFunc(m.Ops, func(o zkproto.MultiOp) bool { return confused(o.Op, o.Flags) })
	}
	// The answer overtakes those of other requests, and some of them close the
	// connection.
	return r.Op == zkproto.OpAuth || r.Op == zkproto.OpSASL || r.Op == zkproto.OpCheck || !r.Op.Known()
}

// confused says whether a real server takes the node for an ephemeral one as
// long as the create is on its way, and for a container when it is there: what
// is sent at the same time is answered by chance. No client library sends it.
func confused(op zkproto.OpCode, flags zkproto.CreateFlags) bool {
	return op == zkproto.OpCreateContainer && flags.Ephemeral()
}
