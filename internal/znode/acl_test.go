package znode_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// TestACLSettles is spec 6.2 and 6.3: what may be set and what is stored.
func TestACLSettles(t *testing.T) {
	ids := []znode.Identity{{Scheme: "ip", ID: "10.1.2.3"}, digest("a:1"), digest("b:2"), {Scheme: "super", ID: ""}}
	one := func(scheme, id string) []zkproto.ACL { return acl(3, scheme, id) }
	for _, c := range []struct {
		name      string
		set, want []zkproto.ACL // want nil: InvalidACL
	}{
		{"open", zkproto.WorldAnyone(), zkproto.WorldAnyone()},
		{"null", nil, nil},
		{"empty", []zkproto.ACL{}, nil},
		{"world", one("world", "anyone"), one("world", "anyone")},
		{"world, somebody", one("world", "someone"), nil},
		{"any permission bits", acl(1<<20, "world", "anyone"), acl(1<<20, "world", "anyone")},
		{"no permission bits", acl(0, "world", "anyone"), acl(0, "world", "anyone")},
		{"digest", one("digest", "u:h"), one("digest", "u:h")},
		{"digest, no user", one("digest", ":h"), one("digest", ":h")},
		{"digest, no hash", one("digest", "u:"), nil},
		{"digest, no colon", one("digest", "u"), nil},
		{"digest, empty", one("digest", ""), nil},
		{"digest, empty part at the end", one("digest", "u:h:"), one("digest", "u:h:")},
		{"digest, three parts", one("digest", "u:h:x"), nil},
		{"ip", one("ip", "10.0.0.1"), one("ip", "10.0.0.1")},
		{"ip with prefix", one("ip", "10.0.0.0/8"), one("ip", "10.0.0.0/8")},
		{"ip, prefix too long", one("ip", "10.0.0.0/33"), nil},
		{"ip, no prefix", one("ip", "10.0.0.0/"), nil},
		{"ip, three parts", one("ip", "10.0.0"), nil},
		{"ip, part too large", one("ip", "10.0.0.256"), nil},
		{"ip, a name", one("ip", "localhost"), nil},
		{"ip, version 6", one("ip", "2001:db8::/32"), one("ip", "2001:db8::/32")},
		{"super cannot be set", one("super", ""), nil},
		{"sasl is not configured", one("sasl", "u"), nil},
		{"unknown", one("nonsense", "x"), nil},
		{"no scheme", one("", ""), nil},
		{
			"auth is all digests, in place, not ip", append(append(one("ip", "10.0.0.1"), one("auth", "ignored")...), one("world", "anyone")...),
			append(append(append(one("ip", "10.0.0.1"), one("digest", "a:1")...), one("digest", "b:2")...), one("world", "anyone")...),
		},
		{"duplicates go", append(one("world", "anyone"), one("world", "anyone")...), one("world", "anyone")},
		{"not after auth", append(one("digest", "a:1"), one("auth", "")...), append(append(one("digest", "a:1"), one("digest", "a:1")...), one("digest", "b:2")...)},
		{"the same with other bits stays", append(one("world", "anyone"), acl(1, "world", "anyone")...), append(one("world", "anyone"), acl(1, "world", "anyone")...)},
		{"one bad entry", append(one("world", "anyone"), one("nonsense", "")...), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := newTree(t, nil)
			o := znode.Origin{Kind: znode.Operation, Identities: ids}
			r := update(t, tree, o, func(x *znode.Tx) error {
				_, _, err := x.Create(znode.Create{Path: "/n", ACL: c.set})
				return err
			})
			if c.want == nil {
				require.Equal(t, zkproto.InvalidACL, r.Err)
				return
			}
			require.NoError(t, r.Err)
			tree.View(func(v *znode.View) {
				got, _, err := v.ACL("/n", ids) // super sees all
				require.NoError(t, err)
				require.Equal(t, c.want, got)
			})
		})
	}
	t.Run("auth without identity", func(t *testing.T) {
		tree := newTree(t, nil)
		o := znode.Origin{Kind: znode.Operation, Identities: ids[:1]}
		require.Equal(t, zkproto.InvalidACL, update(t, tree, o, func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{Path: "/n", ACL: one("auth", "")})
			return err
		}).Err)
	})
}

