package server_test

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/server"
)

func oid(n ...int) asn1.ObjectIdentifier { return n }

// The texts are those of Java's X500Principal.getName() for the same bytes.
func TestDistinguishedNames(t *testing.T) {
	cn, org, mail := oid(2, 5, 4, 3), oid(2, 5, 4, 10), oid(1, 2, 840, 113549, 1, 9, 1)
	one := func(pairs ...any) (s pkix.RDNSequence) {
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, pkix.RelativeDistinguishedNameSET{{Type: pairs[i].(asn1.ObjectIdentifier), Value: pairs[i+1]}})
		}
		return s
	}
	for _, tc := range []struct {
		name string
		rdns pkix.RDNSequence
		want string
	}{
		{"nothing", nil, ""},
		{"the last first", one(oid(2, 5, 4, 6), "DE", org, "Example", cn, "zk-1"), "CN=zk-1,O=Example,C=DE"},
		{
			"all words", one(oid(0, 9, 2342, 19200300, 100, 1, 25), "org", oid(2, 5, 4, 8), "s", oid(2, 5, 4, 7), "l", oid(2, 5, 4, 9), "st", oid(2, 5, 4, 11), "u", oid(0, 9, 2342, 19200300, 100, 1, 1), "id"),
			"UID=id,OU=u,STREET=st,L=l,ST=s,DC=org",
		},
		{"escapes", one(cn, ` a,b=c+d<e>f#g;h"i\j `), `CN=\ a\,b\=c\+d\<e\>f\#g\;h\"i\\j\ `},
		{"no word", one(mail, asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte("a@b")}, oid(2, 5, 4, 5), "1"), "2.5.4.5=#130131,1.2.840.113549.1.9.1=#1603614062"},
		{"not ASCII", one(cn, "Jürgen 東京"), "CN=Jürgen 東京"},
		{"not text", one(cn, asn1.RawValue{Tag: asn1.TagOctetString, Bytes: []byte("Hi")}), "CN=#04024869"},
		{"two in one", pkix.RDNSequence{{{Type: cn, Value: "a"}, {Type: oid(2, 5, 4, 11), Value: "c"}}}, "CN=a+OU=c"},
	} {
		der, err := asn1.Marshal(tc.rdns)
		require.NoError(t, err)
		require.Equal(t, tc.want, server.DistinguishedName(der), tc.name)
	}
	require.Empty(t, server.DistinguishedName([]byte("nonsense")))
}
