package translate_test

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/registryclient"
	"zkbridge/translate"
)

// name escapes a URL as Java's encoder does, for URLs without "*" and "~".
func name(u string) string { return url.QueryEscape(u) }

func native(ip string, port int, metadata map[string]string) registryclient.Instance {
	return registryclient.Instance{IP: ip, Port: port, Cluster: "DEFAULT", Weight: 1, Enabled: true, Healthy: true, Metadata: metadata}
}

func publish(t *testing.T, dir, u string) translate.Entry {
	t.Helper()
	e, err := translate.NewDubbo("a7").FromZnode(dir+"/providers/"+name(u), nil)
	require.NoError(t, err)
	return e
}

func show(t *testing.T, service string, in registryclient.Instance) translate.Znode {
	t.Helper()
	z, err := translate.NewDubbo("a7").ToZnode(service, in)
	require.NoError(t, err)
	return z
}

const javaProvider = "dubbo%3A%2F%2F10.0.3.17%3A20880%2Fcom.acme.order.OrderService%3Fapplication%3Dorder-svc%26deprecated%3Dfalse%26dubbo%3D2.0.2%26dynamic%3Dtrue%26generic%3Dfalse%26group%3Dblue%26interface%3Dcom.acme.order.OrderService%26methods%3Dcreate%2Cquery%26prefer.serialization%3Dfastjson2%2Chessian2%26release%3D3.2.16%26service-name-mapping%3Dtrue%26side%3Dprovider%26timestamp%3D1729750000123%26version%3D1.2.0%26weight%3D80"

// A provider of Dubbo 3.2 in Java: the instance has the fields and metadata of a
// native one, 322 characters of them, and the marker. P4: the marker must not
// eat the budget of 1024 characters, so the name itself is never among them.
func TestJavaProviderP4Budget(t *testing.T) {
	rel := "com.acme.order.OrderService/providers/" + javaProvider
	e, err := translate.NewDubbo("a7").FromZnode(rel, []byte("10.0.3.17"))
	require.NoError(t, err)
	require.Equal(t, translate.Entry{
		Service: "providers:com.acme.order.OrderService:1.2.0:blue",
		Address: translate.Address{Service: "com.acme.order.OrderService:1.2.0:blue", Protocol: "dubbo", Host: "10.0.3.17", Port: 20880, Path: "com.acme.order.OrderService"},
		Instance: native("10.0.3.17", 20880, map[string]string{
			"application": "order-svc", "deprecated": "false", "dubbo": "2.0.2", "dynamic": "true", "generic": "false", "group": "blue",
			"interface": "com.acme.order.OrderService", "methods": "create,query", "prefer.serialization": "fastjson2,hessian2", "release": "3.2.16",
			"service-name-mapping": "true", "side": "provider", "timestamp": "1729750000123", "version": "1.2.0", "weight": "80",
			"category": "providers", "protocol": "dubbo", "path": "com.acme.order.OrderService",
			"zkb": "1.j.a7.cc91c0106e60",
		}),
		Exact: true,
	}, e)
	total := 0
	for k, v := range e.Instance.Metadata {
		total += len(k) + len(v)
	}
	require.Equal(t, 322+len("zkb")+len("1.j.a7.cc91c0106e60"), total)

	z := show(t, e.Service, e.Instance)
	require.Equal(t, rel, z.Dir+"/"+z.Name)
	require.Equal(t, "10.0.3.17", string(z.Data))
}

// A provider registered by Dubbo 3.3 in the registry itself.
func TestJavaNative(t *testing.T) {
	z := show(t, "providers:com.acme.pay.PayService::", native("10.0.9.4", 20881, map[string]string{
		"application": "pay-svc", "category": "providers", "deprecated": "false", "dubbo": "2.0.2", "dynamic": "true", "generic": "false",
		"interface": "com.acme.pay.PayService", "methods": "pay", "path": "com.acme.pay.PayService", "protocol": "dubbo", "release": "3.3.1",
		"side": "provider", "timestamp": "1730000000000",
	}))
	require.Equal(t, translate.Znode{
		Dir:     "com.acme.pay.PayService/providers",
		Name:    "dubbo%3A%2F%2F10.0.9.4%3A20881%2Fcom.acme.pay.PayService%3Fapplication%3Dpay-svc%26deprecated%3Dfalse%26dubbo%3D2.0.2%26dynamic%3Dtrue%26generic%3Dfalse%26interface%3Dcom.acme.pay.PayService%26methods%3Dpay%26release%3D3.3.1%26side%3Dprovider%26timestamp%3D1730000000000",
		Data:    []byte("10.0.9.4"),
		Address: translate.Address{Service: "com.acme.pay.PayService::", Protocol: "dubbo", Host: "10.0.9.4", Port: 20881, Path: "com.acme.pay.PayService"},
	}, z)
}

