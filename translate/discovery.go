package translate

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"zkbridge/registryclient"
)

// family is whose x-discovery records a layout reads and writes.
type family byte

const (
	familyDubbo   family = FlagDubbo
	familySpring  family = FlagSpring
	familyCurator family = FlagCurator
)

// Discovery is a layout of service instances kept by Curator's x-discovery:
// <root>/<service>/<id>, with the instance as JSON. In the registry the service
// has the application's name and the instance the metadata that the family's
// natives write. It is immutable and safe for concurrent use.
type Discovery struct {
	family  family
	cluster string
}

var _ Layout = (*Discovery)(nil)

// NewDubboApp gives the layout of Dubbo's application-level discovery, for
// Dubbo Java and dubbo-go.
func NewDubboApp(clusterID string) *Discovery { return &Discovery{familyDubbo, clusterID} }

// NewCurator gives the layout of applications that use x-discovery themselves.
// No native convention exists for them; the payload is published as its JSON.
func NewCurator(clusterID string) *Discovery { return &Discovery{familyCurator, clusterID} }

// NewSpringCloud gives the layout of Spring Cloud Zookeeper; its natives are
// Spring Cloud Alibaba's.
func NewSpringCloud(clusterID string) *Discovery { return &Discovery{familySpring, clusterID} }

// Name is "dubbo-app", "curator" or "springcloud".
func (d *Discovery) Name() string {
	switch d.family {
	case familyDubbo:
		return "dubbo-app"
	case familySpring:
		return "springcloud"
	}
	return "curator"
}

// Keys of our own beside the marker: what the family's natives do not keep. None
// ends in "pid" or "timestamp" (see MarkerKey).
const (
	ownPrefix  = MarkerKey + "."
	keyTime    = ownPrefix + "t"       // registrationTimeUTC
	keyID      = ownPrefix + "id"      // the node's name, where it does not follow from the rest
	keyRef     = ownPrefix + "ref"     // the payload's id, where it is not the usual one
	keyPort    = ownPrefix + "port"    // the port without TLS, beside the one that is published; 0: none
	keySSLPort = ownPrefix + "ssl"     // the TLS port, where it is not the published one
	keyPayload = ownPrefix + "payload" // a payload of the application's own class
)

// Keys that natives know.
const (
	keyRevision   = "dubbo.metadata.revision"
	keyTimestamp  = "timestamp"
	keyStatus     = "instance_status" // Spring Cloud Zookeeper
	statusUp      = "UP"
	keySource     = "preserved.register.source" // Spring Cloud Alibaba
	sourceSpring  = "SPRING_CLOUD"
	keySecure     = "secure"
	dubboPrefix   = "dubbo."
	maxInstanceID = 512
)

// otherNames are beginnings of the registry's names that no application has:
// categories of Dubbo's interface level.
var otherNames = []string{providers + ":", consumers + ":", configurators + ":", routers + ":", "grpc:"}

// Wants implements Layout. Every name that is none of Dubbo's interface level is
// an application's; which family an instance under it belongs to is told by
// the instance, see AmongInstance.
func (d *Discovery) Wants(serviceName string) bool {
	for _, other := range otherNames {
		if strings.HasPrefix(serviceName, other) {
			return false
		}
	}
	return d.validService(serviceName)
}

// validService tells whether s can be both a service of the registry and a
// directory. Spring allows slashes in an application's name.
func (d *Discovery) validService(s string) bool {
	if s == "" || len(s) > maxInstanceID || !utf8.ValidString(s) || s[0] == '@' || strings.Contains(s, "@@") {
		return false
	}
	first, _, nested := strings.Cut(s, "/")
	if reserved[first] != "" || nested && d.family != familySpring {
		return false
	}
	for segment := range strings.SplitSeq(s, "/") {
		if !validSegment(segment) {
			return false
		}
	}
	return true
}

// validSegment tells whether s can be a node's name that nobody takes for
// something else.
func validSegment(s string) bool {
	return s != "" && s != "." && s != ".." && !isCategory(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r == '/' || unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError || 0xd800 <= r && r <= 0xf8ff || 0xfff0 <= r && r <= 0xffff
	})
}

