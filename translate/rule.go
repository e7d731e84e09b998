package translate

import (
	"strings"
)

// Rule is a node below configurators or routers: an instruction of Dubbo 2.6 to
// consumers and providers of an interface, written by an administrator. Rules
// are documents of ZooKeeper's side: natives of a registry do not read them.
type Rule struct {
	Interface  string // of the directory, unescaped
	Category   string // "configurators" or "routers"
	Protocol   string // override, absent, route, condition, script, tag, empty
	Host       string // "0.0.0.0" for every host
	Port       int    // 0: every port
	Version    string // "" for none, "*" for any
	Group      string // "" for none, "*" for any
	Enabled    bool   // false: it is kept and not in force
	Persistent bool   // dynamic=false: it outlives the session that wrote it
	Parameters map[string]string
}

// RuleAt reads the rule at a path. The error, always a *Refusal, says why the
// node is none; it works on for ZooKeeper's clients, who read it for themselves.
func (d *Dubbo) RuleAt(rel string) (Rule, error) {
	s := strings.Split(rel, "/")
	if len(s) != 3 || s[1] != configurators && s[1] != routers || reserved[s[0]] != "" {
		return Rule{}, refuse(ReasonNotProvider, "not a rule's path")
	}
	iface, bad := interfaceOf(s[0])
	if bad != nil {
		return Rule{}, bad
	}
	text, ok := unescape(s[2])
	switch {
	case !ok:
		return Rule{}, refuse(ReasonName, "the name is not properly escaped")
	case overEncoded(text):
		return Rule{}, refuse(ReasonOverEncoded, "the name is escaped more than once")
	}
	rest, query, _ := strings.Cut(text, "?")
	protocol, rest, ok := strings.Cut(rest, "://")
	if !ok || !validProtocol(protocol) {
		return Rule{}, refuse(ReasonName, "the name is not a URL")
	}
	authority, path, _ := strings.Cut(rest, "/")
	r := Rule{Interface: iface, Category: s[1], Protocol: protocol, Parameters: map[string]string{}}
	if host, port, bad := splitHostPort(authority); bad == nil {
		r.Host, r.Port = host, port
	} else if bad := checkHost(authority); bad == nil {
		r.Host = authority
	} else {
		return Rule{}, bad
	}
	for _, p := range parseQuery(query) {
		r.Parameters[p.key] = p.value
	}
	named := orBlank(r.Parameters[keyInterface])
	if named == "" {
		named = strings.TrimLeft(path, "/")
	}
	if named != iface && named != "*" && named != "" {
		return Rule{}, refuse(ReasonInterface, "the rule is of the interface %q, its directory of %q", shorten(named), iface)
	}
	if c := orBlank(r.Parameters[keyCategory]); c != "" && c != s[1] {
		return Rule{}, refuse(ReasonNotProvider, "its category is %q, its directory %s", shorten(c), s[1])
	}
	r.Version, r.Group = orBlank(r.Parameters[keyVersion]), orBlank(r.Parameters[keyGroup])
	r.Enabled = r.Parameters["enabled"] != "false"
	r.Persistent = r.Parameters[keyDynamic] == "false"
	return r, nil
}

// overridesNothing are the parameters that say what an override is about, and
// are no settings.
var overridesNothing = map[string]bool{
	keyCategory: true, keyDynamic: true, "enabled": true, keyInterface: true, keyVersion: true, keyGroup: true, "application": true, "side": true, "check": true,
	keyPath: true, "runtime": true, "priority": true, "force": true,
}

// Overrides gives the parameters that the rule sets on providers at an address,
// and whether it is about them at all. Dubbo takes such a provider for disabled
// when "disabled" is true, and its weight from "weight". A rule for one
// application is about consumers of that name, so it changes no provider for all.
func (r Rule) Overrides(a Address) (map[string]string, bool) {
	app := r.Parameters["application"]
	if !r.Enabled || r.Category != configurators || r.Protocol != "override" || app != "" && app != "*" || r.Parameters["side"] == "consumer" {
		return nil, false
	}
	if r.Host != "0.0.0.0" && canonicalHost(r.Host) != a.Host || r.Port != 0 && r.Port != a.Port {
		return nil, false
	}
	key := strings.Split(a.Service, ":")
	if len(key) != 3 || key[0] != r.Interface || r.Version != "*" && r.Version != key[1] || r.Group != "*" && r.Group != key[2] {
		return nil, false
	}
	set := make(map[string]string, len(r.Parameters))
	for k, v := range r.Parameters {
		if !overridesNothing[k] && !strings.HasPrefix(k, "~") {
			set[k] = v
		} else if strings.HasPrefix(k, "~") {
			return nil, false // a condition on a parameter that an address does not have
		}
	}
	return set, true
}