func TestACLMatches(t *testing.T) {
	for _, c := range []struct {
		name  string
		entry zkproto.ACL
		id    znode.Identity
		want  bool
	}{
		{"digest", zkproto.ACL{Perms: 1, Scheme: "digest", ID: "a:1"}, digest("a:1"), true},
		{"digest, another", zkproto.ACL{Perms: 1, Scheme: "digest", ID: "a:1"}, digest("a:2"), false},
		{"scheme differs", zkproto.ACL{Perms: 1, Scheme: "digest", ID: "a:1"}, znode.Identity{Scheme: "ip", ID: "a:1"}, false},
		{"bit missing", zkproto.ACL{Perms: 30, Scheme: "digest", ID: "a:1"}, digest("a:1"), false},
		{"ip", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "10.1.2.3"}, znode.Identity{Scheme: "ip", ID: "10.1.2.3"}, true},
		{"ip, leading zeros", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "010.001.002.003"}, znode.Identity{Scheme: "ip", ID: "10.1.2.3"}, true},
		{"ip, another", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "10.1.2.4"}, znode.Identity{Scheme: "ip", ID: "10.1.2.3"}, false},
		{"ip, prefix", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "10.1.200.0/17"}, znode.Identity{Scheme: "ip", ID: "10.1.255.3"}, true},
		{"ip, prefix of odd bits", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "10.1.200.0/18"}, znode.Identity{Scheme: "ip", ID: "10.1.128.3"}, false},
		{"ip, all", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "1.2.3.4/0"}, znode.Identity{Scheme: "ip", ID: "10.1.255.3"}, true},
		{"ip, families", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "::/0"}, znode.Identity{Scheme: "ip", ID: "10.1.255.3"}, false},
		{"ip, version 6", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "2001:db8::/33"}, znode.Identity{Scheme: "ip", ID: "2001:db8:7fff::1"}, true},
		{"ip, version 6, outside", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "2001:db8::/33"}, znode.Identity{Scheme: "ip", ID: "2001:db8:8000::1"}, false},
		{"ip, a peer that is no address", zkproto.ACL{Perms: 1, Scheme: "ip", ID: "10.0.0.0/0"}, znode.Identity{Scheme: "ip", ID: "pipe"}, false},
		{"super", zkproto.ACL{Perms: 0, Scheme: "digest", ID: "a:1"}, znode.Identity{Scheme: "super", ID: "anything"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := newTree(t, nil)
			must(t, tree, func(x *znode.Tx) {
				_, _, err := x.Create(znode.Create{Path: "/n", ACL: []zkproto.ACL{c.entry}})
				require.NoError(t, err)
			})
			tree.View(func(v *znode.View) {
				_, _, err := v.Data("/n", []znode.Identity{c.id})
				require.Equal(t, c.want, err == nil)
				_, err = v.Exists("/n", []znode.Identity{c.id})
				require.Equal(t, c.want, err == nil)
				_, _, err = v.Children("/n", []znode.Identity{c.id})
				require.Equal(t, c.want, err == nil)
				_, err = v.CountBelow("/n", []znode.Identity{c.id})
				require.Equal(t, c.want, err == nil)
				if err != nil {
					require.Equal(t, zkproto.NoAuth, err)
				}
				_, _, err = v.Data("/n", nil)
				require.Equal(t, zkproto.NoAuth, err)
			})
		})
	}
}

