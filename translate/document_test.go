package translate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zkbridge/translate"
)

func TestDocuments(t *testing.T) {
	const iface = "com.acme.Foo"
	const rev = "512cf653500a9fe8e153e557f5489375"
	tests := []struct {
		name, rel, data string
		form            translate.Form
		want            translate.StoreKey
	}{
		{"3.x rule", "config/dubbo/order.tag-router", "", translate.FormConfig, translate.StoreKey{"dubbo", "order.tag-router"}},
		{"service rule", "config/dubbo/com.acme.A$B:1.0:g.configurators", "", translate.FormConfig, translate.StoreKey{"dubbo", "com.acme.A___B:1.0:g.configurators"}},
		{"application's properties", "config/order/dubbo.properties", "", translate.FormConfig, translate.StoreKey{"order", "dubbo.properties"}},
		{"migration of 2.7", "config/MIGRATION/order.migration", "", translate.FormConfig, translate.StoreKey{"MIGRATION", "order.migration"}},
		{"migration of 3.x", "config/DUBBO_SERVICEDISCOVERY_MIGRATION/order.migration", "", translate.FormConfig, translate.StoreKey{"DUBBO_SERVICEDISCOVERY_MIGRATION", "order.migration"}},
		{"key without group", "config/dubbo.application.register-mode", "", translate.FormConfigBare, translate.StoreKey{"dubbo", "dubbo.application.register-mode"}},
		{"mapping of 3.x", "mapping/com.acme.A$B", "order", translate.FormMapping, translate.StoreKey{"mapping", "com.acme.A___B"}},
		{"mapping of 2.7.9", "mapping/com.acme.Foo/order", "", translate.FormMappingChild, translate.StoreKey{"mapping", iface}},
		{"mapping of 2.7.5", "config/mapping/com.acme.Foo/order", "", translate.FormMappingConfig, translate.StoreKey{"mapping", iface}},
		{"application metadata", "metadata/order/" + rev, "", translate.FormMetadata, translate.StoreKey{rev, "order"}},
		{"metadata of dubbo-go", "stock-go/3255971926", "", translate.FormMetadataGo, translate.StoreKey{"3255971926", "stock-go"}},
		{"definition", "metadata/com.acme.Foo/provider/order", `{"parameters":{}}`, translate.FormDefinition, translate.StoreKey{"dubbo", "com.acme.Foo:::provider:order"}},
		{"definition, escaped", "metadata/com.acme.A%24B/provider/order", `{"parameters":{}}`, translate.FormDefinition, translate.StoreKey{"dubbo", "com.acme.A___B:::provider:order"}},
		{"P40: version only", "metadata/com.acme.Foo/X/provider/order", `{"parameters":{"version":"X"}}`, translate.FormDefinition, translate.StoreKey{"dubbo", "com.acme.Foo:X::provider:order"}},
		{"P40: group only", "metadata/com.acme.Foo/X/provider/order", `{"parameters":{"group":"X"}}`, translate.FormDefinition, translate.StoreKey{"dubbo", "com.acme.Foo::X:provider:order"}},
		{"P40: equal ones collapse", "metadata/com.acme.Foo/X/provider/order", `{"parameters":{"group":"X","version":"X"}}`, translate.FormDefinition, translate.StoreKey{"dubbo", "com.acme.Foo:X:X:provider:order"}},
		{"consumer's definition", "metadata/com.acme.Foo/1.0/g/consumer/web", `{"version":"1.0","group":"g"}`, translate.FormDefinition, translate.StoreKey{"dubbo", "com.acme.Foo:1.0:g:consumer:web"}},
		{"decimal version", "metadata/com.acme.Foo/20240101/provider/order", `{"parameters":{"version":"20240101"}}`, translate.FormDefinition, translate.StoreKey{"dubbo", "com.acme.Foo:20240101::provider:order"}},
		{
			"service URL of 2.7", "metadata/com.acme.Foo/1.0/provider/dubbo/revision2.3", "dubbo%3A%2F%2F10.0.0.1%3A1%2Fcom.acme.Foo%3Fversion%3D1.0",
			translate.FormServiceURL,
			translate.StoreKey{"dubbo", "com.acme.Foo:1.0::provider:dubbo:revision2.3"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, ok := translate.DocumentAt(tt.rel)
			require.True(t, ok)
			require.Equal(t, tt.form, d.Form)
			require.Equal(t, tt.rel, d.Rel())
			k, ok := d.StoreKey([]byte(tt.data))
			require.True(t, ok)
			require.Equal(t, tt.want, k)
			data := []byte(tt.data)
			if d.Kind == translate.KindMapping {
				data = []byte("order")
			}
			require.Contains(t, translate.DocumentsOf(k, data), d)
			require.Equal(t, d.Kind, translate.NewDubbo("a7").Classify(tt.rel).Kind)
		})
	}
}

