package translate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/translate"
)

func TestClassify(t *testing.T) {
	const iface = "com.acme.Foo"
	tests := []struct {
		name, rel string
		want      translate.Place // Why is not compared
		why       bool
	}{
		{"root", "", translate.Place{Kind: translate.KindRoot}, false},
		{"service", "com.acme.Foo", translate.Place{Kind: translate.KindServiceDir, Service: iface}, false},
		{"default package", "Foo", translate.Place{Kind: translate.KindServiceDir, Service: "Foo"}, false},
		{"inner class, escaped", "com.acme.Outer%24Inner", translate.Place{Kind: translate.KindServiceDir, Service: "com.acme.Outer$Inner"}, false},
		{"inner class, raw", "com.acme.Outer$Inner", translate.Place{Kind: translate.KindServiceDir, Service: "com.acme.Outer$Inner"}, false},
		{"an application's name", "order-app", translate.Place{Kind: translate.KindServiceDir}, true},
		{"no name at all", "..", translate.Place{Kind: translate.KindServiceDir}, true},
		{"digit first", "com.1acme.Foo", translate.Place{Kind: translate.KindServiceDir}, true},
		{"broken escape", "com.acme%2", translate.Place{Kind: translate.KindServiceDir}, true},
		{"providers", "com.acme.Foo/providers", translate.Place{Kind: translate.KindBoundDir, Service: iface, Dir: "com.acme.Foo/providers"}, false},
		{"provider", "com.acme.Foo/providers/x%3A", translate.Place{Kind: translate.KindAddress, Service: iface, Dir: "com.acme.Foo/providers", Name: "x%3A"}, false},
		{"raw dollar keeps its bytes", "a$b/providers/n", translate.Place{Kind: translate.KindAddress, Service: "a$b", Dir: "a$b/providers", Name: "n"}, false},
		{"below a provider", "com.acme.Foo/providers/x/y", translate.Place{}, true},
		{"consumers", "com.acme.Foo/consumers", translate.Place{Kind: translate.KindCategory, Service: iface}, true},
		{"consumer", "com.acme.Foo/consumers/c", translate.Place{Kind: translate.KindCategory, Service: iface}, true},
		{"configurators", "com.acme.Foo/configurators", translate.Place{Kind: translate.KindCategory, Service: iface}, true},
		{"override", "com.acme.Foo/configurators/override%3A%2F%2F", translate.Place{Kind: translate.KindCategory, Service: iface}, true},
		{"routers", "com.acme.Foo/routers", translate.Place{Kind: translate.KindCategory, Service: iface}, true},
		{"route", "com.acme.Foo/routers/route%3A%2F%2F", translate.Place{Kind: translate.KindCategory, Service: iface}, true},
		{"other category", "com.acme.Foo/Providers", translate.Place{}, true},
		{"metadata", "metadata", translate.Place{}, true},
		{"service definition", "metadata/com.acme.Foo/1.0/provider/app", translate.Place{Kind: translate.KindDefinition, Service: iface}, true},
		{"application metadata", "metadata/app/512cf653500a9fe8e153e557f5489375", translate.Place{Kind: translate.KindMetadata}, true},
		{"mapping", "mapping/com.acme.Foo", translate.Place{Kind: translate.KindMapping, Service: iface}, true},
		{"mapping of 2.7", "mapping/com.acme.Foo/app", translate.Place{Kind: translate.KindMapping, Service: iface}, true},
		{"config", "config/dubbo/app.configurators", translate.Place{Kind: translate.KindConfig}, true},
		{"key without group", "config/dubbo.application.register-mode", translate.Place{Kind: translate.KindConfig}, true},
	}
	d := translate.NewDubbo("a7")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := d.Classify(tt.rel)
			require.Equal(t, tt.why, got.Why != "", "why: %q", got.Why)
			got.Why = ""
			require.Equal(t, tt.want, got)
		})
	}
}

// P27: dubbo-admin's subscription to everything creates the four categories
// below each child of the root, reserved ones and applications included. No
// such directory becomes a service of the registry, and reserved ones are not
// even places where one could register.
func TestP27AdminsDirectoriesAreNoServices(t *testing.T) {
	d := translate.NewDubbo("a7")
	for _, parent := range []string{"metadata", "mapping", "config"} {
		for _, category := range []string{"providers", "consumers", "configurators", "routers"} {
			require.Equal(t, translate.KindElsewhere, d.Classify(parent+"/"+category).Kind)
			require.Equal(t, translate.KindElsewhere, d.Classify(parent+"/"+category+"/dubbo%3A%2F%2F10.0.0.1%3A1%2Fmetadata").Kind)
		}
		requireRefusal(t, d, parent+"/providers/dubbo%3A%2F%2F10.0.0.1%3A1%2F"+parent, translate.ReasonNotProvider)
	}
	requireRefusal(t, d, "order-app/providers", translate.ReasonNotProvider)
	requireRefusal(t, d, "order-app/providers/dubbo%3A%2F%2F10.0.0.1%3A1%2Forder-app", translate.ReasonInterface)
}

// P41: dubbo-go keeps its metadata two levels below the root, where an
// interface's categories are.
func TestP41DubboGoMetadataIsNoInterface(t *testing.T) {
	d := translate.NewDubbo("a7")
	for rel, kind := range map[string]translate.Kind{
		"stock/3255971926": translate.KindMetadata, "stock-go/3255971926": translate.KindMetadata, "go-app/192.0.2.10:22165": translate.KindElsewhere,
	} {
		require.Equal(t, kind, d.Classify(rel).Kind, rel)
		requireRefusal(t, d, rel, translate.ReasonNotProvider)
	}
}

// Field report 21: names that a tool encodes again and again stay znodes like
// any other and never reach the registry.
func TestReport21OverEncodedNamesAreRefused(t *testing.T) {
	const good = "dubbo%3A%2F%2F10.0.0.1%3A20880%2Fcom.acme.Foo%3Finterface%3Dcom.acme.Foo"
	again := func(s string, rounds int) string {
		for range rounds {
			s = strings.ReplaceAll(s, "%", "%25")
		}
		return s
	}
	d := translate.NewDubbo("a7")
	_, err := d.FromZnode("com.acme.Foo/providers/"+good, nil)
	require.NoError(t, err)
	for _, rounds := range []int{1, 2, 3, 40} {
		requireRefusal(t, d, "com.acme.Foo/providers/"+again(good, rounds), translate.ReasonOverEncoded)
		requireRefusal(t, d, "com.acme.Foo"+again("%25", rounds)+"/providers/"+good, translate.ReasonOverEncoded)
	}
	// Two values encoded twice inside a name that is otherwise right; and one of
	// them forty times.
	requireRefusal(t, d, "com.acme.Foo/providers/"+good+"%26a%3D%252C%26b%3D%252525", translate.ReasonOverEncoded)
	requireRefusal(t, d, "com.acme.Foo/providers/"+good+"%26a%3D%"+strings.Repeat("25", 40), translate.ReasonOverEncoded)
	// A percent sign of its own is somebody's text.
	_, err = d.FromZnode("com.acme.Foo/providers/"+good+"%26a%3D100%25+sure", nil)
	require.NoError(t, err)
}