func TestDubboGoProvider(t *testing.T) {
	const rel = "com.acme.stock.StockService/providers/tri%3A%2F%2F10.0.8.8%3A20000%2Fcom.acme.stock.StockService%3Fanyhost%3Dtrue%26application%3Dstock-go%26bean.name%3DStockProvider%26interface%3Dcom.acme.stock.StockService%26methods%3DGet%2CPut%26registry.role%3D3%26release%3Ddubbo-golang-3.3.1%26side%3Dprovider%26timestamp%3D1730000100%26version%3D1.0.0"
	e, err := translate.NewDubbo("a7").FromZnode(rel, nil)
	require.NoError(t, err)
	require.True(t, e.Exact)
	require.Equal(t, "providers:com.acme.stock.StockService:1.0.0:", e.Service)
	m, ok := translate.ParseMarker(e.Instance.Metadata)
	require.True(t, ok)
	require.Equal(t, "g", m.Flags)

	// Characters that Java and Go escape differently, each way.
	for escape, flags := range map[string]string{"%2A~": "g", "*%7E": "j"} {
		rel := "I/providers/tri%3A%2F%2Fh%3A1%2FI%3Fcheck%3D" + escape
		e, err := translate.NewDubbo("a7").FromZnode(rel, nil)
		require.NoError(t, err)
		require.True(t, e.Exact)
		require.Equal(t, "*~", e.Instance.Metadata["check"])
		m, _ := translate.ParseMarker(e.Instance.Metadata)
		require.Equal(t, flags, m.Flags)
		z := show(t, e.Service, e.Instance)
		require.Equal(t, rel, z.Dir+"/"+z.Name)
	}
}

// dubbo-go's natives have a leading slash in their path; the same provider seen
// from ZooKeeper is the same address.
func TestDubboGoNative(t *testing.T) {
	z := show(t, "providers:com.acme.Foo:1.0.0:", native("10.0.8.8", 20000, map[string]string{
		"category": "providers", "interface": "com.acme.Foo", "methods": "", "path": "/com.acme.Foo", "protocol": "tri", "release": "dubbo-golang-3.3.1", "version": "1.0.0",
	}))
	require.Equal(t, name("tri://10.0.8.8:20000/com.acme.Foo?interface=com.acme.Foo&methods=&release=dubbo-golang-3.3.1&version=1.0.0"), z.Name)
	e := publish(t, "com.acme.Foo", "tri://10.0.8.8:20000/com.acme.Foo?anyhost=true&interface=com.acme.Foo&version=1.0.0")
	require.Equal(t, e.Address, z.Address)
}

// What is missing in the metadata is what Dubbo's own readers assume, or what
// the service name says.
func TestSparseNatives(t *testing.T) {
	tests := []struct {
		name, service string
		metadata      map[string]string
		dir, url      string
		address       string
	}{
		{"nothing", "providers:com.acme.Foo::", nil, "com.acme.Foo", "dubbo://10.0.0.1:1/com.acme.Foo", "com.acme.Foo::"},
		{"version and group", "providers:com.acme.Foo:1.0:blue", nil, "com.acme.Foo", "dubbo://10.0.0.1:1/com.acme.Foo?group=blue&version=1.0", "com.acme.Foo:1.0:blue"},
		{"simplified", "providers:com.acme.Foo::", map[string]string{"path": "com.acme.Foo", "protocol": "tri"}, "com.acme.Foo", "tri://10.0.0.1:1/com.acme.Foo", "com.acme.Foo::"},
		{"path of its own", "providers:com.acme.Foo::", map[string]string{"path": "ctx/foo"}, "com.acme.Foo", "dubbo://10.0.0.1:1/ctx/foo?interface=com.acme.Foo", "com.acme.Foo::"},
		{"inner class by its path", "providers:com.acme.A___B::", map[string]string{"path": "com.acme.A___B"}, "com.acme.A___B", "dubbo://10.0.0.1:1/com.acme.A___B", "com.acme.A___B::"},
		{"inner class by its name", "providers:com.acme.A___B::", nil, "com.acme.A%24B", "dubbo://10.0.0.1:1/com.acme.A$B", "com.acme.A$B::"},
		{"legacy", "providers:com.acme.Foo", map[string]string{"interface": "com.acme.Foo"}, "com.acme.Foo", "dubbo://10.0.0.1:1/com.acme.Foo?interface=com.acme.Foo", "com.acme.Foo::"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			z := show(t, tt.service, native("10.0.0.1", 1, tt.metadata))
			require.Equal(t, tt.dir+"/providers", z.Dir)
			require.Equal(t, name(tt.url), z.Name)
			require.Equal(t, tt.address, z.Address.Service)
			// What it shows reads back as the same provider.
			e, err := translate.NewDubbo("a7").FromZnode(z.Dir+"/"+z.Name, z.Data)
			require.NoError(t, err)
			require.True(t, e.Exact)
			require.Equal(t, z.Address, e.Address)
		})
	}
}

