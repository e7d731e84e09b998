package translate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseURL(t *testing.T) {
	tests := []struct {
		name, text string
		want       providerURL
		reason     Reason
	}{
		{"whole", "dubbo://10.0.3.17:20880/com.acme.Foo?b=2&a=1", providerURL{protocol: "dubbo", host: "10.0.3.17", port: 20880, path: "com.acme.Foo", params: []param{{"b", "2"}, {"a", "1"}}}, ""},
		{"no query", "tri://h:1/p", providerURL{protocol: "tri", host: "h", port: 1, path: "p"}, ""},
		{"no path", "rest://h:1?a=1", providerURL{protocol: "rest", host: "h", port: 1, params: []param{{"a", "1"}}}, ""},
		{"bare", "dubbo://h:65535", providerURL{protocol: "dubbo", host: "h", port: 65535}, ""},
		{"context path", "rest://h:8080/ctx/com.acme.Foo", providerURL{protocol: "rest", host: "h", port: 8080, path: "ctx/com.acme.Foo"}, ""},
		{"slashes before the path", "tri://h:1//p", providerURL{protocol: "tri", host: "h", port: 1, path: "p"}, ""},
		{"user", "dubbo://admin:p@ss@h:1/p", providerURL{protocol: "dubbo", user: "admin:p@ss", host: "h", port: 1, path: "p"}, ""},
		{"user without password", "dubbo://admin@h:1/p", providerURL{protocol: "dubbo", user: "admin", host: "h", port: 1, path: "p"}, ""},
		{"at sign in a value", "dubbo://h:1/p?mail=a@b:2/c", providerURL{protocol: "dubbo", host: "h", port: 1, path: "p", params: []param{{"mail", "a@b:2/c"}}}, ""},
		{"duplicates and order kept", "dubbo://h:1/p?a=1&a=2&&a", providerURL{protocol: "dubbo", host: "h", port: 1, path: "p", params: []param{{"a", "1"}, {"a", "2"}, {"a", "a"}}}, ""},
		{"semicolons separate", "dubbo://h:1/p?a=1;b=x=y", providerURL{protocol: "dubbo", host: "h", port: 1, path: "p", params: []param{{"a", "1"}, {"b", "x=y"}}}, ""},
		{"empty value and empty key", "dubbo://h:1/p?a=&=b", providerURL{protocol: "dubbo", host: "h", port: 1, path: "p", params: []param{{"a", ""}}}, ""},
		{"IPv6", "dubbo://[2001:db8::1]:20880/p", providerURL{protocol: "dubbo", host: "2001:db8::1", port: 20880, path: "p"}, ""},
		{"IPv6 and user", "dubbo://u:p@[2001:db8::1]:20880/p", providerURL{protocol: "dubbo", user: "u:p", host: "2001:db8::1", port: 20880, path: "p"}, ""},
		{"IPv6, eight groups and a port", "dubbo://2001:db8:0:0:0:0:0:1:20880/p", providerURL{protocol: "dubbo", host: "2001:db8:0:0:0:0:0:1", port: 20880, path: "p"}, ""},
		{"IPv6, shortened, a port too long for a group", "dubbo://2001:db8::1:20880/p", providerURL{protocol: "dubbo", host: "2001:db8::1", port: 20880, path: "p"}, ""},

		{"IPv6, no port, no brackets", "dubbo://2001:db8::1/p", providerURL{}, ReasonPort},
		{"IPv6, perhaps a port", "dubbo://2001:db8::1:2088/p", providerURL{}, ReasonPort},
		{"IPv6, no port", "dubbo://[2001:db8::1]/p", providerURL{}, ReasonPort},
		{"IPv6, empty port", "dubbo://[2001:db8::1]:/p", providerURL{}, ReasonPort},
		{"IPv6, bracket open", "dubbo://[2001:db8::1:20880/p", providerURL{}, ReasonHost},
		{"IPv6, junk after the bracket", "dubbo://[2001:db8::1]x:1/p", providerURL{}, ReasonHost},
		{"IPv4 in brackets", "dubbo://[10.0.0.1]:1/p", providerURL{}, ReasonHost},
		{"colons that are no address", "dubbo://a:b:1/p", providerURL{}, ReasonHost},
		{"zone", "dubbo://[fe80::1%en0]:20880/p", providerURL{}, ReasonZone},
		{"zone, escaped", "dubbo://[fe80::1%25en0]:20880/p", providerURL{}, ReasonZone},
		{"zone, no brackets", "dubbo://fe80::1%en0:20880/p", providerURL{}, ReasonZone},
		{"no port", "dubbo://10.0.0.1/p", providerURL{}, ReasonPort},
		{"port 0", "dubbo://10.0.0.1:0/p", providerURL{}, ReasonPort},
		{"port too large", "dubbo://10.0.0.1:65536/p", providerURL{}, ReasonPort},
		{"signed port", "dubbo://10.0.0.1:+80/p", providerURL{}, ReasonPort},
		{"port is a word", "dubbo://10.0.0.1:http/p", providerURL{}, ReasonPort},
		{"no host", "dubbo://:20880/p", providerURL{}, ReasonHost},
		{"nothing", "dubbo://", providerURL{}, ReasonPort},
		{"white space in the host", "dubbo://a b:1/p", providerURL{}, ReasonHost},
		{"no scheme", "10.0.0.1:20880", providerURL{}, ReasonName},
		{"empty scheme", "://h:1/p", providerURL{}, ReasonName},
		{"scheme in the query only", "a?b=dubbo://h:1/p", providerURL{}, ReasonName},
		{"empty", "", providerURL{}, ReasonName},
		{"still escaped", "dubbo%3A%2F%2Fh%3A1", providerURL{}, ReasonOverEncoded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseURL(tt.text)
			if tt.reason != "" {
				require.NotNil(t, err)
				require.Equal(t, tt.reason, err.Reason, err.Text)
				return
			}
			require.Nil(t, err)
			require.Equal(t, &tt.want, got)
		})
	}
}

