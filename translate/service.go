package translate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// serviceKey is what a Dubbo service is known by.
type serviceKey struct {
	iface   string
	version string // "" for none
	group   string // "" for none
}

// String gives "interface:version:group", blanks kept.
func (k serviceKey) String() string { return k.iface + ":" + k.version + ":" + k.group }

// registryName is the name under which Dubbo registers the service's providers
// in Nacos. Its colons are kept where version or group are missing: the
// consumer asks for the name with them.
func (k serviceKey) registryName() string { return mangle(providers + ":" + k.String()) }

// check tells whether the key can be part of a service name and of a URL.
func (k serviceKey) check() *Refusal {
	if !validInterface(k.iface) {
		return refuse(ReasonInterface, "%q is no name of an interface", shorten(k.iface))
	}
	for _, part := range [...]struct{ what, text string }{{"version", k.version}, {"group", k.group}} {
		s := part.text
		if s == "*" || strings.ContainsAny(s, ":&;") || strings.Contains(s, "%25") || !utf8.ValidString(s) {
			return refuse(ReasonServiceKey, "the %s %q cannot be part of a service name", part.what, shorten(s))
		}
	}
	return nil
}

// mangle replaces "$", which Nacos did not take when Dubbo chose this, as Dubbo
// does. An interface whose name holds "___" itself shares the service name
// of one with "$"; the metadata tell them apart.
func mangle(name string) string { return strings.ReplaceAll(name, "$", "___") }

// registeredName is a service name found in the registry, taken apart.
type registeredName struct {
	iface  string   // mangled
	parts  []string // what follows the interface
	legacy bool     // Dubbo 2.6 and 2.7.1: blank parts dropped, so one part may be version or group
}

// parseRegistryName takes apart "providers:I:v:g" and the legacy names
// "providers:I", "providers:I:v", "providers:I:g". It is false for names of
// other kinds.
func parseRegistryName(name string) (registeredName, bool) {
	s := strings.Split(name, ":")
	if len(s) < 2 || len(s) > 4 || s[0] != providers || !validInterface(s[1]) {
		return registeredName{}, false
	}
	n := registeredName{iface: s[1], parts: s[2:], legacy: len(s) < 4}
	if n.legacy && len(n.parts) == 1 && n.parts[0] == "" {
		return registeredName{}, false
	}
	return n, true
}

// complete gives the key of an instance found under the name, from what its
// metadata say, which may be less than the name or nothing. It is false if
// they contradict each other: then native consumers pass the instance over, for
// they ask by the name and filter by the metadata. White space in the name
// contradicts: Dubbo reads it as nothing.
func (n registeredName) complete(k serviceKey) (serviceKey, bool) {
	if k.iface == "" {
		// Nothing but the name: "___" is what Dubbo makes of "$", a real one is rarer.
		k.iface = strings.ReplaceAll(n.iface, "___", "$")
	}
	if mangle(k.iface) != mangle(n.iface) {
		return k, false
	}
	if !n.legacy {
		if k.version == "" {
			k.version = orBlank(n.parts[0])
		}
		if k.group == "" {
			k.group = orBlank(n.parts[1])
		}
		return k, mangle(k.version) == mangle(n.parts[0]) && mangle(k.group) == mangle(n.parts[1])
	}
	if k.version == "" && k.group == "" && len(n.parts) == 1 {
		k.version = orBlank(n.parts[0])
	}
	var parts []string
	for _, s := range []string{k.version, k.group} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return k, mangle(strings.Join(parts, ":")) == mangle(strings.Join(n.parts, ":"))
}

// orBlank gives "" for white space, which Dubbo takes for a missing value.
func orBlank(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// validInterface tells whether s is a legal Java name: identifiers joined by
// dots.
func validInterface(s string) bool {
	start := true
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			return false
		case r == '_', r == '$', unicode.IsLetter(r):
			start = false
		case !start && r == '.':
			start = true
		case !start && (unicode.IsDigit(r) || unicode.IsMark(r)):
		default:
			return false
		}
	}
	return !start
}
