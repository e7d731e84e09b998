package observer

import (
	"encoding/binary"
	"sync"
	"time"

	"zkbridge/zkproto"
)

// Tap reads what passes through a relay and records what clients did to provider
// nodes below Root and to their sessions. It changes nothing; bytes that it does
// not understand end the reading of that connection, not the connection.
type Tap struct {
	Root string
	To   Recorder
}

// Connection is called by a relay for each connection. The functions it returns
// are given the bytes of either side, before they are passed on.
func (t *Tap) Connection() (fromClient, fromServer func(b []byte)) {
	c := &tapped{tap: t, pending: map[int32]pending{}}
	return func(b []byte) { c.feed(&c.up, b, c.request) }, func(b []byte) { c.feed(&c.down, b, c.reply) }
}

// tapped is one connection.
type tapped struct {
	tap *Tap

	mu       sync.Mutex
	up, down direction
	asked    zkproto.ConnectRequest
	session  int64 // 0 until the handshake is answered
	pending  map[int32]pending
}

// direction is the bytes of one side that are not yet a whole frame.
type direction struct {
	rest   []byte
	frames int
	lost   bool // bytes came that make no sense
}

// pending is a request that is not answered yet.
type pending struct {
	op   zkproto.OpCode
	at   time.Time
	path string
}

// feed cuts a side's bytes into frames.
func (c *tapped) feed(d *direction, b []byte, frame func(first bool, frame []byte) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.lost {
		return
	}
	d.rest = append(d.rest, b...)
	for len(d.rest) >= 4 {
		n := int(int32(binary.BigEndian.Uint32(d.rest)))
		if n < 0 || n > 64<<20 {
			d.lost = true
			return
		}
		if len(d.rest) < 4+n {
			return
		}
		if err := frame(d.frames == 0, d.rest[4:4+n]); err != nil {
			d.lost = true
			return
		}
		d.frames++
		d.rest = d.rest[4+n:]
	}
}

func (c *tapped) record(e Event) {
	e.At = time.Now()
	if e.Session == 0 {
		e.Session = c.session
	}
	c.tap.To.Record(e)
}

// request handles a client's frame.
func (c *tapped) request(first bool, frame []byte) error {
	if first {
		return c.asked.Decode(frame)
	}
	head, body, err := zkproto.DecodeHeader(frame)
	if err != nil {
		return err
	}
	c.record(Event{Kind: SessionHeard})
	p := pending{op: head.Op, at: time.Now()}
	switch head.Op {
	case zkproto.OpCreate, zkproto.OpCreate2:
		var m zkproto.CreateRequest
		if err := m.Decode(body); err != nil {
			return err
		}
		p.path = m.Path
	case zkproto.OpDelete:
		var m zkproto.DeleteRequest
		if err := m.Decode(body); err != nil {
			return err
		}
		p.path = m.Path
	case zkproto.OpCloseSession:
		c.record(Event{Kind: SessionClosed})
		return nil
	default:
		return nil
	}
	c.pending[head.Xid] = p
	return nil
}

// reply handles a server's frame.
func (c *tapped) reply(first bool, frame []byte) error {
	if first {
		return c.welcome(frame)
	}
	head, body, err := zkproto.DecodeReply(frame)
	if err != nil {
		return err
	}
	p, ok := c.pending[head.Xid]
	if !ok {
		return nil
	}
	delete(c.pending, head.Xid)
	if head.Err != zkproto.OK {
		return nil
	}
	path := p.path
	kind := Deleted
	if p.op != zkproto.OpDelete {
		kind = Created
		if path, err = createdPath(p.op, body); err != nil {
			return err
		}
	}
	if at, ok := provider(c.tap.Root, path); ok {
		c.record(Event{Kind: kind, Asked: p.at, Service: at.Service, Address: at.Address, Name: at.Name})
	}
	return nil
}

// createdPath is the path in the answer to a create.
func createdPath(op zkproto.OpCode, body []byte) (string, error) {
	if op == zkproto.OpCreate2 {
		var m zkproto.Create2Response
		err := m.Decode(body)
		return m.Path, err
	}
	var m zkproto.CreateResponse
	err := m.Decode(body)
	return m.Path, err
}

// welcome handles the answer to the handshake.
func (c *tapped) welcome(frame []byte) error {
	var m zkproto.ConnectResponse
	if err := m.Decode(frame); err != nil {
		return err
	}
	if m.Timeout <= 0 {
		c.record(Event{Kind: SessionExpired, Session: c.asked.SessionID})
		return nil
	}
	if c.asked.SessionID != 0 && c.asked.SessionID != m.SessionID {
		c.record(Event{Kind: SessionExpired, Session: c.asked.SessionID})
	}
	c.session = m.SessionID
	c.record(Event{Kind: SessionOpened, Timeout: time.Duration(m.Timeout) * time.Millisecond})
	return nil
}