// P51: names without trailing blanks, written by Dubbo 2.6 and 2.7.1, are read
// and never published under. The metadata say whether one part is a version or
// a group.
func TestP51LegacyNamesAreReadOnly(t *testing.T) {
	d := translate.NewDubbo("a7")
	for _, s := range []string{"providers:com.acme.Foo", "providers:com.acme.Foo:1.0", "providers:com.acme.Foo:blue"} {
		require.True(t, d.Wants(s))
	}
	key := func(service string, metadata map[string]string) string {
		return show(t, service, native("10.0.0.1", 1, metadata)).Address.Service
	}
	require.Equal(t, "com.acme.Foo:1.0:", key("providers:com.acme.Foo:1.0", map[string]string{"version": "1.0"}))
	require.Equal(t, "com.acme.Foo::blue", key("providers:com.acme.Foo:blue", map[string]string{"group": "blue"}))
	require.Equal(t, "com.acme.Foo:1.0:", key("providers:com.acme.Foo:1.0", nil))
	_, err := d.ToZnode("providers:com.acme.Foo:1.0", native("10.0.0.1", 1, map[string]string{"version": "1.0", "group": "blue"}))
	require.Error(t, err)

	require.Equal(t, "providers:com.acme.Foo::", publish(t, "com.acme.Foo", "dubbo://10.0.0.1:1/com.acme.Foo").Service)
	// An application that registers under both names is one provider.
	both := map[string]string{"interface": "com.acme.Foo"}
	require.Equal(t, key("providers:com.acme.Foo", both), key("providers:com.acme.Foo::", both))
}

// Field report 26: colons stay where version or group are missing, and one
// directory holds the providers of several services.
func TestReport26TrailingColons(t *testing.T) {
	for params, want := range map[string]string{
		"":                       "providers:com.acme.Foo::",
		"&version=1.0.0":         "providers:com.acme.Foo:1.0.0:",
		"&version=1.0.0&group=g": "providers:com.acme.Foo:1.0.0:g",
		"&group=g":               "providers:com.acme.Foo::g",
		"&group=&version=":       "providers:com.acme.Foo::",
	} {
		e := publish(t, "com.acme.Foo", "dubbo://10.0.0.1:20880/com.acme.Foo?interface=com.acme.Foo"+params)
		require.Equal(t, want, e.Service)
		z := show(t, e.Service, e.Instance)
		require.Equal(t, "com.acme.Foo/providers", z.Dir)
	}
}

