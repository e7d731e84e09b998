package znode

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"zkbridge/zkproto"
)

// access is an ACL list, immutable and shared by the nodes that were given it
// together.
type access struct {
	list  []zkproto.ACL
	world int32 // permissions that everyone has
}

func newAccess(list []zkproto.ACL) *access {
	a := &access{list: list}
	if len(list) == 0 {
		a.world = ^0 // PrepRequestProcessor: a node without ACL is open
	}
	for _, e := range list {
		if e.Scheme == "world" && e.ID == "anyone" {
			a.world |= e.Perms
		}
	}
	return a
}

// intern is newAccess that shares the two lists nearly all nodes have.
func (t *Tree) intern(list []zkproto.ACL) *access {
	switch {
	case slices.Equal(list, t.open.list):
		return t.open
	case slices.Equal(list, t.readOnly.list):
		return t.readOnly
	}
	return newAccess(list)
}

// allows reports whether a connection with ids has one of the permissions in
// want (ZooKeeperServer.checkACL).
func (a *access) allows(want int32, ids []Identity) bool {
	if a.world&want != 0 {
		return true
	}
	for _, id := range ids {
		if id.Scheme == "super" {
			return true
		}
	}
	for _, e := range a.list {
		if e.Perms&want == 0 {
			continue
		}
		for _, id := range ids {
			if id.Scheme == e.Scheme && matches(e, id.ID) {
				return true
			}
		}
	}
	return false
}

// permits is allows where ACLs may not count.
func (t *Tree) permits(path string, a *access, want int32, ids []Identity) bool {
	return a.allows(want, ids) || t.lenient != nil && t.lenient(path)
}

// matches reports whether an identity of the entry's scheme is the one it
// names. Schemes without a provider match nobody.
func matches(e zkproto.ACL, id string) bool {
	switch e.Scheme {
	case "digest", "x509":
		return e.ID == id
	case "ip":
		return ipMatches(e.ID, id)
	}
	return false
}

// masked is the list as a reader without ADMIN sees it: digest hashes hidden
// (FinalRequestProcessor, getACL).
func (a *access) masked() []zkproto.ACL {
	list := slices.Clone(a.list)
	for i, e := range list {
		if e.Scheme != "digest" {
			continue
		}
		if user, _, ok := strings.Cut(e.ID, ":"); ok {
			list[i].ID = user + ":x"
		}
	}
	return list
}

// settle checks a list that a client wants to set and returns it as it will be
// stored (PrepRequestProcessor.fixupACL): exact duplicates removed, auth
// replaced by the connection's authenticated identities. Errors: InvalidACL, and
// MarshallingError for a null id where one is needed.
func (t *Tree) settle(list []zkproto.ACL, ids []Identity) (*access, error) {
	if slices.Equal(list, t.open.list) { // nearly always
		return t.open, nil
	}
	unique := make([]zkproto.ACL, 0, len(list))
	for _, e := range list {
		if incomparable(unique, e) {
			return nil, zkproto.MarshallingError
		}
		if !slices.Contains(unique, e) {
			unique = append(unique, e)
		}
	}
	if len(unique) == 0 {
		return nil, zkproto.InvalidACL
	}
	settled := make([]zkproto.ACL, 0, len(unique))
	for _, e := range unique {
		if e.ID == zkproto.Null && (e.Scheme == "world" || e.Scheme == "digest" || e.Scheme == "ip") {
			return nil, zkproto.MarshallingError
		}
		switch e.Scheme {
		case "world":
			if e.ID != "anyone" {
				return nil, zkproto.InvalidACL
			}
		case "digest":
			if !validDigest(e.ID) {
				return nil, zkproto.InvalidACL
			}
		case "ip":
			if !validIP(e.ID) {
				return nil, zkproto.InvalidACL
			}
		case "x509":
			if !t.x509 || !validName(e.ID) {
				return nil, zkproto.InvalidACL
			}
		case "auth":
			before := len(settled)
			for _, id := range ids {
				if id.Scheme == "digest" || id.Scheme == "x509" {
					settled = append(settled, zkproto.ACL{Perms: e.Perms, Scheme: id.Scheme, ID: id.ID})
				}
			}
			if len(settled) == before {
				return nil, zkproto.InvalidACL
			}
			continue
		default:
			return nil, zkproto.InvalidACL
		}
		settled = append(settled, e)
	}
	return t.intern(settled), nil
}

// incomparable reports whether ZooKeeper fails where it asks whether e is in the
// list already: a null of e has to be compared with something.
func incomparable(list []zkproto.ACL, e zkproto.ACL) bool {
	if e.Scheme != zkproto.Null && e.ID != zkproto.Null {
		return false
	}
	return slices.ContainsFunc(list, func(o zkproto.ACL) bool {
		return o.Perms == e.Perms && (e.Scheme == zkproto.Null || e.Scheme == o.Scheme)
	})
}

// validDigest wants two parts; like Java's split it does not count empty ones
// at the end (DigestAuthenticationProvider.isValid).
func validDigest(id string) bool {
	parts := strings.Split(id, ":")
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return len(parts) == 2
}

// validIP wants an address with or without a prefix length
// (IPAuthenticationProvider.isValid; IPv6 since 3.9.4).
func validIP(expr string) bool {
	_, _, ok := ipPrefix(expr)
	return ok
}

// ipMatches compares the first bits; families must agree.
func ipMatches(expr, id string) bool {
	want, bits, ok := ipPrefix(expr)
	if !ok {
		return false
	}
	have, ok := ipBytes(id)
	if !ok || len(have) != len(want) {
		return false
	}
	for i := range have {
		n := min(max(bits-8*i, 0), 8)
		if mask := byte(uint16(0xff00) >> n); (have[i]^want[i])&mask != 0 {
			return false
		}
	}
	return true
}

func ipPrefix(expr string) (addr []byte, bits int, ok bool) {
	text, length, prefixed := strings.Cut(expr, "/")
	if addr, ok = ipBytes(text); !ok {
		return nil, 0, false
	}
	bits = 8 * len(addr)
	if prefixed {
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > bits {
			return nil, 0, false
		}
		bits = n
	}
	return addr, bits, true
}

// ipBytes reads IPv4 as Java's parseInt does, which takes leading zeros, and
// IPv6 in its usual forms.
func ipBytes(text string) ([]byte, bool) {
	if parts := strings.Split(text, "."); len(parts) == 4 && !strings.Contains(text, ":") {
		addr := make([]byte, 4)
		for i, p := range parts {
			n, err := strconv.Atoi(p)
			if err != nil || n < 0 || n > 255 {
				return nil, false
			}
			addr[i] = byte(n)
		}
		return addr, true
	}
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return nil, false
	}
	b := a.As16()
	return b[:], true
}
