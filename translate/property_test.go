package translate_test

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"zkbridge/registryclient"
	"zkbridge/translate"
)

// Texts with everything that has a meaning somewhere in a URL or its escapes.
var (
	anyText = rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("abzAZ09.-_*~ +/:?&=;,$%#@é漢\x00\n")), 0, 8, -1),
		rapid.SampledFrom([]string{"%25", "a%25b%25", "%2525", "/com.acme.Foo", "100%", "%2", "5"}))
	anyKey    = rapid.OneOf(rapid.SampledFrom([]string{"a", "b", "timestamp", "methods", "interface", "version", "group", "category", "protocol", "path", "zkb", "dynamic", "release", "enabled"}), anyText)
	anyHost   = rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "Node-1.example.com", "node-1.example.com", "2001:db8::1", "2001:DB8:0:0:0:0:0:1", "::ffff:10.0.0.1", "fe80::1%en0", "", "a b"})
	anyPort   = rapid.SampledFrom([]int{1, 20880, 65535, 0, -1, 65536})
	anyProto  = rapid.SampledFrom([]string{"dubbo", "tri", "rest", "x+y", "consumer", "", "1a"})
	anyIface  = rapid.SampledFrom([]string{"com.acme.Foo", "com.acme.A$B", "com.acme.A___B", "Foo", "蓝.Foo", "no-name"})
	anyMarker = rapid.SampledFrom([]string{"", "1.j.a7.cc91c0106e60", "1.g.b2.cc91c0106e60", "1.gx.b2.cc91c0106e60", "9"})
)

// rels gives paths that a client might create: mostly names of providers, in
// every order and spelling, some of them broken.
func rels(t *rapid.T) string {
	iface := anyIface.Draw(t, "interface")
	path := rapid.OneOf(rapid.Just(iface), anyText).Draw(t, "path")
	host := anyHost.Draw(t, "host")
	if strings.Contains(host, ":") && rapid.Bool().Draw(t, "brackets") {
		host = "[" + host + "]"
	}
	u := fmt.Sprintf("%s://%s:%d", anyProto.Draw(t, "protocol"), host, anyPort.Draw(t, "port"))
	if path != "" || rapid.Bool().Draw(t, "slash") {
		u += "/" + path
	}
	var params []string
	if rapid.Bool().Draw(t, "names its interface") {
		params = append(params, "interface="+iface)
	}
	for range rapid.IntRange(0, 4).Draw(t, "parameters") {
		params = append(params, anyKey.Draw(t, "key")+"="+anyText.Draw(t, "value"))
	}
	if rapid.Bool().Draw(t, "sorted") {
		slices.Sort(params)
	}
	if len(params) > 0 {
		u += "?" + strings.Join(params, rapid.SampledFrom([]string{"&", "&", "&", ";"}).Draw(t, "separator"))
	}
	n := url.QueryEscape(u)
	switch rapid.IntRange(0, 9).Draw(t, "spelling") {
	case 0:
		n = strings.ToLower(n)
	case 1:
		n = strings.ReplaceAll(n, "%", "%25")
	case 2:
		n = strings.ReplaceAll(u, "/", "%2F")
	case 3, 4, 5:
		n = strings.NewReplacer("%2A", "*", "~", "%7E").Replace(n) // as Java does
	}
	return rapid.SampledFrom([]string{url.QueryEscape(iface), iface}).Draw(t, "directory") + "/providers/" + n
}

// instances gives a service name and an instance under it, mostly ones that an
// application might register.
func instances(t *rapid.T) (string, registryclient.Instance) {
	iface := anyIface.Draw(t, "interface")
	metadata := map[string]string{}
	for range rapid.IntRange(0, 5).Draw(t, "metadata") {
		metadata[anyKey.Draw(t, "key")] = anyText.Draw(t, "value")
	}
	for k, v := range map[string]string{"interface": iface, "path": iface, "protocol": "tri", "category": "providers", "version": "1.0", "group": "", "zkb": anyMarker.Draw(t, "marker")} {
		switch rapid.IntRange(0, 2).Draw(t, k) {
		case 0:
			delete(metadata, k)
		case 1:
			metadata[k] = v
		}
	}
	service := "providers:" + strings.ReplaceAll(iface, "$", "___") + rapid.SampledFrom([]string{"::", ":1.0:", ":1.0", "", "::g", ":1.0:g"}).Draw(t, "version and group")
	return service, registryclient.Instance{
		IP: anyHost.Draw(t, "ip"), Port: anyPort.Draw(t, "port"), Cluster: "DEFAULT", Weight: rapid.SampledFrom([]float64{0, 1, 100}).Draw(t, "weight"),
		Enabled: rapid.IntRange(0, 9).Draw(t, "disabled") > 0, Healthy: rapid.Bool().Draw(t, "healthy"), Metadata: metadata,
	}
}

// checkName checks everything that is promised of a name.
func checkName(t failer, d *translate.Dubbo, rel string) (translate.Entry, bool) {
	e, err := d.FromZnode(rel, nil)
	if err != nil {
		checkRefusal(t, err)
		return e, false
	}
	p := d.Classify(rel)
	if p.Dir+"/"+p.Name != rel {
		t.Fatalf("classified as %q and %q, got %q", p.Dir, p.Name, rel)
	}
	if !d.Wants(e.Service) {
		t.Fatalf("%q is published and not read", e.Service)
	}
	m, ok := translate.ParseMarker(e.Instance.Metadata)
	if !ok || m.Fingerprint != translate.Fingerprint(p.Name) || m.Has(translate.FlagStored) == e.Exact {
		t.Fatalf("marker %q of %q, exact %v", e.Instance.Metadata[translate.MarkerKey], rel, e.Exact)
	}
	z, err := d.ToZnode(e.Service, e.Instance)
	if err != nil {
		t.Fatalf("what was published cannot be read back: %v", err)
	}
	if z.Address != e.Address {
		t.Fatalf("address changed: %+v, then %+v", e.Address, z.Address)
	}
	if (z.Dir+"/"+z.Name == rel) != e.Exact {
		t.Fatalf("rebuilt %q from %q, exact %v", z.Dir+"/"+z.Name, rel, e.Exact)
	}
	checkFixedPoint(t, d, z)
	return e, true
}