// P50 and field report 25: "$" is "___" in service names, as Dubbo writes it;
// what comes back is told by the metadata, so that a real "___" stays one.
func TestP50InnerClasses(t *testing.T) {
	inner := publish(t, "com.acme.Outer%24Inner", "dubbo://10.0.0.1:1/com.acme.Outer$Inner?interface=com.acme.Outer$Inner&version=1.0.0")
	require.True(t, inner.Exact)
	require.Equal(t, "providers:com.acme.Outer___Inner:1.0.0:", inner.Service)
	require.Equal(t, "com.acme.Outer$Inner:1.0.0:", inner.Address.Service)
	require.Equal(t, "com.acme.Outer%24Inner/providers", show(t, inner.Service, inner.Instance).Dir)

	real := publish(t, "com.acme.Outer___Inner", "dubbo://10.0.0.1:1/com.acme.Outer___Inner?interface=com.acme.Outer___Inner&version=1.0.0")
	require.True(t, real.Exact)
	require.NotEqual(t, inner.Address, real.Address)
	require.Equal(t, "com.acme.Outer___Inner/providers", show(t, real.Service, real.Instance).Dir)

	dotted := publish(t, "com.acme.Outer.Inner", "dubbo://10.0.0.1:1/com.acme.Outer.Inner?interface=com.acme.Outer.Inner&version=1.0.0")
	require.NotEqual(t, inner.Service, dotted.Service)

	// A directory with a raw "$" is the same service, but not the directory that
	// would be made for it.
	raw := publish(t, "com.acme.Outer$Inner", "dubbo://10.0.0.1:1/com.acme.Outer$Inner?interface=com.acme.Outer$Inner&version=1.0.0")
	require.False(t, raw.Exact)
	require.Equal(t, inner.Address, raw.Address)

	// Other characters are the registry's own business, but for those that would
	// make the name mean something else.
	chinese := publish(t, "com.acme.Foo", "dubbo://10.0.0.1:1/com.acme.Foo?group=蓝")
	require.Equal(t, "providers:com.acme.Foo::蓝", chinese.Service)
	for _, params := range []string{"group=*", "version=*", "group=a:b", "version=1:0"} {
		requireRefusal(t, translate.NewDubbo("a7"), "com.acme.Foo/providers/"+name("dubbo://10.0.0.1:1/com.acme.Foo?"+params), translate.ReasonServiceKey)
	}
}

// Field report 22: every spelling of a host, and what of it reaches the registry.
func TestReport22Hosts(t *testing.T) {
	tests := []struct {
		name, authority string
		ip              string
		port            int
		refused         translate.Reason
	}{
		{"IPv4", "10.0.0.1:20880", "10.0.0.1", 20880, ""},
		{"host name", "node-1.example.com:20880", "node-1.example.com", 20880, ""},
		{"IPv6", "[2001:db8::1]:20880", "2001:db8::1", 20880, ""},
		{"IPv6 with zone", "[fe80::1%en0]:20880", "", 0, translate.ReasonZone},
		{"IPv6 with zone, no brackets", "fe80::1%en0", "", 0, translate.ReasonZone},
		{"IPv6, neither brackets nor port", "2001:db8::1", "", 0, translate.ReasonPort},
		{"missing port", "10.0.0.1", "", 0, translate.ReasonPort},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := "dubbo://" + tt.authority + "/com.acme.Foo?interface=com.acme.Foo"
			if tt.refused != "" {
				requireRefusal(t, translate.NewDubbo("a7"), "com.acme.Foo/providers/"+name(u), tt.refused)
				return
			}
			e := publish(t, "com.acme.Foo", u)
			require.True(t, e.Exact)
			require.Equal(t, tt.ip, e.Instance.IP)
			require.Equal(t, tt.port, e.Instance.Port)
		})
	}
	// From the registry, an IPv6 address gets brackets in the URL.
	z := show(t, "providers:com.acme.Foo::", native("2001:db8::1", 20880, nil))
	require.Equal(t, name("dubbo://[2001:db8::1]:20880/com.acme.Foo"), z.Name)
	require.Equal(t, "2001:db8::1", string(z.Data))
	// Spellings do not make two providers of one.
	long := publish(t, "com.acme.Foo", "dubbo://2001:DB8:0:0:0:0:0:1:20880/com.acme.Foo")
	require.Equal(t, z.Address, long.Address)
	require.False(t, long.Exact)
}