// Classify implements Layout. A directory of instances is the bound directory of
// its service. An instance of Dubbo is named by host and port. Below a nested
// name of Spring's a UUID is an instance and anything else a directory.
func (d *Discovery) Classify(rel string) Place {
	if rel == "" {
		return Place{Kind: KindRoot}
	}
	first, _, _ := strings.Cut(rel, "/")
	if what, ok := reserved[first]; ok {
		return documentPlace(rel, what)
	}
	dir, name := rel, ""
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		dir, name = rel[:i], rel[i+1:]
	}
	switch {
	case name == "" && d.validService(rel):
		return Place{Kind: KindBoundDir, Service: rel, Dir: rel}
	case name == "" || !d.validService(dir) || !validSegment(name):
		return Place{Why: "not a service or an instance"}
	case d.family == familyDubbo:
		if _, _, ok := cutPort(name); !ok {
			return documentPlace(rel, "not an instance's host and port")
		}
	case strings.IndexByte(dir, '/') >= 0 && !isUUID(name):
		return Place{Kind: KindBoundDir, Service: rel, Dir: rel}
	}
	return Place{Kind: KindAddress, Service: dir, Dir: dir, Name: name}
}

// Recognizes tells whether the data of a node that Classify calls an address are
// those of this family: whether its readers can read them.
func (d *Discovery) Recognizes(_ string, data []byte) bool {
	r, bad := parseRecord(data)
	return bad == nil && familyOf(r.payload.class) == d.family
}

func familyOf(class string) family {
	switch class {
	case classDubbo:
		return familyDubbo
	case classSpring:
		return familySpring
	}
	return familyCurator
}

// FromZnode implements Layout.
//
//   - Dubbo: the metadata of the payload.
//   - Spring: the same, with preserved.register.source as Spring Cloud Alibaba
//     writes it; a TLS port is the port, with secure=true; a status other than UP
//     disables the instance.
//   - Curator: nothing but the payload's JSON under a key of our own.
func (d *Discovery) FromZnode(rel string, data []byte) (Entry, error) {
	p := d.Classify(rel)
	if p.Kind != KindAddress {
		return Entry{}, refuse(ReasonNotProvider, "not an instance's path: %s", p.Kind)
	}
	if !d.Wants(p.Service) {
		return Entry{}, refuse(ReasonService, "the registry keeps no application under %q", shorten(p.Service))
	}
	r, bad := parseRecord(data)
	if bad != nil {
		return Entry{}, bad
	}
	if f := familyOf(r.payload.class); f != d.family {
		return Entry{}, refuse(ReasonFamily, "its payload is of the class %q, which readers of the layout %s cannot read", shorten(r.payload.class), d.Name())
	}
	host := strings.TrimSuffix(strings.TrimPrefix(r.address, "["), "]")
	if bad := checkHost(host); bad != nil {
		return Entry{}, bad
	}
	port := r.port
	if port == 0 || d.family == familySpring && r.sslPort != 0 {
		port = r.sslPort
	}
	if !validPort(port) {
		return Entry{}, refuse(ReasonPort, "%d is not a port between 1 and 65535", port)
	}
	metadata := r.payload.metadata
	if d.family == familyCurator || metadata == nil {
		metadata = make(map[string]string, 4)
	}
	for k := range metadata {
		if isOwn(k) {
			delete(metadata, k)
		}
	}
	e := Entry{
		Service: p.Service,
		Address: Address{Service: p.Service, Host: canonicalHost(host), Port: port},
		Instance: registryclient.Instance{
			IP: host, Port: port, Cluster: defaultCluster, Weight: 1, Enabled: r.enabled == nil || *r.enabled, Healthy: true, Metadata: metadata,
		},
	}
	if d.family == familySpring {
		if s, ok := metadata[keyStatus]; ok && s != statusUp {
			e.Instance.Enabled = false
		}
		metadata[keySource] = sourceSpring
		if r.sslPort != 0 {
			metadata[keySecure] = "true"
		}
	}
	d.mark(&e, p, &r, data)
	return e, nil
}

