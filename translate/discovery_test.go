package translate_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/registryclient"
	"zkbridge/translate"
)

func layouts() []translate.Layout {
	return []translate.Layout{translate.NewDubbo("a7"), translate.NewDubboApp("a7"), translate.NewSpringCloud("a7"), translate.NewCurator("a7")}
}

func layoutOf(application string) *translate.Discovery {
	switch {
	case strings.HasPrefix(application, "Dubbo"), strings.HasPrefix(application, "dubbo-go"):
		return translate.NewDubboApp("a7")
	case strings.HasPrefix(application, "Spring"):
		return translate.NewSpringCloud("a7")
	}
	return translate.NewCurator("a7")
}

// What real applications write comes back byte for byte, data included, and each
// family takes its own among the three that share a root (P24).
func TestRecordedInstancesAreExact(t *testing.T) {
	for _, n := range corpus(t, "instances.txt") {
		t.Run(n.application, func(t *testing.T) {
			rel, data, _ := strings.Cut(n.rel, " ")
			d := layoutOf(n.application)
			e, err := d.FromZnode(rel, []byte(data))
			require.NoError(t, err)
			require.True(t, e.Exact, "%v", e.Instance.Metadata)
			service, _, _ := strings.Cut(rel, "/")
			require.Equal(t, service, e.Service)
			z, err := d.ToZnode(e.Service, e.Instance)
			require.NoError(t, err)
			require.Equal(t, rel, z.Dir+"/"+z.Name)
			require.Equal(t, data, string(z.Data))
			require.Equal(t, e.Address, z.Address)
			size := 0
			for k, v := range e.Instance.Metadata {
				size += len(k) + len(v)
			}
			require.Less(t, size, 1024, "Nacos takes no more metadata")

			all := layouts()
			for range all {
				all = append(all[1:], all[0])
				l, p := translate.Among(all, rel, []byte(data))
				require.Equal(t, d.Name(), l.Name())
				require.Equal(t, translate.KindAddress, p.Kind)
				require.Equal(t, d.Name(), translate.AmongInstance(all, e.Service, e.Instance).Name())
			}
			for _, other := range layouts()[1:] {
				if other.Name() == d.Name() {
					continue
				}
				_, err := other.FromZnode(rel, []byte(data))
				require.Error(t, err)
				_, err = other.ToZnode(e.Service, e.Instance)
				requireReason(t, err, translate.ReasonFamily)
			}
		})
	}
}

func requireReason(t *testing.T, err error, want translate.Reason) {
	t.Helper()
	var r *translate.Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, want, r.Reason, r.Text)
}

// Natives read exactly what Dubbo's own registry for Nacos would have written,
// and keys of ours beside it.
func TestDubboMetadataIsFlat(t *testing.T) {
	data := `{"name":"order","id":"10.0.0.1:20880","address":"10.0.0.1","port":20880,"sslPort":null,"payload":{"@class":"org.apache.dubbo.registry.zookeeper.ZookeeperInstance",` +
		`"id":"10.0.0.1:20880","name":"order","metadata":{"dubbo.metadata.revision":"512cf653500a9fe8e153e557f5489375","中":"\"<&>\"\u0001\t"}},"registrationTimeUTC":5,"serviceType":"DYNAMIC","uriSpec":null}`
	e, err := translate.NewDubboApp("a7").FromZnode("order/10.0.0.1:20880", []byte(data))
	require.NoError(t, err)
	require.True(t, e.Exact)
	m, ok := translate.ParseMarker(e.Instance.Metadata)
	require.True(t, ok)
	require.Equal(t, "dj", m.Flags)
	require.Equal(t, "5", e.Instance.Metadata["zkb.t"])
	delete(e.Instance.Metadata, "zkb")
	delete(e.Instance.Metadata, "zkb.t")
	require.Equal(t, registryclient.Instance{
		IP: "10.0.0.1", Port: 20880, Cluster: "DEFAULT", Weight: 1, Enabled: true, Healthy: true,
		Metadata: map[string]string{"dubbo.metadata.revision": "512cf653500a9fe8e153e557f5489375", "中": "\"<&>\"\x01\t"},
	}, e.Instance)
}

// Dubbo 2.7 nests an object where 3.x writes text, and has no id in its payload:
// published all the same, as its own registry for Nacos does, and never said to
// be exact.
func TestInstanceOfDubbo27(t *testing.T) {
	data := `{"name":"old","id":"10.0.0.1:20880","address":"10.0.0.1","port":20880,"sslPort":null,"payload":{"@class":"org.apache.dubbo.registry.zookeeper.ZookeeperInstance",` +
		`"id":null,"name":"old","metadata":{"dubbo.metadata-service.url-params":{"dubbo":{"port":"20880"}}}},"registrationTimeUTC":5,"serviceType":"DYNAMIC","uriSpec":null}`
	e, err := translate.NewDubboApp("a7").FromZnode("old/10.0.0.1:20880", []byte(data))
	require.NoError(t, err)
	require.False(t, e.Exact)
	require.JSONEq(t, `{"dubbo":{"port":"20880"}}`, e.Instance.Metadata["dubbo.metadata-service.url-params"])
}