// P1: a client deletes the bytes that it created. Whatever its spelling, a name
// is the same provider as its canonical form and is said not to be exact, so
// that nobody deletes or lists a rebuilt one in its place.
func TestP1OddSpellingsAreNotExact(t *testing.T) {
	const good = "dubbo%3A%2F%2F10.0.0.1%3A20880%2Fcom.acme.Foo%3Fa%3D1%26interface%3Dcom.acme.Foo"
	d := translate.NewDubbo("a7")
	want, err := d.FromZnode("com.acme.Foo/providers/"+good, nil)
	require.NoError(t, err)
	require.True(t, want.Exact)
	tests := map[string]string{
		"P44: lower-case hex": strings.ReplaceAll(good, "%3A", "%3a"),
		"P44: unescaped":      strings.ReplaceAll(good, "%26", "&"),
		"order":               "dubbo%3A%2F%2F10.0.0.1%3A20880%2Fcom.acme.Foo%3Finterface%3Dcom.acme.Foo%26a%3D1",
		"duplicate key":       good + "%26interface%3Dcom.acme.Foo",
		"duplicate in order":  strings.Replace(good, "a%3D1", "a%3D0%26a%3D1", 1),
		"semicolon":           strings.Replace(good, "%26", "%3B", 1),
		"empty parameter":     strings.Replace(good, "%26", "%26%26", 1),
		"trailing separator":  good + "%26",
		"word for a pair":     strings.Replace(good, "a%3D1", "1", 1),
		"user":                strings.Replace(good, "10.0.0.1", "u%3Ap%4010.0.0.1", 1),
		"second slash":        strings.Replace(good, "%2Fcom", "%2F%2Fcom", 1),
		"port with a zero":    strings.Replace(good, "20880", "020880", 1),
		"category":            strings.Replace(good, "a%3D1", "a%3D1%26category%3Dproviders", 1),
		"path parameter":      good + "%26path%3Dx",
		"protocol parameter":  good + "%26protocol%3Dtri",
		"marker parameter":    good + "%26zkb%3D1.j.b2.000000000000",
	}
	for what, n := range tests {
		t.Run(what, func(t *testing.T) {
			e, err := d.FromZnode("com.acme.Foo/providers/"+n, nil)
			require.NoError(t, err)
			require.False(t, e.Exact)
			require.Equal(t, want.Address, e.Address)
			require.Equal(t, "dubbo", e.Instance.Metadata["protocol"])
			require.NotContains(t, e.Instance.Metadata, "u")
			m, ok := translate.ParseMarker(e.Instance.Metadata)
			require.True(t, ok)
			require.Equal(t, translate.Marker{Flags: "jx", Cluster: "a7", Fingerprint: translate.Fingerprint(n)}, m)
		})
	}
}

// P2: several providers of one interface behind one address and port differ in
// version, group, protocol or path, and each is an address of its own.
func TestP2SiblingsOnOnePort(t *testing.T) {
	seen := map[translate.Address]string{}
	for _, u := range []string{
		"dubbo://10.0.0.1:20880/com.acme.Foo?interface=com.acme.Foo",
		"tri://10.0.0.1:20880/com.acme.Foo?interface=com.acme.Foo",
		"dubbo://10.0.0.1:20880/com.acme.Foo?interface=com.acme.Foo&version=1.0.0",
		"dubbo://10.0.0.1:20880/com.acme.Foo?group=g&interface=com.acme.Foo&version=1.0.0",
		"dubbo://10.0.0.1:20880/com.acme.Foo?group=1.0.0&interface=com.acme.Foo",
		"dubbo://10.0.0.1:20880/com.acme.Foo2?interface=com.acme.Foo",
		"dubbo://10.0.0.1:20881/com.acme.Foo?interface=com.acme.Foo",
	} {
		e := publish(t, "com.acme.Foo", u)
		require.NotContains(t, seen, e.Address, u)
		seen[e.Address] = u
	}
	// Restarts, weights and the like do not make a new address.
	e := publish(t, "com.acme.Foo", "dubbo://10.0.0.1:20880/com.acme.Foo?interface=com.acme.Foo&timestamp=2&weight=50")
	require.Contains(t, seen, e.Address)
}

// P22: when a native's metadata change, its name changes in the same directory
// and its address does not, so that the names can be swapped in one event.
func TestP22ChangedMetadataSwapOneName(t *testing.T) {
	metadata := map[string]string{"interface": "com.acme.Foo", "weight": "100"}
	before := show(t, "providers:com.acme.Foo::", native("10.0.0.1", 1, metadata))
	metadata["weight"] = "50"
	after := show(t, "providers:com.acme.Foo::", native("10.0.0.1", 1, metadata))
	require.NotEqual(t, before.Name, after.Name)
	require.Equal(t, before.Dir, after.Dir)
	require.Equal(t, before.Address, after.Address)
}

