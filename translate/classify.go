package translate

import "strings"

const (
	providers = "providers"
	// dubbo-admin creates the four categories below every child of a root, junk
	// and reserved ones included.
	consumers     = "consumers"
	configurators = "configurators"
	routers       = "routers"
)

// reserved are the children of a root that are no services, with what they are.
var reserved = map[string]string{
	"metadata": "service definitions and application metadata (Dubbo's metadata report)",
	"mapping":  "the interface-to-application mapping",
	"config":   "the configuration centre",
}

// Classify implements Layout. It goes by depth and reserved names only, so a
// directory made by an administrator's tool is a directory like any other; it
// never becomes a service of the registry, since only addresses do.
func (d *Dubbo) Classify(rel string) Place {
	if rel == "" {
		return Place{Kind: KindRoot}
	}
	first, rest, below := strings.Cut(rel, "/")
	if what, ok := reserved[first]; ok {
		return documentPlace(rel, what)
	}
	iface, why := interfaceOf(first)
	p := Place{Kind: KindServiceDir, Service: iface}
	if why != nil {
		p.Why = why.Text
	}
	if !below {
		return p
	}
	category, leaf, below := strings.Cut(rest, "/")
	switch category {
	case providers:
		p.Kind, p.Dir = KindBoundDir, rel[:len(first)+1+len(providers)]
		if below {
			p.Kind, p.Name = KindAddress, leaf
		}
	case consumers:
		p.Kind, p.Why = KindCategory, "consumers are kept for ZooKeeper's clients only"
	case configurators, routers:
		p.Kind, p.Why = KindCategory, "rules of Dubbo 2.6 are kept for ZooKeeper's clients only"
	default: // dubbo-go's metadata <application>/<revision>, application-level instances, anything
		return documentPlace(rel, "not a category of an interface")
	}
	if strings.IndexByte(leaf, '/') >= 0 {
		return Place{Why: "below a registration"}
	}
	return p
}

// documentPlace gives the place of a document, or of something else that is not
// translated.
func documentPlace(rel, what string) Place {
	d, ok := DocumentAt(rel)
	if !ok {
		return Place{Why: what}
	}
	return Place{Kind: d.Kind, Service: d.Interface, Why: what}
}

// interfaceOf decodes the name of a service directory. The refusal says why it
// names no interface.
func interfaceOf(segment string) (string, *Refusal) {
	text, ok := unescape(segment)
	switch {
	case !ok:
		return "", refuse(ReasonInterface, "the directory %q is not properly escaped", segment)
	case strings.Contains(text, "%25"):
		return "", refuse(ReasonOverEncoded, "the directory %q is escaped more than once", shorten(segment))
	case !validInterface(text):
		return "", refuse(ReasonInterface, "%q is no name of an interface", shorten(text))
	}
	return text, nil
}

// shorten cuts a text for a message.
func shorten(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
