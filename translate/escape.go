package translate

import (
	"strings"
	"unicode/utf8"
)

// style is a way of escaping a text into one path segment. Both write spaces as
// "+" and hex digits in upper case (Dubbo 3 finds its separators as "%3A%2F%2F",
// "%3F" and "%26" and misreads anything else); they differ in "*" and "~".
type style byte

const (
	styleJava style = FlagJava // java.net.URLEncoder, UTF-8
	styleGo   style = FlagGo   // net/url.QueryEscape
)

const hexDigits = "0123456789ABCDEF"

// plain tells whether c stands for itself.
func (s style) plain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		return true
	case c == '*':
		return s == styleJava
	case c == '~':
		return s == styleGo
	}
	return false
}

// escape gives text as one path segment.
func (s style) escape(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	for i := range len(text) {
		switch c := text[i]; {
		case s.plain(c):
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// writes tells whether escape(text) is segment.
func (s style) writes(text, segment string) bool {
	at := 0
	for i := range len(text) {
		c := text[i]
		switch {
		case at >= len(segment):
			return false
		case s.plain(c):
			if segment[at] != c {
				return false
			}
			at++
		case c == ' ':
			if segment[at] != '+' {
				return false
			}
			at++
		default:
			if at+2 >= len(segment) || segment[at] != '%' || segment[at+1] != hexDigits[c>>4] || segment[at+2] != hexDigits[c&15] {
				return false
			}
			at += 3
		}
	}
	return at == len(segment)
}

// unescape decodes a segment once, whichever style wrote it; hex digits of
// either case and unescaped characters are taken too. It is false for a broken
// escape and for text that is not UTF-8.
func unescape(segment string) (string, bool) {
	if strings.IndexByte(segment, '%') < 0 && strings.IndexByte(segment, '+') < 0 {
		return segment, utf8.ValidString(segment)
	}
	var b strings.Builder
	b.Grow(len(segment))
	done := 0 // of segment
	for i := 0; i < len(segment); i++ {
		switch segment[i] {
		case '+':
			b.WriteString(segment[done:i])
			b.WriteByte(' ')
			done = i + 1
		case '%':
			if i+2 >= len(segment) {
				return "", false
			}
			hi, lo := unhex(segment[i+1]), unhex(segment[i+2])
			if hi > 15 || lo > 15 {
				return "", false
			}
			b.WriteString(segment[done:i])
			b.WriteByte(hi<<4 | lo)
			i += 2
			done = i + 1
		}
	}
	b.WriteString(segment[done:])
	return b.String(), utf8.ValidString(b.String())
}

// unhex gives the value of a hex digit, above 15 for anything else.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}

// overEncoded tells whether text, decoded once, still shows the trace of a tool
// that encodes names which are encoded already: each of its rounds adds "25".
func overEncoded(text string) bool {
	return strings.IndexByte(text, '%') >= 0 && (strings.Count(text, "%25") > 1 || strings.Contains(text, "%2525"))
}
