package translate

import (
	"slices"
	"strings"
	"unicode/utf8"

	"zkbridge/registryclient"
)

// Dubbo is the layout of Dubbo's interface-level registration. It is immutable
// and safe for concurrent use.
type Dubbo struct {
	cluster string
}

var _ Layout = (*Dubbo)(nil)

// NewDubbo gives the layout for a bridge of the given cluster, whose id goes
// into the marker of what is published.
func NewDubbo(clusterID string) *Dubbo { return &Dubbo{cluster: clusterID} }

// Name is "dubbo".
func (d *Dubbo) Name() string { return "dubbo" }

// Wants implements Layout. Legacy names are wanted too, for reading: nothing is
// ever published under one.
func (d *Dubbo) Wants(serviceName string) bool {
	_, ok := parseRegistryName(serviceName)
	return ok
}

// Metadata keys that are no parameters of the URL but its other parts, as
// Dubbo's Nacos registry writes them, and those that the translation looks at.
const (
	keyCategory  = "category"
	keyProtocol  = "protocol"
	keyPath      = "path"
	keyInterface = "interface"
	keyVersion   = "version"
	keyGroup     = "group"
	keyDynamic   = "dynamic"
	keyRelease   = "release"
)

const (
	defaultProtocol = "dubbo"
	defaultCluster  = "DEFAULT" // what native instances show
)

// notProviders are URL schemes that stand in Dubbo's registries and are no
// protocols to call somebody by.
var notProviders = map[string]bool{
	"absent": true, "admin": true, "condition": true, "consumer": true, "empty": true, "override": true, "provider": true,
	"registry": true, "route": true, "script": true, "service-discovery-registry": true, "tag": true,
}

// checkProtocol tells whether protocol is one to call a provider by.
func checkProtocol(protocol string) *Refusal {
	switch {
	case !validProtocol(protocol):
		return refuse(ReasonNotProvider, "%q is no protocol", shorten(protocol))
	case notProviders[protocol]:
		return refuse(ReasonNotProvider, "a %s:// URL is not a provider", protocol)
	}
	return nil
}

// checkCategory tells whether a URL of that category is offered to consumers as
// a provider; a missing category means providers.
func checkCategory(category string) *Refusal {
	if c := orBlank(category); c != "" && c != providers {
		return refuse(ReasonNotProvider, "its category is %q, not providers", shorten(c))
	}
	return nil
}

// FromZnode implements Layout. The data of a provider's znode mean nothing.
//
// The instance is what Dubbo's own registry for Nacos would have written: all
// parameters of the URL, and category, protocol and path beside them. User and
// password of a URL are not published.
func (d *Dubbo) FromZnode(rel string, _ []byte) (Entry, error) {
	p := d.Classify(rel)
	if p.Kind != KindAddress {
		return Entry{}, refuse(ReasonNotProvider, "not a provider's path: %s", p.Kind)
	}
	dir, _, _ := strings.Cut(rel, "/")
	iface, bad := interfaceOf(dir)
	if bad != nil {
		return Entry{}, bad
	}
	text, ok := unescape(p.Name)
	switch {
	case !ok:
		return Entry{}, refuse(ReasonName, "the name is not properly escaped")
	case overEncoded(text):
		return Entry{}, refuse(ReasonOverEncoded, "the name is escaped more than once")
	}
	u, bad := parseURL(text)
	if bad != nil {
		return Entry{}, bad
	}
	if strings.Contains(u.path, "%25") {
		return Entry{}, refuse(ReasonOverEncoded, "the path is escaped more than once")
	}
	metadata := make(map[string]string, len(u.params)+4)
	for _, p := range u.params { // the last of a duplicate key stands, as in Dubbo's map
		metadata[p.key] = p.value
	}
	if bad := checkCategory(metadata[keyCategory]); bad != nil {
		return Entry{}, bad
	}
	key := serviceKey{orBlank(metadata[keyInterface]), orBlank(metadata[keyVersion]), orBlank(metadata[keyGroup])}
	if key.iface == "" {
		key.iface = u.path // simplified URLs leave the interface out if it equals the path
	}
	if key.iface != iface {
		return Entry{}, refuse(ReasonInterface, "the URL is of the interface %q, its directory of %q", shorten(key.iface), iface)
	}
	if bad := key.check(); bad != nil {
		return Entry{}, bad
	}
	metadata[keyCategory], metadata[keyProtocol] = providers, u.protocol
	delete(metadata, keyPath)
	if u.path != "" {
		metadata[keyPath] = u.path
	}
	e := Entry{
		Service: key.registryName(),
		Address: newAddress(key, u.protocol, u.host, u.port, u.path),
		Instance: registryclient.Instance{
			IP: u.host, Port: u.port, Cluster: defaultCluster, Weight: 1, Enabled: true, Healthy: true, Metadata: metadata,
		},
	}
	d.mark(&e, p, func(s style) bool {
		return u.regular(text) && s.writes(text, p.Name) && s.writes(key.iface, dir)
	})
	return e, nil
}

// mark puts the marker into e, made from the znode at p, and finds out whether
// the name can be rebuilt: by seeing that it is regular, else by rebuilding it.
// regular may be false for a name that can be rebuilt, never true for another.
func (d *Dubbo) mark(e *Entry, p Place, regular func(style) bool) {
	styles := [...]style{styleJava, styleGo}
	if strings.HasPrefix(e.Instance.Metadata[keyRelease], "dubbo-golang") {
		styles = [...]style{styleGo, styleJava}
	}
	m := Marker{Cluster: d.cluster, Fingerprint: Fingerprint(p.Name)}
	rest := ""
	if e.Instance.Metadata[keyDynamic] == "false" {
		rest = string(FlagPersistent)
	}
	for _, s := range styles {
		m.Flags = string(rune(s)) + rest
		if regular(s) {
			e.Instance.Metadata[MarkerKey], e.Exact = m.String(), true
			return
		}
	}
	for _, s := range styles {
		m.Flags = string(rune(s)) + rest
		e.Instance.Metadata[MarkerKey] = m.String()
		if z, err := d.ToZnode(e.Service, e.Instance); err == nil && z.Dir == p.Dir && z.Name == p.Name {
			e.Exact = true
			return
		}
	}
	m.Flags = string(rune(styles[0])) + rest + string(FlagStored)
	e.Instance.Metadata[MarkerKey] = m.String()
}

