package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"zkbridge/internal/znode"
)

// secureConn is a socket that speaks TLS. What crypto/tls writes is only put
// aside, as sealed bytes, and whoever flushes the connection's outbox writes those:
// so a write through TLS never has to wait, and one whose socket is full goes on
// where it stopped, which crypto/tls itself cannot do.
type secureConn struct {
	net.Conn // the socket
	tls      *tls.Conn
	raw      syscall.RawConn // of the socket; nil if it cannot be tried without waiting

	direct atomic.Bool // in the handshake: crypto/tls writes to the socket itself
	busy   atomic.Bool // somebody is writing sealed bytes

	// Owned by the one who is busy.
	opened  int // bytes of the outbox that pending and sealed hold
	frame   framing
	pending []byte // being written
	chunk   []byte // memory of pending
	chunks  *chunks

	mu     sync.Mutex
	sealed []byte // behind pending
}

// sealMax is how much of an outbox is sealed before it is written, in bytes: less
// than a large chunk, so that there is room for what TLS adds.
const sealMax = 48 << 10

func newSecureConn(nc net.Conn, raw syscall.RawConn, cfg *tls.Config, pool *chunks) *secureConn {
	s := &secureConn{Conn: nc, raw: raw, chunks: pool}
	s.direct.Store(true)
	s.tls = tls.Server(sealer{s}, cfg)
	return s
}

// sealer is the socket as crypto/tls sees it.
type sealer struct{ *secureConn }

func (s sealer) Read(b []byte) (int, error) { return s.Conn.Read(b) }

