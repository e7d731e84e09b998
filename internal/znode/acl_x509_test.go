package znode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/znode"
	"zkbridge/zkproto"
)

// What is a name is what Java's X500Principal takes for one.
func TestX509Names(t *testing.T) {
	tree, err := znode.New(znode.Config{X509: true})
	require.NoError(t, err)
	set := func(name string) error {
		var got error
		tree.Update(znode.Origin{Identities: []znode.Identity{{Scheme: "x509", ID: "CN=a"}}}, func(x *znode.Tx) error {
			_, got = x.SetACL("/", []zkproto.ACL{{Perms: zkproto.PermAll, Scheme: "x509", ID: name}, {Perms: zkproto.PermAll, Scheme: "world", ID: "anyone"}}, -1)
			return got
		}, nil)
		return got
	}
	good := `|CN=a|cn=a,o=b|CN=a, O=b|CN=a;O=b|CN=a+OU=c,O=b|CN=|1.2.3=a|1.2.840.113549.1.9.1=#1603616263|emailAddress=a@b|CN="a,b"|CN=a\,b|  CN=a  |` +
		`CN=#04024869|OID.1.2.3=a|SERIALNUMBER=1,T=x|CN=ä|CN=a=b|CN = a|1.2=a|S=x|SURNAME=x|DNQ=x|IP=1|DC=x|UID=x|STREET=x|CN=a#b|CN=\41`
	for name := range strings.SplitSeq(good, "|") {
		require.NoError(t, set(name), name)
	}
	bad := `CN|a|=a|XX=a|CN=a,|,CN=a|CN=a,,O=b|CN=a+|CN=#zz|CN="a|CN=a\|user:x|CN=a<b|CN=a"b|9.9=a|1.2.3.=a|CN=\zz`
	for name := range strings.SplitSeq(bad, "|") {
		require.ErrorIs(t, set(name), zkproto.InvalidACL, name)
	}
	without, err := znode.New(znode.Config{})
	require.NoError(t, err)
	tree = without
	require.ErrorIs(t, set("CN=a"), zkproto.InvalidACL, "no such scheme without TLS")
}

func TestX509MayOrMayNot(t *testing.T) {
	tree, err := znode.New(znode.Config{X509: true})
	require.NoError(t, err)
	a := []znode.Identity{{Scheme: "ip", ID: "192.0.2.1"}, {Scheme: "x509", ID: "CN=a,O=b"}}
	tree.Update(znode.Origin{Identities: a}, func(x *znode.Tx) error {
		_, _, err := x.Create(znode.Create{Path: "/n", ACL: []zkproto.ACL{{Perms: zkproto.PermAll, Scheme: "auth"}}})
		return err
	}, func(r znode.Result) { require.NoError(t, r.Err) })
	tree.View(func(v *znode.View) {
		list, _, err := v.ACL("/n", a)
		require.NoError(t, err)
		require.Equal(t, []zkproto.ACL{{Perms: zkproto.PermAll, Scheme: "x509", ID: "CN=a,O=b"}}, list)
		_, _, err = v.Data("/n", []znode.Identity{{Scheme: "x509", ID: "CN=a, O=b"}})
		require.ErrorIs(t, err, zkproto.NoAuth, "names are compared as text")
		_, _, err = v.Data("/n", nil)
		require.ErrorIs(t, err, zkproto.NoAuth)
	})
}