// TestACLBits is spec 6.1: which bit of which node counts.
func TestACLBits(t *testing.T) {
	for _, c := range []struct {
		name string
		on   string // which node needs the bit
		bit  int32
		op   func(*znode.Tx) error
	}{
		{"create", "/p", zkproto.PermCreate, func(x *znode.Tx) error {
			_, _, err := x.Create(znode.Create{Path: "/p/new", ACL: zkproto.WorldAnyone()})
			return err
		}},
		{"delete, on the parent", "/p", zkproto.PermDelete, func(x *znode.Tx) error { return x.Delete("/p/n", -1) }},
		{"setData", "/p/n", zkproto.PermWrite, func(x *znode.Tx) error { _, err := x.SetData("/p/n", nil, -1); return err }},
		{"setACL", "/p/n", zkproto.PermAdmin, func(x *znode.Tx) error { _, err := x.SetACL("/p/n", zkproto.WorldAnyone(), -1); return err }},
		{"check", "/p/n", zkproto.PermRead, func(x *znode.Tx) error { return x.Check("/p/n", -1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, allowed := range []bool{true, false} {
				tree := newTree(t, nil)
				create(t, tree, "/p", "", 0)
				create(t, tree, "/p/n", "", 0)
				must(t, tree, func(x *znode.Tx) {
					for _, path := range []string{"/p/n", "/p"} {
						perms := int32(0)
						if path == c.on && allowed {
							perms = c.bit
						}
						if path == c.on && !allowed {
							perms = zkproto.PermAll &^ c.bit
						}
						_, err := x.SetACL(path, acl(perms, "world", "anyone"), -1)
						require.NoError(t, err)
					}
				})
				r := update(t, tree, client, c.op)
				if allowed {
					require.NoError(t, r.Err)
					continue
				}
				require.Equal(t, zkproto.NoAuth, r.Err)
				boom := errors.New("boom")
				super := znode.Origin{Kind: znode.Operation, Identities: []znode.Identity{{Scheme: "super"}}}
				require.ErrorIs(t, update(t, tree, super, func(x *znode.Tx) error { require.NoError(t, c.op(x)); return boom }).Err, boom)
				require.NoError(t, update(t, tree, znode.Origin{Kind: znode.Binding}, c.op).Err, "the bridge itself is not checked")
			}
		})
	}
}

func TestGetACLMasks(t *testing.T) {
	tree := newTree(t, nil)
	list := []zkproto.ACL{
		{Perms: zkproto.PermAdmin, Scheme: "digest", ID: "a:hash"},
		{Perms: zkproto.PermRead, Scheme: "digest", ID: "b:other"},
		{Perms: zkproto.PermRead, Scheme: "ip", ID: "10.0.0.1"},
	}
	must(t, tree, func(x *znode.Tx) {
		_, _, err := x.Create(znode.Create{Path: "/n", ACL: list})
		require.NoError(t, err)
	})
	tree.View(func(v *znode.View) {
		got, _, err := v.ACL("/n", []znode.Identity{digest("a:hash")})
		require.NoError(t, err, "ADMIN is enough")
		require.Equal(t, list, got)
		got, _, err = v.ACL("/n", []znode.Identity{digest("b:other")})
		require.NoError(t, err, "READ is enough")
		require.Equal(t, []zkproto.ACL{
			{Perms: zkproto.PermAdmin, Scheme: "digest", ID: "a:x"},
			{Perms: zkproto.PermRead, Scheme: "digest", ID: "b:x"},
			{Perms: zkproto.PermRead, Scheme: "ip", ID: "10.0.0.1"},
		}, got)
		got, _, err = v.ACL("/n", []znode.Identity{{Scheme: "super"}})
		require.NoError(t, err)
		require.Equal(t, list, got, "masking made a copy")
		_, _, err = v.ACL("/n", nil)
		require.Equal(t, zkproto.NoAuth, err)
		_, _, err = v.ACL("/none", nil)
		require.Equal(t, zkproto.NoNode, err)
	})
}