func TestNoDocuments(t *testing.T) {
	for _, rel := range []string{
		"", "config", "config/dubbo", "mapping", "metadata", "metadata/order", "metadata/com.acme.Foo/provider", "metadata/com.acme.Foo/1.0/g/x/provider/order",
		"metadata/providers", "mapping/providers", "config/consumers", "com.acme.Foo/routers", "com.acme.Foo/providers", "order/10.0.0.1:20880",
		"mapping/com.acme.Foo/10.0.0.1", "mapping//a", "config/a//b", "mapping/no-name",
	} {
		_, ok := translate.DocumentAt(rel)
		require.False(t, ok, rel)
	}
	d, _ := translate.DocumentAt("metadata/com.acme.Foo/X/provider/order")
	for _, data := range []string{"", "{}", "no JSON", `{"parameters":{"version":"Y"}}`, `{"parameters":{"version":5}}`} {
		_, ok := d.StoreKey([]byte(data))
		require.False(t, ok, data)
	}
}

// P38: the node of a mapping is a directory for Dubbo 2.7, with an address for data.
func TestP38AddressIsNoApplication(t *testing.T) {
	require.Empty(t, translate.MappingApplications([]byte("192.0.2.10")))
	require.Empty(t, translate.MappingApplications(nil))
	require.Equal(t, []string{"order", "10.0.0.1-app"}, translate.MappingApplications([]byte("order, 10.0.0.1-app,,2001:db8::1,order,a b,a/b")))
}

// P37: no name is lost when both sides add one.
func TestP37MergeLosesNoName(t *testing.T) {
	require.Equal(t, "a,b,c", string(translate.MergeMapping([]byte("a,b"), []byte("b,c,a"))))
	app := rapid.StringMatching(`[a-z]{1,6}(-[a-z]{1,3})?`)
	rapid.Check(t, func(t *rapid.T) {
		one, two := rapid.SliceOf(app).Draw(t, "one"), rapid.SliceOf(app).Draw(t, "two")
		merged := translate.MappingApplications(translate.MergeMapping(translate.MappingData(one), translate.MappingData(two)))
		for _, name := range append(one, two...) {
			if !strings.Contains(","+strings.Join(merged, ",")+",", ","+name+",") {
				t.Fatalf("%q is lost: %v", name, merged)
			}
		}
	})
}

// checkDocument checks what is promised of any path and data.
func checkDocument(t failer, rel string, data []byte) {
	d, ok := translate.DocumentAt(rel)
	if !ok {
		return
	}
	if d.Rel() != rel {
		t.Fatalf("%q, then %q: %+v", rel, d.Rel(), d)
	}
	k, ok := d.StoreKey(data)
	if !ok {
		return
	}
	for _, back := range translate.DocumentsOf(k, data) {
		again, ok := translate.DocumentAt(back.Rel())
		if !ok || again != back {
			t.Fatalf("%+v of %+v reads as %+v", back, k, again)
		}
		if back.Kind == translate.KindDefinition {
			continue // whose data is the definition's own
		}
		if key, ok := back.StoreKey(data); !ok || key != k && !strings.Contains(k.Group+k.Name, "___") {
			t.Fatalf("%+v of %+v has the key %+v", back, k, key)
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, n := range corpus(f, "dubbo-others.txt") {
		f.Add(n.rel, []byte("order"))
	}
	f.Add("metadata/com.acme.A%24B/1.0/g/provider/order", []byte(`{"parameters":{"version":"1.0","group":"g"}}`))
	f.Add("config/mapping/com.acme.Foo/order", []byte("order,web"))
	f.Fuzz(func(t *testing.T, rel string, data []byte) { checkDocument(t, rel, data) })
}