func spring(port, ssl, status string) string {
	return `{"name":"cart","id":"7f3c0000-0000-4000-8000-000000000001","address":"node-1","port":` + port + `,"sslPort":` + ssl +
		`,"payload":{"@class":"org.springframework.cloud.zookeeper.discovery.ZookeeperInstance","id":"cart","name":"cart","metadata":{"instance_status":"` + status + `"}},` +
		`"registrationTimeUTC":5,"serviceType":"DYNAMIC","uriSpec":{"parts":[{"value":"scheme","variable":true},{"value":"://","variable":false},{"value":"address","variable":true},{"value":":","variable":false},{"value":"port","variable":true}]}}`
}

func TestSpringConventions(t *testing.T) {
	d := translate.NewSpringCloud("a7")
	const rel = "cart/7f3c0000-0000-4000-8000-000000000001"
	tests := []struct {
		name, data string
		port       int
		enabled    bool
		secure     string
	}{
		{"plain", spring("8080", "null", "UP"), 8080, true, ""},
		{"TLS beside", spring("8080", "8443", "UP"), 8443, true, "true"},
		{"TLS only", spring("null", "8443", "UP"), 8443, true, "true"},
		{"out of service", spring("8080", "null", "OUT_OF_SERVICE"), 8080, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := d.FromZnode(rel, []byte(tt.data))
			require.NoError(t, err)
			require.True(t, e.Exact)
			require.Equal(t, tt.port, e.Instance.Port)
			require.Equal(t, tt.enabled, e.Instance.Enabled)
			require.Equal(t, tt.secure, e.Instance.Metadata["secure"])
			require.Equal(t, "SPRING_CLOUD", e.Instance.Metadata["preserved.register.source"])
			if tt.enabled { // switched off at the registry's console
				e.Instance.Enabled = false
				_, err = d.ToZnode("cart", e.Instance)
				requireReason(t, err, translate.ReasonDisabled)
			}
		})
	}
	// A native instance: a stable name, the class that Spring reads, the status that it asks for.
	in := registryclient.Instance{IP: "10.0.0.1", Port: 80, Weight: 1, Enabled: true, Healthy: true, Metadata: map[string]string{"preserved.register.source": "SPRING_CLOUD"}}
	z, err := d.ToZnode("shop/cart", in)
	require.NoError(t, err)
	again, err := d.ToZnode("shop/cart", in)
	require.NoError(t, err)
	require.Equal(t, z, again)
	require.Equal(t, translate.Place{Kind: translate.KindAddress, Service: "shop/cart", Dir: "shop/cart", Name: z.Name}, d.Classify(z.Dir+"/"+z.Name))
	requireFields(t, z.Data, "name", "id", "address", "port", "sslPort", "payload", "registrationTimeUTC", "serviceType", "uriSpec")
	require.Contains(t, string(z.Data), `"instance_status":"UP"`)
	in.Healthy = false
	_, err = d.ToZnode("shop/cart", in)
	requireReason(t, err, translate.ReasonDisabled)
}

// P25: readers of Curator 2.12 fail on any field but the nine and "enabled".
func TestP25NineFieldsAndTenFromCurator212(t *testing.T) {
	d := translate.NewCurator("a7")
	nine := []string{"name", "id", "address", "port", "sslPort", "payload", "registrationTimeUTC", "serviceType", "uriSpec"}
	z, err := d.ToZnode("greet", registryclient.Instance{IP: "10.0.0.1", Port: 1, Weight: 1, Enabled: true})
	require.NoError(t, err)
	requireFields(t, z.Data, nine...)
	for _, n := range corpus(t, "instances.txt") {
		if strings.HasPrefix(n.application, "Curator x-discovery 2.12") {
			_, data, _ := strings.Cut(n.rel, " ")
			requireFields(t, []byte(data), append(nine, "enabled")...)
		}
	}
}

func requireFields(t *testing.T, data []byte, names ...string) {
	t.Helper()
	fields := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(data, &fields))
	require.Len(t, fields, len(names))
	for _, name := range names {
		require.Contains(t, fields, name)
	}
}