// ToZnode implements Layout. Where metadata are missing they are what Dubbo's
// own readers assume: protocol dubbo, path the interface, and the interface,
// version and group of the service name.
func (d *Dubbo) ToZnode(service string, in registryclient.Instance) (Znode, error) {
	name, ok := parseRegistryName(service)
	if !ok {
		return Znode{}, refuse(ReasonNotProvider, "%q is not the name of a service of providers", shorten(service))
	}
	if !in.Enabled || !(in.Weight > 0) {
		return Znode{}, refuse(ReasonDisabled, "the instance is disabled or has weight 0")
	}
	given := in.Metadata
	if bad := checkCategory(given[keyCategory]); bad != nil {
		return Znode{}, bad
	}
	protocol := orBlank(given[keyProtocol])
	if protocol == "" {
		protocol = defaultProtocol
	}
	if bad := checkProtocol(protocol); bad != nil {
		return Znode{}, bad
	}
	host := strings.TrimSuffix(strings.TrimPrefix(in.IP, "["), "]")
	if bad := checkHost(host); bad != nil {
		return Znode{}, bad
	}
	if !validPort(in.Port) {
		return Znode{}, refuse(ReasonPort, "%d is not a port between 1 and 65535", in.Port)
	}
	path := strings.TrimLeft(given[keyPath], "/") // dubbo-go's natives write a leading slash
	key := serviceKey{orBlank(given[keyInterface]), orBlank(given[keyVersion]), orBlank(given[keyGroup])}
	if key.iface == "" && mangle(path) == mangle(name.iface) {
		key.iface = path // it tells "$" from "___"
	}
	key, ok = name.complete(key)
	if !ok {
		return Znode{}, refuse(ReasonServiceKey, "the metadata say %s, the service name %s: consumers pass it over", shorten(key.String()), shorten(service))
	}
	if bad := key.check(); bad != nil {
		return Znode{}, bad
	}
	if path == "" {
		path = key.iface
	}
	if strings.IndexByte(path, '?') >= 0 || strings.Contains(path, "%25") || !utf8.ValidString(path) {
		return Znode{}, refuse(ReasonPath, "the path %q cannot stand in a URL", shorten(path))
	}

	params := make([]param, 0, len(given)+3)
	lacking := func(k, v string) {
		if v != "" && orBlank(given[k]) == "" {
			params = append(params, param{k, v})
		}
	}
	lacking(keyVersion, key.version)
	lacking(keyGroup, key.group)
	if path != key.iface {
		lacking(keyInterface, key.iface)
	}
	added := params
	for k, v := range given {
		switch k {
		case MarkerKey, keyCategory, keyProtocol, keyPath:
			continue // the marker, and other parts of the URL
		}
		if !slices.ContainsFunc(added, func(p param) bool { return p.key == k }) {
			params = append(params, param{k, v})
		}
	}
	slices.SortFunc(params, func(a, b param) int { return strings.Compare(a.key, b.key) })
	text, dropped := writeURL(protocol, host, in.Port, path, params)
	s := styleJava
	if m, ok := ParseMarker(given); ok && m.Has(FlagGo) {
		s = styleGo
	}
	return Znode{
		Dir:     s.escape(key.iface) + "/" + providers,
		Name:    s.escape(text),
		Data:    []byte(host),
		Address: newAddress(key, protocol, host, in.Port, path),
		Dropped: dropped,
	}, nil
}

// writeURL gives the text of a URL, as Dubbo writes it, and the keys of the
// parameters that it had to leave out.
func writeURL(protocol, host string, port int, path string, params []param) (text string, dropped []string) {
	size := len(protocol) + len(host) + len(path) + len("://[]:65535/")
	for _, p := range params {
		size += len(p.key) + len(p.value) + len("?=")
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(protocol)
	b.WriteString("://")
	b.WriteString(hostPort(host, port))
	b.WriteByte('/')
	b.WriteString(path)
	separator := byte('?')
	for _, p := range params {
		if !fitsURL(p) {
			dropped = append(dropped, p.key)
			continue
		}
		b.WriteByte(separator)
		b.WriteString(p.key)
		b.WriteByte('=')
		b.WriteString(p.value)
		separator = '&'
	}
	return b.String(), dropped
}

// fitsURL tells whether a parameter survives being written and read. Dubbo's
// URLs escape nothing inside: separators end a value, and what looks escaped
// already would be taken for the trace of over-encoding.
func fitsURL(p param) bool {
	return p.key != "" && !strings.ContainsAny(p.key, "&;=") && !strings.ContainsAny(p.value, "&;") &&
		!strings.Contains(p.key, "%25") && !strings.Contains(p.value, "%25") && utf8.ValidString(p.key) && utf8.ValidString(p.value)
}

// newAddress gives the identity of a provider, the same from either side.
func newAddress(key serviceKey, protocol, host string, port int, path string) Address {
	if path == "" {
		path = key.iface
	}
	return Address{Service: key.String(), Protocol: protocol, Host: canonicalHost(host), Port: port, Path: path}
}
