package translate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"zkbridge/registryclient"
)

// Recognizer is a layout that tells its nodes from another's by their data too.
type Recognizer interface {
	// Recognizes tells whether data are what the layout's readers can read at
	// rel, which Classify calls an address.
	Recognizes(rel string, data []byte) bool
}

// Among gives the layout of a root that a node belongs to, and its place there:
// by depth and name, and where these leave several, by the data. Without data
// (nil) the first of them has it. A directory of a service that could be two
// families' goes to Dubbo's interface level if it is named like a Java type, else
// to a layout of instances. With no layout that knows the path, the place is
// elsewhere and the layout the first.
func Among(layouts []Layout, rel string, data []byte) (Layout, Place) {
	if len(layouts) == 0 {
		return nil, Place{}
	}
	var (
		best  Layout
		place Place
		rank  int
	)
	for _, l := range layouts {
		p := l.Classify(rel)
		var r int
		switch p.Kind {
		case KindElsewhere:
			if best == nil {
				best, place = l, p
			}
			continue
		case KindAddress:
			r = 2
			if rec, ok := l.(Recognizer); ok && data != nil {
				if r = 1; rec.Recognizes(rel, data) {
					r = 4
				}
			}
		case KindServiceDir:
			r = 1
			if p.Service != "" && isTypeName(p.Service) {
				r = 3
			}
		case KindBoundDir:
			r = 2
			if _, ok := l.(Recognizer); ok && data != nil && strings.IndexByte(rel, '/') >= 0 {
				r = 1 // a nested name of Spring's, or somebody's instance
			}
		default: // a root, a document, a category: what all that know it agree on
			r = 3
		}
		if best == nil || r > rank {
			best, place, rank = l, p, r
		}
	}
	return best, place
}

// AmongInstance gives the layout in which an instance found under the registry's
// service name is shown, of several in one root; nil if none takes it. It is
// the first that Wants the name and does not refuse the instance as another
// family's.
func AmongInstance(layouts []Layout, service string, in registryclient.Instance) Layout {
	for _, l := range layouts {
		if !l.Wants(service) {
			continue
		}
		if d, ok := l.(*Discovery); ok && !d.takes(in) {
			continue
		}
		return l
	}
	return nil
}

// isTypeName tells whether an interface's name ends in a type as Java writes
// one, in upper case.
func isTypeName(iface string) bool {
	r, _ := utf8.DecodeRuneInString(iface[strings.LastIndexByte(iface, '.')+1:])
	return unicode.IsUpper(r)
}