// P44: names are made for readers that search for upper-case escapes and cut
// parameters named like timestamp and pid; the marker is none of these and is
// not part of a name.
func TestP44SynthesisedNames(t *testing.T) {
	z := show(t, "providers:com.acme.Foo::", native("10.0.0.1", 1, map[string]string{
		"z": "/:?=,é", "a": "b", "zkb": "1.j.b2.cc91c0106e60", "category": "providers", "timestamp": "1",
	}))
	require.Equal(t, "dubbo%3A%2F%2F10.0.0.1%3A1%2Fcom.acme.Foo%3Fa%3Db%26timestamp%3D1%26z%3D%2F%3A%3F%3D%2C%C3%A9", z.Name)
	for _, suffix := range []string{"pid", "timestamp"} {
		require.False(t, strings.HasSuffix(translate.MarkerKey, suffix))
	}
}

// P46: nothing depends on an order: not of a map, not of the registry's list.
func TestP46NamesDoNotDependOnOrder(t *testing.T) {
	metadata := map[string]string{}
	for _, k := range strings.Split("q w e r t y u i o p a s d f g h j k l", " ") {
		metadata[k] = "1"
	}
	first := show(t, "providers:com.acme.Foo::", native("10.0.0.1", 1, metadata))
	for range 50 {
		require.Equal(t, first, show(t, "providers:com.acme.Foo::", native("10.0.0.1", 1, maps.Clone(metadata))))
	}
}

// Values that a URL cannot hold are left out and reported.
func TestDroppedParameters(t *testing.T) {
	in := native("10.0.0.1", 1, map[string]string{
		"interface": "com.acme.Foo", "amp": "a&b", "semi": "a;b", "eq": "a=b", "k=": "1", "k&": "1", "k;": "1", "": "1",
		"over": "100%25", "latin1": "\xe9", "percent": "100%", "query": "a?b", "space": "a b",
	})
	z := show(t, "providers:com.acme.Foo::", in)
	require.Equal(t, []string{"", "amp", "k&", "k;", "k=", "latin1", "over", "semi"}, z.Dropped)
	require.Equal(t, name("dubbo://10.0.0.1:1/com.acme.Foo?eq=a=b&interface=com.acme.Foo&percent=100%&query=a?b&space=a b"), z.Name)
	e, err := translate.NewDubbo("a7").FromZnode(z.Dir+"/"+z.Name, z.Data)
	require.NoError(t, err)
	require.True(t, e.Exact)
	for _, k := range z.Dropped {
		require.NotContains(t, e.Instance.Metadata, k)
	}
	for k, v := range in.Metadata {
		if !slices.Contains(z.Dropped, k) {
			require.Equal(t, v, e.Instance.Metadata[k])
		}
	}
}

// Instances that natives are not offered, or that no URL can describe, are not
// shown.
func TestNotShown(t *testing.T) {
	with := func(change func(*registryclient.Instance)) registryclient.Instance {
		in := native("10.0.0.1", 1, map[string]string{"interface": "com.acme.Foo"})
		change(&in)
		return in
	}
	meta := func(k, v string) registryclient.Instance {
		return with(func(in *registryclient.Instance) { in.Metadata[k] = v })
	}
	tests := []struct {
		name    string
		service string
		in      registryclient.Instance
		want    translate.Reason
	}{
		{"disabled", "", with(func(in *registryclient.Instance) { in.Enabled = false }), translate.ReasonDisabled},
		{"weight 0", "", with(func(in *registryclient.Instance) { in.Weight = 0 }), translate.ReasonDisabled},
		{"consumer", "", meta("category", "consumers"), translate.ReasonNotProvider},
		{"consumer URL", "", meta("protocol", "consumer"), translate.ReasonNotProvider},
		{"no protocol", "", meta("protocol", "a b"), translate.ReasonNotProvider},
		{"zone", "", with(func(in *registryclient.Instance) { in.IP = "fe80::1%eth0" }), translate.ReasonZone},
		{"no host", "", with(func(in *registryclient.Instance) { in.IP = "" }), translate.ReasonHost},
		{"host that ends a URL", "", with(func(in *registryclient.Instance) { in.IP = "a/b" }), translate.ReasonHost},
		{"port 0, a consumer of Dubbo 2", "", with(func(in *registryclient.Instance) { in.Port = 0 }), translate.ReasonPort},
		{"port too large", "", with(func(in *registryclient.Instance) { in.Port = 65536 }), translate.ReasonPort},
		{"path with a query", "", meta("path", "a?b"), translate.ReasonPath},
		{"path over-encoded", "", meta("path", "a%2525"), translate.ReasonPath},
		{"another interface", "", meta("interface", "com.acme.Bar"), translate.ReasonServiceKey},
		{"another version", "", meta("version", "2.0.0"), translate.ReasonServiceKey},
		{"another version than named", "providers:com.acme.Foo:1.0.0:", meta("version", "2.0.0"), translate.ReasonServiceKey},
		{"another group", "providers:com.acme.Foo::g", meta("group", "h"), translate.ReasonServiceKey},
		{"any group", "providers:com.acme.Foo::*", meta("group", "*"), translate.ReasonServiceKey},
		{"an application", "order-svc", meta("a", "b"), translate.ReasonNotProvider},
		{"consumers", "consumers:com.acme.Foo::", meta("a", "b"), translate.ReasonNotProvider},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.service == "" {
				tt.service = "providers:com.acme.Foo::"
			}
			_, err := translate.NewDubbo("a7").ToZnode(tt.service, tt.in)
			var r *translate.Refusal
			require.ErrorAs(t, err, &r)
			require.Equal(t, tt.want, r.Reason, r.Text)
		})
	}
	// Dubbo's Java natives keep unhealthy instances.
	show(t, "providers:com.acme.Foo::", with(func(in *registryclient.Instance) { in.Healthy = false }))
}