func (s sealer) Write(b []byte) (int, error) {
	if s.direct.Load() {
		return s.Conn.Write(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed == nil {
		s.sealed = s.chunks.get(len(b))
	} else if len(s.sealed)+len(b) > cap(s.sealed) {
		old := s.sealed
		s.sealed = append(s.chunks.get(len(old)+len(b)), old...)
		s.chunks.put(old)
	}
	s.sealed = append(s.sealed, b...)
	return len(b), nil
}

func (s sealer) Close() error { return s.Conn.Close() }

// The deadlines of writes are the writer's business: crypto/tls would leave one
// that has passed.
func (s sealer) SetWriteDeadline(time.Time) error { return nil }
func (s sealer) SetDeadline(time.Time) error      { return nil }

// Read reads what the client wrote, in the clear.
func (s *secureConn) Read(b []byte) (int, error) { return s.tls.Read(b) }

// Write is not used: the outbox is written by writeSecure.
func (s *secureConn) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

// CloseWrite tells the client that nothing more comes.
func (s *secureConn) CloseWrite() error {
	s.farewell()
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the socket, at once. The client learns that this was meant, if the
// socket takes it.
func (s *secureConn) Close() error {
	s.farewell()
	return s.Conn.Close()
}

// farewell writes what is sealed and TLS's own goodbye, as far as the socket takes
// them now.
func (s *secureConn) farewell() {
	if s.direct.Load() || !s.busy.CompareAndSwap(false, true) {
		return
	}
	defer s.busy.Store(false)
	_ = s.tls.CloseWrite()
	var try nonblocking
	_ = s.drain(&try)
}

// seal puts bytes of the pieces aside, sealed, each reply and each event in a
// record of its own, as the real server does: kazoo overlooks what else is in a
// record until the next one comes.
func (s *secureConn) seal(pieces [][]byte) error {
	for _, p := range pieces {
		for len(p) > 0 {
			if s.opened >= sealMax || s.waiting() >= sealMax {
				return nil
			}
			n := s.frame.take(p[:min(len(p), sealMax-s.opened)])
			if _, err := s.tls.Write(p[:n]); err != nil {
				return err
			}
			s.opened += n
			p = p[n:]
		}
	}
	return nil
}

// waiting is how much is sealed behind pending, in bytes.
func (s *secureConn) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sealed)
}

// framing finds the ends of frames in a stream.
type framing struct {
	text bool    // the stream has no frames: it is the answer to a four-letter word
	head [4]byte // of the length that is being read
	seen int     // how much of it is
	left int     // of the frame, behind its length
}

// take returns how many bytes of p, which is not empty, belong to one frame.
func (f *framing) take(p []byte) int {
	if f.text {
		return len(p)
	}
	n := 0
	if f.left == 0 {
		n = copy(f.head[f.seen:], p)
		if f.seen += n; f.seen < len(f.head) {
			return n
		}
		f.seen, f.left = 0, int(binary.BigEndian.Uint32(f.head[:]))
	}
	k := min(f.left, len(p)-n)
	f.left -= k
	return n + k
}

// next makes the sealed bytes those to be written, once the former are. It reports
// whether there are any.
func (s *secureConn) next() bool {
	if len(s.pending) > 0 {
		return true
	}
	s.chunks.put(s.chunk)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunk, s.pending, s.sealed = s.sealed, s.sealed, nil
	return len(s.pending) > 0
}

// drain writes what is sealed, without waiting.
func (s *secureConn) drain(try *nonblocking) error {
	for s.next() {
		if s.raw == nil {
			return errWouldBlock // not a socket: no telling whether it would
		}
		n, err := try.write(s.raw, s.pending)
		s.pending = s.pending[n:]
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSecure is write for a connection through TLS. The bytes of the outbox count
// as written when the socket has taken all that they became.
func (w *writer) writeSecure(c *conn, patience time.Duration) (int, error) {
	s := c.secured
	if !s.busy.CompareAndSwap(false, true) {
		return 0, net.ErrClosed // it is being closed
	}
	defer s.busy.Store(false)
	if s.opened == 0 {
		if err := s.seal(w.pieces); err != nil {
			return 0, err
		}
	}
	err := s.drain(&w.try)
	if errors.Is(err, errWouldBlock) && patience > 0 {
		for err = nil; err == nil && s.next(); {
			var n int
			n, err = w.wait(c, s.Conn, [][]byte{s.pending}, patience)
			s.pending = s.pending[n:]
		}
	}
	if err != nil {
		return 0, err
	}
	n := s.opened
	s.opened = 0
	return n, nil
}

// secure reports whether the connection goes through TLS.
func (c *conn) secure() bool { return c.secured != nil }

// shakeHands does the TLS handshake, and takes the identity that the client's
// certificate gives it (X509AuthenticationProvider).
func (c *conn) shakeHands(due time.Time) error {
	s, n := c.secured, &c.srv.count
	n.shaking.Add(1)
	defer n.shaking.Add(-1)
	if err := s.Conn.SetWriteDeadline(due); err != nil {
		return err
	}
	if err := s.tls.HandshakeContext(context.Background()); err != nil { // ended by the deadlines of the socket
		return c.unshaken(err)
	}
	s.direct.Store(false)
	if err := s.Conn.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	if chain := s.tls.ConnectionState().PeerCertificates; len(chain) > 0 {
		c.certified.Store(true)
		name := distinguishedName(chain[0].RawSubject)
		if name != "" && name == c.srv.cfg.SuperUser {
			c.identify(znode.Identity{Scheme: "super", ID: name})
		}
		c.identify(znode.Identity{Scheme: "x509", ID: name})
	}
	return nil
}

// unshaken counts and logs a TLS handshake that failed.
func (c *conn) unshaken(err error) error {
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	hint := "the client may not trust this server's certificate, or has none of its own"
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		if !c.leaving.Load() {
			c.srv.count.shakesLate.Add(1)
		}
		return err // counted as a handshake that took too long
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET):
		return io.EOF // a probe, or a client that gave up
	case errors.As(err, &plain):
		hint = "the client does not speak TLS; the plain listener has another port"
	case errors.As(err, &untrusted), errors.As(err, &unknown):
		hint = "the client's certificate is not from an authority in clientCAFile, or not valid now"
	}
	c.srv.rejected(RejectedTLS)
	if c.srv.accusers.may("tls " + c.from) {
		c.srv.log.Warn("TLS handshake failed", "peer", c.String(), "error", err, "hint", hint)
	}
	return errSilent
}