// mark writes what is needed to make the node again, and whether that succeeds.
func (d *Discovery) mark(e *Entry, p Place, r *record, data []byte) {
	metadata := e.Instance.Metadata
	keep := func(key, value string, usual bool) {
		if !usual {
			metadata[key] = value
		}
	}
	keep(keyTime, r.time, r.goStyle || !isTime(r.time))
	keep(keyID, p.Name, d.family == familyDubbo && p.Name == dubboID(e.Instance.IP, e.Instance.Port))
	keep(keyRef, r.payload.id, d.family == familyCurator || r.payload.id == d.usualRef(p.Service, p.Name))
	keep(keyPort, strconv.Itoa(r.port), r.port == e.Instance.Port)
	keep(keySSLPort, strconv.Itoa(r.sslPort), r.sslPort == 0 || d.family == familySpring || r.sslPort == e.Instance.Port && r.port == 0)
	if d.family == familyCurator {
		keep(keyPayload, r.payload.raw, r.payload.raw == null || r.payload.raw == "")
	}
	flags := []byte{byte(d.family), FlagJava}
	if r.goStyle {
		flags[1] = FlagGo
	}
	if r.enabled != nil {
		flags = append(flags, FlagEnabled)
	}
	if r.kind == typeStatic {
		flags = append(flags, FlagPersistent)
	}
	if !r.goStyle && (r.uriSpec == null) != (d.family == familyDubbo) {
		flags = append(flags, FlagURISpec)
	}
	m := Marker{Flags: string(flags), Cluster: d.cluster, Fingerprint: Fingerprint(p.Name)}
	metadata[MarkerKey] = m.String()
	if z, err := d.ToZnode(e.Service, e.Instance); err == nil && z.Dir == p.Dir && z.Name == p.Name && bytes.Equal(z.Data, data) {
		e.Exact = true
		return
	}
	m.Flags += string(rune(FlagStored))
	metadata[MarkerKey] = m.String()
}

// ToZnode implements Layout. What natives do not tell is made up: the id of a
// Spring or Curator instance is a UUID that follows from service, ip and port,
// the time of registration is the metadata's timestamp, else 0.
//
// An instance of another family is refused with ReasonFamily.
func (d *Discovery) ToZnode(service string, in registryclient.Instance) (Znode, error) {
	if !d.Wants(service) {
		return Znode{}, refuse(ReasonService, "%q is not the name of an application", shorten(service))
	}
	m, marked := ParseMarker(in.Metadata)
	if !d.takes(in) {
		return Znode{}, refuse(ReasonFamily, "the instance is not one of the layout %s", d.Name())
	}
	marked = marked && m.Has(byte(d.family))
	status, told := in.Metadata[keyStatus]
	down := marked && (told && status != statusUp && d.family == familySpring || m.Has(FlagEnabled)) // it says itself that it is not in service
	if !in.Enabled && !down || !(in.Weight > 0) || !in.Healthy && d.family == familySpring {
		return Znode{}, refuse(ReasonDisabled, "the instance is disabled, unhealthy or has weight 0")
	}
	host := strings.TrimSuffix(strings.TrimPrefix(in.IP, "["), "]")
	if bad := checkHost(host); bad != nil {
		return Znode{}, bad
	}
	if !validPort(in.Port) {
		return Znode{}, refuse(ReasonPort, "%d is not a port between 1 and 65535", in.Port)
	}
	r := record{name: service, address: host, port: in.Port, kind: typeDynamic, time: in.Metadata[keyTime], goStyle: marked && m.Has(FlagGo)}
	if marked && m.Has(FlagPersistent) {
		r.kind = typeStatic
	}
	if !isTime(r.time) {
		if r.time = in.Metadata[keyTimestamp]; !isTime(r.time) {
			r.time = "0"
		}
	}
	r.uriSpec = defaultURISpec
	if (d.family == familyDubbo) != (marked && m.Has(FlagURISpec)) {
		r.uriSpec = null
	}
	if marked && m.Has(FlagEnabled) {
		enabled := in.Enabled && (!told || d.family != familySpring || status == statusUp)
		r.enabled = &enabled
	}
	d.ports(&r, in)
	r.id = in.Metadata[keyID]
	if !validSegment(r.id) || len(r.id) > maxInstanceID {
		r.id = d.usualID(service, host, in.Port)
	}
	d.fill(&r, service, in.Metadata, marked)
	z := Znode{
		Dir: service, Name: r.id, Data: r.write(),
		Address: Address{Service: service, Host: canonicalHost(host), Port: in.Port},
	}
	if p := d.Classify(z.Dir + "/" + z.Name); p.Kind != KindAddress || p.Dir != z.Dir {
		return Znode{}, refuse(ReasonName, "%q cannot name an instance of the layout %s", shorten(z.Name), d.Name())
	}
	return z, nil
}