func TestEscape(t *testing.T) {
	const text = "aZ09.-_*~ /:?&=,$%é\x00"
	require.Equal(t, "aZ09.-_*%7E+%2F%3A%3F%26%3D%2C%24%25%C3%A9%00", styleJava.escape(text))
	require.Equal(t, "aZ09.-_%2A~+%2F%3A%3F%26%3D%2C%24%25%C3%A9%00", styleGo.escape(text))
	for _, s := range []style{styleJava, styleGo} {
		got, ok := unescape(s.escape(text))
		require.True(t, ok)
		require.Equal(t, text, got)
	}
	got, ok := unescape("a%2fb:c")
	require.True(t, ok)
	require.Equal(t, "a/b:c", got)
	for _, broken := range []string{"%", "a%2", "%zz", "%2g", "%C3", "\xff"} {
		_, ok := unescape(broken)
		require.False(t, ok, broken)
	}
}

func TestParseRegistryName(t *testing.T) {
	tests := []struct {
		name, service string
		want          registeredName
		ok            bool
	}{
		{"blanks kept", "providers:I::", registeredName{iface: "I", parts: []string{"", ""}}, true},
		{"version", "providers:I:1.0.0:", registeredName{iface: "I", parts: []string{"1.0.0", ""}}, true},
		{"group only", "providers:I::blue", registeredName{iface: "I", parts: []string{"", "blue"}}, true},
		{"legacy", "providers:I", registeredName{iface: "I", parts: []string{}, legacy: true}, true},
		{"legacy, one part", "providers:I:1.0.0", registeredName{iface: "I", parts: []string{"1.0.0"}, legacy: true}, true},
		{"neither form", "providers:I:", registeredName{}, false},
		{"consumers", "consumers:I::", registeredName{}, false},
		{"five parts", "providers:I:1:g:x", registeredName{}, false},
		{"no interface", "providers:::", registeredName{}, false},
		{"no Java name", "providers:my-service::", registeredName{}, false},
		{"an application", "order-svc", registeredName{}, false},
		{"grouped name of the server", "DEFAULT_GROUP@@providers:I::", registeredName{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := parseRegistryName(tt.service)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.ok, NewDubbo("a").Wants(tt.service))
		})
	}
}

func TestParseMarker(t *testing.T) {
	for text, want := range map[string]Marker{
		"1.j.a7.cc91c0106e60":          {Flags: "j", Cluster: "a7", Fingerprint: "cc91c0106e60"},
		"1.gpx.eu.west-1.0123456789ab": {Flags: "gpx", Cluster: "eu.west-1", Fingerprint: "0123456789ab"},
	} {
		m, ok := ParseMarker(map[string]string{MarkerKey: text})
		require.True(t, ok, text)
		require.Equal(t, want, m)
		require.Equal(t, text, m.String())
	}
	for _, text := range []string{
		"", "1", "1.j", "1.j.a7", "2.j.a7.cc91c0106e60", "1..a7.cc91c0106e60", "1.J.a7.cc91c0106e60",
		"1.j..cc91c0106e60", "1.j.cc91c0106e60", "1.j.a7.cc91c0106e6", "1.j.a7.CC91C0106E60", "x1.j.a7.cc91c0106e60",
	} {
		_, ok := ParseMarker(map[string]string{MarkerKey: text})
		require.False(t, ok, text)
	}
}