// checkFixedPoint checks that a made-up name reads as exactly itself.
func checkFixedPoint(t failer, d *translate.Dubbo, z translate.Znode) translate.Entry {
	rel := z.Dir + "/" + z.Name
	e, err := d.FromZnode(rel, z.Data)
	if err != nil {
		t.Fatalf("made-up name %q is refused: %v", rel, err)
	}
	if e.Address != z.Address || !e.Exact {
		t.Fatalf("made-up name %q: address %+v, then %+v, exact %v", rel, z.Address, e.Address, e.Exact)
	}
	again, err := d.ToZnode(e.Service, e.Instance)
	if err != nil || again.Dir != z.Dir || again.Name != z.Name || len(again.Dropped) > 0 {
		t.Fatalf("not a fixed point: %q, then %q (%v)", rel, again.Dir+"/"+again.Name, err)
	}
	return e
}

// checkInstance checks everything that is promised of an instance.
func checkInstance(t failer, d *translate.Dubbo, service string, in registryclient.Instance) {
	before := in.Clone()
	z, err := d.ToZnode(service, in)
	if !in.Equal(before) {
		t.Fatalf("the instance was changed: %+v, then %+v", before, in)
	}
	if err != nil {
		checkRefusal(t, err)
		return
	}
	if p := d.Classify(z.Dir + "/" + z.Name); p.Kind != translate.KindAddress || p.Dir != z.Dir || p.Name != z.Name {
		t.Fatalf("made-up path is a %s: %+v", p.Kind, z)
	}
	if string(z.Data) != strings.Trim(in.IP, "[]") {
		t.Fatalf("data %q of %q", z.Data, in.IP)
	}
	e := checkFixedPoint(t, d, z)
	// What comes back says no less and nothing else than what went in.
	want := maps.Clone(in.Metadata)
	if want == nil {
		want = map[string]string{}
	}
	for _, k := range z.Dropped {
		if _, ok := want[k]; !ok {
			t.Fatalf("dropped %q, which was not there", k)
		}
		delete(want, k)
	}
	for _, k := range []string{"category", "protocol", "path", "zkb", "interface", "version", "group"} {
		delete(want, k)
		delete(e.Instance.Metadata, k)
	}
	if !maps.Equal(want, e.Instance.Metadata) {
		t.Fatalf("metadata %v, then %v", want, e.Instance.Metadata)
	}
}

func checkRefusal(t failer, err error) {
	if r := (*translate.Refusal)(nil); !errors.As(err, &r) || r.Reason == "" || r.Text == "" {
		t.Fatalf("not a refusal that says why: %#v", err)
	}
}

type failer interface{ Fatalf(string, ...any) }

func TestNamesSurvive(t *testing.T) {
	d := translate.NewDubbo("a7")
	rapid.Check(t, func(t *rapid.T) { checkName(t, d, rels(t)) })
}

// TestNamesThatAreTried says that TestNamesSurvive is about something: its names
// are published, some exactly and some not.
func TestNamesThatAreTried(t *testing.T) {
	d := translate.NewDubbo("a7")
	names := rapid.Custom(rels)
	published, exact := 0, 0
	for seed := range 1000 {
		if e, ok := checkName(t, d, names.Example(seed)); ok {
			published++
			if e.Exact {
				exact++
			}
		}
	}
	if published < 10 || exact == 0 || exact == published {
		t.Fatalf("%d names of 1000 published, %d of them exact: the generator shows nothing", published, exact)
	}
}

// Two names never claim to be the exact name of one instance.
func TestExactNamesAreUnique(t *testing.T) {
	d := translate.NewDubbo("a7")
	rapid.Check(t, func(t *rapid.T) {
		byRebuilt := map[string]string{} // what ToZnode gives for an exact entry, without its marker
		for range 8 {
			rel := rels(t)
			e, err := d.FromZnode(rel, nil)
			if err != nil || !e.Exact {
				continue
			}
			key := fmt.Sprint(e.Service, e.Instance.IP, e.Instance.Port)
			for _, k := range slices.Sorted(maps.Keys(e.Instance.Metadata)) {
				if k != translate.MarkerKey {
					key += "\x01" + k + "\x02" + e.Instance.Metadata[k]
				}
			}
			m, _ := translate.ParseMarker(e.Instance.Metadata)
			key += "\x01" + m.Flags
			if other, ok := byRebuilt[key]; ok && other != rel {
				t.Fatalf("%q and %q are both exact for one instance", rel, other)
			}
			byRebuilt[key] = rel
		}
	})
}

func TestInstancesSurvive(t *testing.T) {
	d := translate.NewDubbo("a7")
	shown := 0
	rapid.Check(t, func(t *rapid.T) {
		service, in := instances(t)
		if _, err := d.ToZnode(service, in); err == nil {
			shown++
		}
		checkInstance(t, d, service, in)
	})
	if shown == 0 {
		t.Fatal("no instance was shown: the generator shows nothing")
	}
}
