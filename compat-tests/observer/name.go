package observer

import (
	"net/url"
	"strings"
)

// place is a provider's znode, read from its path.
type place struct {
	Service  string // interface:version:group
	Address  string // host:port
	Protocol string
	Name     string
}

// providersIn returns the interface's segment if path is root/<interface>/providers.
func providersIn(root, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/")+"/")
	if !ok {
		return "", false
	}
	segment, last, ok := strings.Cut(rest, "/")
	return segment, ok && last == "providers"
}

// provider reads root/<interface>/providers/<leaf>.
func provider(root, path string) (place, bool) {
	dir, leaf := split(path)
	segment, ok := providersIn(root, dir)
	if !ok {
		return place{}, false
	}
	return leafPlace(segment, leaf)
}

// leafPlace reads the name of a provider's znode: an escaped URL.
func leafPlace(segment, leaf string) (place, bool) {
	name, err := url.QueryUnescape(segment)
	if err != nil {
		return place{}, false
	}
	text, err := url.QueryUnescape(leaf)
	if err != nil {
		return place{}, false
	}
	protocol, rest, ok := strings.Cut(text, "://")
	if !ok {
		return place{}, false
	}
	rest, query, _ := strings.Cut(rest, "?")
	address, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(address, "@"); at >= 0 {
		address = address[at+1:]
	}
	var version, group string
	for pair := range strings.SplitSeq(query, "&") {
		switch key, value, _ := strings.Cut(pair, "="); key {
		case "version":
			version = value
		case "group":
			group = value
		}
	}
	return place{Service: name + ":" + version + ":" + group, Address: address, Protocol: protocol, Name: leaf}, true
}

// split cuts a path into its directory and its last name.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}
