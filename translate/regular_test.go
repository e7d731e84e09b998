package translate

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A name that is seen to be regular is one that rebuilding finds exact, with the
// same marker: the short way decides nothing otherwise than the long one.
func TestRegularNamesAreExact(t *testing.T) {
	d := NewDubbo("a7")
	piece := rapid.SampledFrom([]string{
		"dubbo", "tri", "://", "://", "10.0.0.1", "[2001:db8::1]", "2001:db8:0:0:0:0:0:1", ":1", ":01", "/", "/", "com.acme.Foo", "com.acme.Foo", "?", "&", "&", ";",
		"interface=com.acme.Foo", "a=1", "b=2", "b", "version=1", "version= ", "group=g", "category=providers", "zkb=1", "path=x", "~*", " ", "u:p@",
	})
	whole := rapid.SampledFrom([]string{
		"dubbo://10.0.0.1:1/com.acme.Foo?a=1&interface=com.acme.Foo", "tri://[2001:db8::1]:80/com.acme.Foo", "tri://h:80/ctx/x?interface=com.acme.Foo&z=*~",
		"tri://h:80/com.acme.Foo?version=1.0&z=2", "tri://h:80/com.acme.Foo?b=1&a=2",
	})
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		text := whole.Draw(t, "text")
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			text = text[:at] + piece.Draw(t, "piece") + text[at:]
		}
		s := rapid.SampledFrom([]style{styleJava, styleGo}).Draw(t, "style")
		rel := "com.acme.Foo/providers/" + s.escape(text)
		e, err := d.FromZnode(rel, nil)
		if err != nil {
			return
		}
		u, _ := parseURL(text)
		if u.regular(text) {
			seen++
		}
		slow := e
		slow.Exact = false
		slow.Instance = e.Instance.Clone()
		d.mark(&slow, d.Classify(rel), func(style) bool { return false })
		if slow.Exact != e.Exact || slow.Instance.Metadata[MarkerKey] != e.Instance.Metadata[MarkerKey] {
			t.Fatalf("%q: exact %v, marker %s; by rebuilding %v, %s", text, e.Exact, e.Instance.Metadata[MarkerKey], slow.Exact, slow.Instance.Metadata[MarkerKey])
		}
	})
	require.NotZero(t, seen)
}

func TestStyleWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, other := rapid.String().Draw(t, "text"), rapid.String().Draw(t, "other")
		for _, s := range []style{styleJava, styleGo} {
			if !s.writes(text, s.escape(text)) || s.writes(text, other) != (s.escape(text) == other) {
				t.Fatalf("%q", text)
			}
		}
	})
}
