package server

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// auth, opcode 100, all versions: adds an identity to the connection. Java, C
// and kazoo send it with xid -4, go-zookeeper with an ordinary one; it is echoed.
// The header's zxid is 0. It does not count as a sign of life of the session.
//
// digest takes any bytes but null; those that the super digest stands for make the
// connection super beside. ip is there already, and succeeds; so does x509 of a
// client that showed a certificate. Every other scheme is answered AuthFailed, and
// the connection closed.
func (d *desk) auth(body []byte) error {
	m := &d.req.auth
	if err := m.Decode(body); err != nil {
		return err // closes the connection, as ZooKeeper does
	}
	switch {
	case m.Scheme == "digest" && m.Auth != nil:
		id := digest(string(m.Auth))
		if id == d.srv.cfg.SuperDigest {
			d.c.identify(znode.Identity{Scheme: "super"})
		}
		d.c.identify(znode.Identity{Scheme: "digest", ID: id})
	case m.Scheme == "ip", m.Scheme == "x509" && d.c.certified.Load():
	default:
		d.srv.count.authFailed.Add(1)
		if d.srv.accusers.may(d.c.from) {
			d.srv.log.Warn("authentication failed", "peer", d.c.String(), "session", d.c.session.String(), "scheme", m.Scheme)
		}
		d.head(0, zkproto.AuthFailed)
		d.send(0)
		return errGoodbye
	}
	d.head(0, zkproto.OK)
	d.send(0)
	return nil
}

// digest is the id that "user:password" stands for
// (DigestAuthenticationProvider).
func digest(auth string) string {
	user, _, _ := strings.Cut(auth, ":")
	sum := sha1.Sum([]byte(auth)) // the protocol's hash, whatever it is worth
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// identify adds an identity, once. Requests and events that are under way keep
// the list they have.
func (c *conn) identify(id znode.Identity) {
	ids := c.Identities()
	if !slices.Contains(ids, id) {
		more := append(slices.Clone(ids), id)
		c.identities.Store(&more)
	}
}
