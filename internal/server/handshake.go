package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/sessions"
	"zkbridge/zkproto"
)

// handshake reads the first frame, or four-letter word, and ends in one of four
// ways: a new session, the client's own session resumed, expired (zeros, then
// close), or closed without a word, while the truth is not known. A nil error
// means that the connection has a session.
//
// Unlike ZooKeeper it refuses no client for having seen a later zxid: such a
// client would knock for ever after this server lost its clock (ZOOKEEPER-832).
// Its session is resumed if it is known, and then all its watches fire.
func (c *conn) handshake(ctx context.Context) error {
	due := c.record.opened.Add(c.srv.cfg.HandshakeTimeout)
	if err := c.nc.SetReadDeadline(due); err != nil {
		return err
	}
	if c.secured != nil {
		if err := c.shakeHands(due); err != nil {
			return err
		}
	}
	if err := c.need(4); err != nil {
		return err
	}
	first := c.in.buf[c.in.at : c.in.at+4]
	if string(first) == interrupted {
		return errSilent
	}
	if word, ok := knownWord(first); ok {
		return c.answerWord(word)
	}
	frame, err := c.next()
	if err != nil {
		return err
	}
	c.received.Store(c.received.Load() + 1)
	if ok, _ := c.srv.cfg.Ready(); !ok {
		c.srv.rejected(RejectedNotReady)
		return errSilent
	}
	var m zkproto.ConnectRequest
	if err := m.Decode(frame); err != nil {
		return err
	}
	if err := c.open(ctx, &m); err != nil {
		return err
	}
	if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if c.leaving.Load() {
		c.leave() // the deadline that leave set may just have been lifted
	}
	return nil
}

// open gives the connection the session that m asks for.
func (c *conn) open(ctx context.Context, m *zkproto.ConnectRequest) error {
	timeout := c.srv.cfg.Sessions.Negotiate(m.Timeout)
	if m.SessionID == 0 {
		return c.openNew(m, timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, c.srv.cfg.HandshakeTimeout)
	defer cancel()
	s, err := c.attach(ctx, m, timeout)
	switch {
	case errors.Is(err, sessions.ErrExpired):
		c.srv.count.expired.Add(1)
		c.srv.log.Debug("session asked for is over", "peer", c.String(), "session", fmt.Sprintf("0x%x", uint64(m.SessionID)))
		c.welcome(m, 0, 0, make([]byte, sessions.PasswdSize))
		return errGoodbye
	case err != nil:
		c.srv.rejected(RejectedUnknownTruth)
		c.srv.log.Debug("handshake not answered", "peer", c.String(), "session", fmt.Sprintf("0x%x", uint64(m.SessionID)), "error", err)
		return errSilent
	}
	c.carry(s)
	c.srv.count.resumed.Add(1)
	c.srv.cfg.Tree.RenewSession(s.ID(), s.Timeout())
	return c.desk.read(false, func(_ *desk, v *znode.View) {
		c.ahead = m.LastZxidSeen > v.Zxid()
		c.srv.stale.back(c)
		c.welcome(m, s.Timeout(), s.ID(), s.Passwd())
	})
}

// openNew makes a session. It is answered when its transaction is done.
func (c *conn) openNew(m *zkproto.ConnectRequest, timeout time.Duration) error {
	s, err := c.srv.cfg.Sessions.Create(timeout, c)
	if err != nil {
		c.srv.rejected(RejectedUnknownTruth)
		c.srv.log.Error("no session could be made", "peer", c.String(), "error", err)
		return errSilent
	}
	c.carry(s)
	c.srv.count.created.Add(1)
	c.srv.cfg.Tree.Update(znode.Origin{Session: s.ID(), Identities: c.Identities(), Why: "createSession"},
		func(x *znode.Tx) error {
			x.OpenSession(znode.Session{ID: s.ID(), Timeout: s.Timeout(), Epoch: s.Tenure().Epoch})
			return nil
		},
		func(r znode.Result) {
			if err = r.Err; err == nil {
				s.Establish(r.Zxid)
				c.record.answered("SESS", 0, r.Zxid)
				c.welcome(m, s.Timeout(), s.ID(), s.Passwd())
			}
		})
	if err != nil {
		return fmt.Errorf("opening session %v: %w", s, err)
	}
	return nil
}

// carry binds the connection to the session that it got.
func (c *conn) carry(s *sessions.Session) {
	c.session = s
	c.carried.Store(s)
}

// welcome queues the connect response. The read-only byte is there if the
// client sent it (since 3.9.3, and before 3.9).
func (c *conn) welcome(m *zkproto.ConnectRequest, timeout time.Duration, id int64, passwd []byte) {
	r := zkproto.ConnectResponse{
		Timeout:     int32(timeout / time.Millisecond),
		SessionID:   id,
		Passwd:      passwd,
		HasReadOnly: m.HasReadOnly,
	}
	b := r.AppendTo(make([]byte, 4, 64))
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	c.out.reply(b, 0)
}