// Children of a bound directory that are no providers work on and stay local.
func TestNotPublished(t *testing.T) {
	d := translate.NewDubbo("a7")
	const dir = "com.acme.Foo/providers/"
	tests := []struct {
		name, rel string
		want      translate.Reason
	}{
		{"a word", dir + "lock-0000000001", translate.ReasonName},
		{"consumer", dir + name("consumer://10.0.0.1/com.acme.Foo?category=consumers"), translate.ReasonNotProvider},
		{"consumer with a port", dir + name("consumer://10.0.0.1:1/com.acme.Foo"), translate.ReasonNotProvider},
		{"override", dir + name("override://0.0.0.0:1/com.acme.Foo?category=configurators"), translate.ReasonNotProvider},
		{"admin", dir + name("admin://10.0.0.9:1/com.acme.Foo"), translate.ReasonNotProvider},
		{"empty", dir + name("empty://10.0.0.9:1/com.acme.Foo"), translate.ReasonNotProvider},
		{"another category", dir + name("dubbo://10.0.0.1:1/com.acme.Foo?category=routers"), translate.ReasonNotProvider},
		{"another interface", dir + name("dubbo://10.0.0.1:1/com.acme.Foo?interface=com.acme.Bar"), translate.ReasonInterface},
		{"another path and no interface", dir + name("dubbo://10.0.0.1:1/com.acme.Bar"), translate.ReasonInterface},
		{"no interface at all", dir + name("dubbo://10.0.0.1:1"), translate.ReasonInterface},
		{"path over-encoded", dir + name("dubbo://10.0.0.1:1/com.acme.Foo%25?interface=com.acme.Foo"), translate.ReasonOverEncoded},
		{"broken escape", dir + "dubbo%3A%2F%2F10.0.0.1%3A1%2Fcom.acme.Foo%3", translate.ReasonName},
		{"not UTF-8", dir + "dubbo%3A%2F%2F10.0.0.1%3A1%2Fcom.acme.Foo%3Fa%3D%E9", translate.ReasonName},
		{"no URL below an illegal directory", "my-app/providers/x", translate.ReasonInterface},
		{"the directory", "com.acme.Foo/providers", translate.ReasonNotProvider},
		{"the root", "", translate.ReasonNotProvider},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { requireRefusal(t, d, tt.rel, tt.want) })
	}
}

// A provider with dynamic=false is persistent on ZooKeeper's side; the marker
// says so, the instance is one like any other.
func TestStaticProvider(t *testing.T) {
	e := publish(t, "com.acme.Foo", "dubbo://10.0.0.1:1/com.acme.Foo?dynamic=false&interface=com.acme.Foo")
	require.True(t, e.Exact)
	m, ok := translate.ParseMarker(e.Instance.Metadata)
	require.True(t, ok)
	require.Equal(t, "jp", m.Flags)
	require.True(t, e.Instance.Enabled)
}

// Simplified URLs have no interface parameter where the path says it.
func TestSimplifiedProvider(t *testing.T) {
	e := publish(t, "com.acme.Foo", "dubbo://10.0.0.1:1/com.acme.Foo?application=a")
	require.True(t, e.Exact)
	require.NotContains(t, e.Instance.Metadata, "interface")
	require.Equal(t, "com.acme.Foo::", e.Address.Service)
}
