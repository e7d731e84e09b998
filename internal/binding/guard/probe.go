package guard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// answer is what a probe found.
type answer uint8

const (
	nothing  answer = iota // no answer in time, or no way there: says nothing
	answered               // somebody is there
	refused                // the host says that nobody listens
)

// heartBeat is Dubbo's (ExchangeCodec: magic, request|two-way|event with
// serialization 2, status, id, length, and null in Hessian).
var heartBeat = []byte{0xda, 0xbb, 0xe2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 'N'}

// target is an address that is asked.
type target struct {
	at    string // "ip:port"
	dubbo bool   // with Dubbo's heart-beat
}

// dial asks an address whether somebody is there.
func (g *Guard) dial(ctx context.Context, t target) answer {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.ProbeTimeout)
	defer cancel()
	conn, err := g.cfg.Dial(ctx, "tcp", t.at)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case err != nil:
		return nothing
	}
	defer conn.Close()
	if t.dubbo && !beats(conn, time.Now().Add(g.cfg.ProbeTimeout)) {
		return nothing
	}
	return answered
}

// beats reports whether a Dubbo heart-beat is answered.
func beats(conn net.Conn, due time.Time) bool {
	if conn.SetDeadline(due) != nil {
		return false
	}
	if _, err := conn.Write(heartBeat); err != nil {
		return false
	}
	head := make([]byte, 16)
	_, err := io.ReadFull(conn, head)
	return err == nil && bytes.Equal(head[:2], heartBeat[:2])
}