func TestAmong(t *testing.T) {
	tests := []struct {
		name, rel, layout string
		kind              translate.Kind
	}{
		{"root", "", "dubbo", translate.KindRoot},
		{"interface", "com.acme.Foo", "dubbo", translate.KindServiceDir},
		{"interface without package", "Foo", "dubbo", translate.KindServiceDir},
		{"application", "order", "dubbo-app", translate.KindBoundDir},
		{"application with dots", "com.acme.order", "dubbo-app", translate.KindBoundDir},
		{"application with a dash", "order-app", "dubbo-app", translate.KindBoundDir},
		{"providers", "com.acme.Foo/providers", "dubbo", translate.KindBoundDir},
		{"provider", "com.acme.Foo/providers/x", "dubbo", translate.KindAddress},
		{"consumers", "com.acme.Foo/consumers", "dubbo", translate.KindCategory},
		{"instance of Dubbo", "order/10.0.0.1:20880", "dubbo-app", translate.KindAddress},
		{"instance of Spring", "order/7f3c0000-0000-4000-8000-000000000001", "springcloud", translate.KindAddress},
		{"metadata of dubbo-go", "order/3255971926", "dubbo", translate.KindMetadata},
		{"mapping", "mapping/com.acme.Foo", "dubbo", translate.KindMapping},
		{"configuration", "config/dubbo/order.tag-router", "dubbo", translate.KindConfig},
		{"junk of an administrator's tool", "metadata/providers", "dubbo", translate.KindElsewhere},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, p := translate.Among(layouts(), tt.rel, nil)
			require.Equal(t, tt.layout, l.Name())
			require.Equal(t, tt.kind, p.Kind)
		})
	}
	l, _ := translate.Among(nil, "a", nil)
	require.Nil(t, l)
	native := registryclient.Instance{IP: "10.0.0.1", Port: 1, Weight: 1, Enabled: true, Healthy: true}
	require.Equal(t, "springcloud", translate.AmongInstance(layouts(), "order", native).Name())
	native.Metadata = map[string]string{"dubbo.metadata.revision": "1"}
	require.Equal(t, "dubbo-app", translate.AmongInstance(layouts(), "order", native).Name())
	require.Equal(t, "dubbo", translate.AmongInstance(layouts(), "providers:com.acme.Foo::", native).Name())
	require.Nil(t, translate.AmongInstance(layouts(), "consumers:com.acme.Foo::", native))
}

// checkRecord checks what is promised of any node of x-discovery.
func checkRecord(t failer, d *translate.Discovery, rel string, data []byte) {
	before := bytes.Clone(data)
	e, err := d.FromZnode(rel, data)
	if !bytes.Equal(before, data) {
		t.Fatalf("the data were changed")
	}
	if err != nil {
		checkRefusal(t, err)
		return
	}
	if p := d.Classify(rel); p.Kind != translate.KindAddress || p.Dir+"/"+p.Name != rel || p.Dir != e.Service {
		t.Fatalf("%q is %+v, published as %q", rel, p, e.Service)
	}
	if !d.Wants(e.Service) || !d.Recognizes(rel, data) {
		t.Fatalf("%q is published as %q and not read", rel, e.Service)
	}
	m, ok := translate.ParseMarker(e.Instance.Metadata)
	if !ok || m.Has(translate.FlagStored) == e.Exact {
		t.Fatalf("marker %v, exact %v", e.Instance.Metadata, e.Exact)
	}
	z, err := d.ToZnode(e.Service, e.Instance)
	if err != nil {
		if e.Exact {
			t.Fatalf("exact, and refused: %v", err)
		}
		checkRefusal(t, err)
		return
	}
	if (z.Dir+"/"+z.Name == rel && bytes.Equal(z.Data, data)) != e.Exact {
		t.Fatalf("exact %v: %q, then %q; %q, then %q", e.Exact, rel, z.Dir+"/"+z.Name, data, z.Data)
	}
	if z.Address != e.Address {
		t.Fatalf("address %+v, then %+v", e.Address, z.Address)
	}
	checkMadeUp(t, d, z)
}

// checkMadeUp checks that clients read from a node what it was made of.
func checkMadeUp(t failer, d *translate.Discovery, z translate.Znode) translate.Entry {
	rel := z.Dir + "/" + z.Name
	e, err := d.FromZnode(rel, z.Data)
	if err != nil || !e.Exact || e.Address != z.Address {
		t.Fatalf("made-up node %q %q: %v, exact %v, address %+v, then %+v", rel, z.Data, err, e.Exact, z.Address, e.Address)
	}
	if l, _ := translate.Among(layouts()[1:], rel, z.Data); l.Name() != d.Name() {
		t.Fatalf("made-up node %q %q of %s goes to %s", rel, z.Data, d.Name(), l.Name())
	}
	return e
}

func checkFound(t failer, d *translate.Discovery, service string, in registryclient.Instance) {
	before := in.Clone()
	z, err := d.ToZnode(service, in)
	if !in.Equal(before) {
		t.Fatalf("the instance was changed: %+v, then %+v", before, in)
	}
	if err != nil {
		checkRefusal(t, err)
		return
	}
	e := checkMadeUp(t, d, z)
	if e.Service != service || e.Instance.Port != in.Port {
		t.Fatalf("%q %+v, then %q %+v", service, in, e.Service, e.Instance)
	}
	if d.Name() == "curator" {
		return // natives' metadata have no place in a payload of somebody's own class
	}
	own := func(k, _ string) bool {
		return k == "zkb" || strings.HasPrefix(k, "zkb.") || k == "preserved.register.source" || k == "instance_status" || k == "secure"
	}
	want := maps.Clone(in.Metadata)
	maps.DeleteFunc(want, own)
	maps.DeleteFunc(e.Instance.Metadata, own)
	maps.DeleteFunc(want, func(k, v string) bool { return strings.ToValidUTF8(k, "") != k || strings.ToValidUTF8(v, "") != v })
	if len(want)+len(e.Instance.Metadata) > 0 && !maps.Equal(want, e.Instance.Metadata) {
		t.Fatalf("metadata %q, then %q", want, e.Instance.Metadata)
	}
}
