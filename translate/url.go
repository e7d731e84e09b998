package translate

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// providerURL is a Dubbo URL as it stands in a znode name, taken apart and
// otherwise left alone: parameters keep their order and their duplicates.
//
// net/url is not used: Dubbo's URLs hold unescaped text that it refuses, are
// separated by ";" as well as "&", and are escaped as a whole, not part by part.
type providerURL struct {
	protocol string
	user     string // "name:password", never published
	host     string // as written, without brackets
	port     int
	path     string // without leading slashes
	params   []param
}

// param is one parameter, "key=value"; a bare word is key and value at once, as
// Dubbo reads it.
type param struct{ key, value string }

// parseURL takes a decoded znode name apart.
func parseURL(text string) (*providerURL, *Refusal) {
	rest, query, _ := strings.Cut(text, "?")
	protocol, rest, ok := strings.Cut(rest, "://")
	if !ok || !validProtocol(protocol) {
		if strings.Contains(text, "%3A") || strings.Contains(text, "%253") {
			return nil, refuse(ReasonOverEncoded, "the name is escaped more than once")
		}
		return nil, refuse(ReasonName, "the name is not a URL")
	}
	if err := checkProtocol(protocol); err != nil { // before the rest: a consumer has no port, and that is not what is wrong with it
		return nil, err
	}
	authority, path, _ := strings.Cut(rest, "/")
	u := &providerURL{protocol: protocol}
	u.path = strings.TrimLeft(path, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		u.user, authority = authority[:i], authority[i+1:]
	}
	host, port, err := splitHostPort(authority)
	if err != nil {
		return nil, err
	}
	if err := checkHost(host); err != nil {
		return nil, err
	}
	u.host, u.port = host, port
	u.params = parseQuery(query)
	return u, nil
}

// regular tells whether text, of which u was made, is written as Dubbo writes a
// provider's URL: nothing before the host, a path, parameters in ascending order
// of their keys, each once, none of them a part of the URL or a marker. Such a
// text is what ToZnode makes of it again.
func (u *providerURL) regular(text string) bool {
	if u.user != "" || u.path == "" || strings.IndexByte(text, ';') >= 0 || strings.Contains(text, "%25") {
		return false // without these every parameter fits into a URL
	}
	rest, ok := strings.CutPrefix(text, u.protocol)
	if rest, ok = cut(rest, ok, "://"); ok && strings.IndexByte(u.host, ':') >= 0 {
		rest, ok = strings.CutPrefix(rest, "[")
		rest, ok = cut(rest, ok, u.host)
		rest, ok = cut(rest, ok, "]")
	} else {
		rest, ok = cut(rest, ok, u.host)
	}
	rest, ok = cut(rest, ok, ":")
	digits, rest, slash := strings.Cut(rest, "/")
	if !ok || !slash || strings.HasPrefix(digits, "0") {
		return false
	}
	rest, ok = cut(rest, ok, u.path)
	separator, last := "?", ""
	for _, p := range u.params {
		switch p.key {
		case MarkerKey, keyCategory, keyProtocol, keyPath:
			return false
		}
		if p.key <= last {
			return false
		}
		rest, ok = cut(rest, ok, separator)
		rest, ok = cut(rest, ok, p.key)
		rest, ok = cut(rest, ok, "=")
		rest, ok = cut(rest, ok, p.value)
		separator, last = "&", p.key
	}
	return ok && rest == ""
}

// cut is strings.CutPrefix, false for good once it was.
func cut(s string, ok bool, prefix string) (string, bool) {
	if !ok {
		return s, false
	}
	return strings.CutPrefix(s, prefix)
}

// parseQuery splits at "&" and ";", as Dubbo 3 does.
func parseQuery(query string) []param {
	if query == "" {
		return nil
	}
	params := make([]param, 0, 1+strings.Count(query, "&")+strings.Count(query, ";"))
	for start := 0; start <= len(query); {
		end, equals := start, -1
		for ; end < len(query) && query[end] != '&' && query[end] != ';'; end++ {
			if query[end] == '=' && equals < 0 {
				equals = end
			}
		}
		key, value := query[start:end], query[start:end]
		if equals >= 0 {
			key, value = query[start:equals], query[equals+1:end]
		}
		if key != "" {
			params = append(params, param{key, value})
		}
		start = end + 1
	}
	return params
}

// splitHostPort is net.SplitHostPort, and takes an IPv6 address without brackets
// where only one reading is possible: Dubbo before 3.3 writes the eight groups
// and the port in one row.
func splitHostPort(authority string) (host string, port int, err *Refusal) {
	i := strings.LastIndexByte(authority, ':')
	switch {
	case strings.HasPrefix(authority, "["):
		end := strings.IndexByte(authority, ']')
		if end < 0 || end+1 < len(authority) && end+1 != i {
			return "", 0, refuse(ReasonHost, "host and port %q cannot be read", authority)
		}
		host = authority[1:end]
		if !strings.Contains(host, ":") {
			return "", 0, refuse(ReasonHost, "only an IPv6 address stands in brackets, not %q", host)
		}
		if i < end {
			return "", 0, refuse(ReasonPort, "no port in %q", authority)
		}
	case i < 0:
		return "", 0, refuse(ReasonPort, "no port in %q", authority)
	case strings.IndexByte(authority, ':') < i: // two colons or more
		if strings.IndexByte(authority, '%') >= 0 {
			return "", 0, refuseZone(authority)
		}
		if _, whole := netip.ParseAddr(authority); whole == nil {
			return "", 0, refuse(ReasonPort, "%q may be an IPv6 address with or without a port: write it in brackets", authority)
		}
		host = authority[:i]
	default:
		host = authority[:i]
	}
	digits := authority[i+1:]
	port, bad := strconv.Atoi(digits)
	if bad != nil || strings.HasPrefix(digits, "+") || !validPort(port) {
		return "", 0, refuse(ReasonPort, "%q is not a port between 1 and 65535", digits)
	}
	return host, port, nil
}

// checkHost tells whether host, without brackets, can stand in a URL and means
// the same on every machine.
func checkHost(host string) *Refusal {
	if strings.IndexByte(host, ':') >= 0 {
		a, err := netip.ParseAddr(host)
		switch {
		case err != nil:
			return refuse(ReasonHost, "%q is not an IPv6 address", host)
		case a.Zone() != "":
			return refuseZone(host)
		}
		return nil
	}
	if host == "" {
		return refuse(ReasonHost, "no host")
	}
	for _, r := range host {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
		default:
			return refuse(ReasonHost, "%q is neither an address nor a host name", host)
		}
	}
	return nil
}

// canonicalHost gives one spelling for all spellings of a valid host.
func canonicalHost(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().String()
	}
	return strings.ToLower(host)
}

// hostPort joins host and port, with brackets around an IPv6 address.
func hostPort(host string, port int) string {
	if strings.IndexByte(host, ':') >= 0 {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

func validPort(port int) bool { return 0 < port && port <= 65535 }

// validProtocol tells whether s is a URL's scheme, "_" allowed: the names are
// those of Dubbo extensions.
func validProtocol(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.' || c == '_'):
		default:
			return false
		}
	}
	return s != ""
}

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

func refuseZone(host string) *Refusal {
	return refuse(ReasonZone, "%q holds an IPv6 zone id, which means something on its own machine only", host)
}