// ports sets the record's ports: natives know one.
func (d *Discovery) ports(r *record, in registryclient.Instance) {
	if d.family == familySpring && in.Metadata[keySecure] == "true" {
		r.sslPort = in.Port
	}
	if n, err := strconv.Atoi(in.Metadata[keyPort]); err == nil && (n == 0 || validPort(n) && d.family == familySpring) {
		r.port, r.sslPort = n, in.Port
	}
	if n, err := strconv.Atoi(in.Metadata[keySSLPort]); err == nil && validPort(n) && d.family != familySpring && r.port != 0 {
		r.sslPort = n
	}
}

// fill sets the record's payload.
func (d *Discovery) fill(r *record, service string, metadata map[string]string, marked bool) {
	p := &r.payload
	if d.family == familyCurator {
		p.raw = null
		if raw := metadata[keyPayload]; isJSON(raw) && familyOf(classOf(raw)) == familyCurator {
			p.raw = raw
		}
		return
	}
	p.class, p.name = classDubbo, service
	if d.family == familySpring {
		p.class = classSpring
	}
	p.id = d.usualRef(service, r.id)
	if ref, ok := metadata[keyRef]; ok && utf8.ValidString(ref) {
		p.id = ref
	}
	p.metadata = make(map[string]string, len(metadata)+1)
	for k, v := range metadata {
		if utf8.ValidString(k) && utf8.ValidString(v) && !isOwn(k) {
			p.metadata[k] = v
		}
	}
	if d.family != familySpring {
		return
	}
	delete(p.metadata, keySource) // what FromZnode adds
	if r.sslPort != 0 {
		delete(p.metadata, keySecure)
	}
	if !marked && p.metadata[keyStatus] != statusUp { // natives are disabled by other means
		p.metadata[keyStatus] = statusUp
	}
}

func classOf(raw string) string {
	r, _ := parseRecord([]byte(`{"name":"","id":"","payload":` + raw + `}`))
	return r.payload.class
}

// takes tells whether an instance belongs to the family. A bridge's marker says
// so; else an instance with Dubbo's metadata is Dubbo's (its consumers pass
// others over), one that Spring Cloud Alibaba registered is Spring's, and
// any other may be read by Spring and Curator.
func (d *Discovery) takes(in registryclient.Instance) bool {
	f := nativeFamily(in.Metadata)
	return f == d.family || f == 0 && d.family != familyDubbo
}

// nativeFamily gives the family of an instance found in the registry, 0 if
// nothing tells.
func nativeFamily(metadata map[string]string) family {
	if m, ok := ParseMarker(metadata); ok {
		for _, f := range [...]family{familyDubbo, familySpring, familyCurator} {
			if m.Has(byte(f)) {
				return f
			}
		}
	}
	for k := range metadata {
		if strings.HasPrefix(k, dubboPrefix) {
			return familyDubbo
		}
	}
	if metadata[keySource] == sourceSpring {
		return familySpring
	}
	return 0
}

// usualID gives the node's name where nothing tells another.
func (d *Discovery) usualID(service, host string, port int) string {
	if d.family == familyDubbo {
		return dubboID(host, port)
	}
	sum := sha256.Sum256([]byte(service + "\x00" + hostPort(canonicalHost(host), port)))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8: made from a digest
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func dubboID(host string, port int) string { return host + ":" + strconv.Itoa(port) }

// usualRef gives the payload's id: Dubbo repeats the node's name, Spring writes
// its context's id, which is the application's name.
func (d *Discovery) usualRef(service, id string) string {
	if d.family == familySpring {
		return service
	}
	return id
}

func isOwn(key string) bool { return key == MarkerKey || strings.HasPrefix(key, ownPrefix) }

// isTime tells whether s is a time in ms as it stands in JSON.
func isTime(s string) bool {
	return s != "" && len(s) < 19 && strings.Trim(s, "0123456789") == "" && (s[0] != '0' || s == "0")
}

// cutPort takes "host:port" apart.
func cutPort(name string) (host string, port int, ok bool) {
	i := strings.LastIndexByte(name, ':')
	if i < 1 {
		return "", 0, false
	}
	port, err := strconv.Atoi(name[i+1:])
	return name[:i], port, err == nil && validPort(port) && name[i+1] != '+'
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch dash := i == 8 || i == 13 || i == 18 || i == 23; {
		case dash && s[i] != '-', !dash && unhex(s[i]) > 15:
			return false
		}
	}
	return true
}
