package translate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/translate"
)

func TestRules(t *testing.T) {
	d := translate.NewDubbo("a7")
	at := translate.Address{Service: "com.acme.Foo:1.0:g", Protocol: "dubbo", Host: "10.0.0.1", Port: 20880, Path: "com.acme.Foo"}
	tests := []struct {
		name, category, url string
		enabled, persistent bool
		sets                map[string]string // nil: not about the address
	}{
		{
			"weight of one provider", "configurators", "override://10.0.0.1:20880/com.acme.Foo?category=configurators&dynamic=false&enabled=true&group=g&version=1.0&weight=200",
			true, true,
			map[string]string{"weight": "200"},
		},
		// P29: natives do not read this.
		{
			"P29: a provider switched off", "configurators", "override://10.0.0.1/com.acme.Foo?category=configurators&disabled=true&dynamic=false&group=g&version=1.0",
			true, true,
			map[string]string{"disabled": "true"},
		},
		{"every host", "configurators", "override://0.0.0.0/com.acme.Foo?category=configurators&dynamic=false&group=*&timeout=5&version=*", true, true, map[string]string{"timeout": "5"}},
		{"another port", "configurators", "override://10.0.0.1:1/com.acme.Foo?group=g&version=1.0&weight=2", true, false, nil},
		{"another version", "configurators", "override://0.0.0.0/com.acme.Foo?group=g&weight=2", true, false, nil},
		{"one application's consumers", "configurators", "override://0.0.0.0/com.acme.Foo?application=web&group=*&version=*&weight=2", true, false, nil},
		{"a condition", "configurators", "override://0.0.0.0/com.acme.Foo?group=*&version=*&weight=2&~host=1", true, false, nil},
		{"not in force", "configurators", "override://0.0.0.0/com.acme.Foo?enabled=false&group=*&version=*&weight=2", false, false, nil},
		{"route", "routers", "route://0.0.0.0/com.acme.Foo?category=routers&dynamic=false&enabled=true&force=false&rule=host+%3D+10.0.0.2+%3D%3E+host+%3D+10.0.0.1", true, true, nil},
		{"condition", "routers", "condition://0.0.0.0/com.acme.Foo?dynamic=false&rule=x", true, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rel := "com.acme.Foo/" + tt.category + "/" + name(tt.url)
			require.Equal(t, translate.KindCategory, d.Classify(rel).Kind)
			r, err := d.RuleAt(rel)
			require.NoError(t, err)
			require.Equal(t, "com.acme.Foo", r.Interface)
			require.Equal(t, tt.category, r.Category)
			require.Equal(t, tt.enabled, r.Enabled)
			require.Equal(t, tt.persistent, r.Persistent)
			sets, about := r.Overrides(at)
			require.Equal(t, tt.sets != nil, about)
			require.Equal(t, tt.sets, sets)
		})
	}
	for rel, reason := range map[string]translate.Reason{
		"com.acme.Foo/providers/x": translate.ReasonNotProvider,
		"metadata/routers/x":       translate.ReasonNotProvider,
		"com.acme.Foo/routers/x":   translate.ReasonName,
		"com.acme.Foo/routers/%2":  translate.ReasonName,
		"com.acme.Foo/routers/" + name("route://0.0.0.0/com.acme.Bar"):                        translate.ReasonInterface,
		"com.acme.Foo/routers/" + name("route://0.0.0.0/com.acme.Foo?category=configurators"): translate.ReasonNotProvider,
		"com.acme.Foo/routers/" + name("route://a b/com.acme.Foo"):                            translate.ReasonHost,
		"no-name/routers/" + name("route://0.0.0.0/no-name"):                                  translate.ReasonInterface,
	} {
		_, err := d.RuleAt(rel)
		requireReason(t, err, reason)
	}
}

func FuzzRule(f *testing.F) {
	f.Add("com.acme.Foo/configurators/" + name("override://10.0.0.1:20880/com.acme.Foo?category=configurators&dynamic=false&weight=200"))
	f.Add("com.acme.Foo/routers/" + name("route://0.0.0.0/com.acme.Foo?rule=a=>b"))
	f.Fuzz(func(t *testing.T, rel string) {
		d := translate.NewDubbo("a7")
		r, err := d.RuleAt(rel)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if p := d.Classify(rel); p.Kind != translate.KindCategory || p.Service != r.Interface {
			t.Fatalf("%q is %+v, and the rule %+v", rel, p, r)
		}
		r.Overrides(translate.Address{Service: r.Interface + "::", Host: r.Host, Port: r.Port})
	})
}
