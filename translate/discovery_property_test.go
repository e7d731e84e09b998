package translate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"zkbridge/registryclient"
	"zkbridge/translate"
)

var (
	anyClass   = rapid.SampledFrom([]string{"org.apache.dubbo.registry.zookeeper.ZookeeperInstance", "org.springframework.cloud.zookeeper.discovery.ZookeeperInstance", "apps.Details", ""})
	anyService = rapid.SampledFrom([]string{"order", "order-app", "com.acme.Order", "shop/cart", "商店", "mapping", "a b", "providers", "@x", "providers:com.acme.Foo::"})
	anyID      = rapid.SampledFrom([]string{"10.0.0.1:1", "10.0.0.2:20880", "2001:db8::1:80", "7f3c0000-0000-4000-8000-000000000001", "node-1", "3255971926", "..", "é"})
	uris       = rapid.SampledFrom([]string{
		"null", `{"parts":[]}`,
		`{"parts":[{"value":"scheme","variable":true},{"value":"://","variable":false},{"value":"address","variable":true},{"value":":","variable":false},{"value":"port","variable":true}]}`,
	})
	discoveryKey = rapid.OneOf(rapid.SampledFrom([]string{"dubbo.metadata.revision", "dubbo.endpoints", "timestamp", "instance_status", "secure", "preserved.register.source", "zkb", "zkb.t", "zkb.id", "zkb.port", "zkb.ssl", "zkb.ref", "zkb.payload"}), anyText)
	discoveryVal = rapid.OneOf(rapid.SampledFrom([]string{"UP", "DOWN", "true", "SPRING_CLOUD", "0", "80", "1796089597998", "1.dj.a7.cc91c0106e60", "1.sje.a7.cc91c0106e60", "1.oju.a7.cc91c0106e60", `{"a":1}`, "null", "10.0.0.1:1"}), anyText)
)

// records gives nodes that clients of x-discovery might write.
func records(t *rapid.T) (rel string, data []byte) {
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		if rapid.Bool().Draw(t, "as Go") {
			return string(b)
		}
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u001f`, `\u001F`).Replace(string(b))
	}
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	service, id := anyService.Draw(t, "service"), anyID.Draw(t, "id")
	class := anyClass.Draw(t, "class")
	meta := map[string]string{}
	for range rapid.IntRange(0, 3).Draw(t, "metadata") {
		meta[discoveryKey.Draw(t, "key")] = discoveryVal.Draw(t, "value")
	}
	metadata, _ := json.Marshal(meta)
	m := string(metadata)
	if rapid.Bool().Draw(t, "escaped as Java does") {
		m = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(m)
	}
	payload := `{"@class":` + quote(class) + `,"id":` + quote(pick("ref", id, service, "x")) + `,"name":` + quote(service) + `,"metadata":` + m + `}`
	goStyle := rapid.IntRange(0, 3).Draw(t, "dubbo-go") == 0
	if goStyle {
		payload = `{"@class":` + quote(class) + `,"id":` + quote(id) + `,"metadata":` + string(metadata) + `,"name":` + quote(service) + `}`
	}
	if class == "" {
		payload = pick("payload", "null", `"text"`, "5", `{"note":"x"}`, `[1, 2]`, payload)
	}
	body := `{"name":` + quote(service) + `,"id":` + quote(pick("id inside", id, id, id, "other")) + `,"address":` + quote(anyHost.Draw(t, "address")) + `,"port":` + pick("port", "1", "20880", "null", "0", "-1")
	if !goStyle {
		body += `,"sslPort":` + pick("sslPort", "null", "null", "8443", "1")
	}
	body += `,"payload":` + payload
	if !goStyle {
		body += `,"registrationTimeUTC":` + pick("time", "1796089597998", "0", "null") + `,"serviceType":` + pick("type", `"DYNAMIC"`, `"STATIC"`, `"DYNAMIC_SEQUENTIAL"`) + `,"uriSpec":` + uris.Draw(t, "uri")
	}
	body += pick("tail", "", "", "", `,"enabled":true`, `,"enabled":false`, `,"tag":"x"`) + "}"
	return service + "/" + id, []byte(body)
}

func found(t *rapid.T) (string, registryclient.Instance) {
	metadata := map[string]string{}
	for range rapid.IntRange(0, 5).Draw(t, "metadata") {
		metadata[discoveryKey.Draw(t, "key")] = discoveryVal.Draw(t, "value")
	}
	return anyService.Draw(t, "service"), registryclient.Instance{
		IP: anyHost.Draw(t, "ip"), Port: anyPort.Draw(t, "port"), Weight: rapid.SampledFrom([]float64{0, 1, 1}).Draw(t, "weight"),
		Enabled: rapid.IntRange(0, 9).Draw(t, "disabled") > 0, Healthy: rapid.Bool().Draw(t, "healthy"), Metadata: metadata,
	}
}

func discoveries() []*translate.Discovery {
	return []*translate.Discovery{translate.NewDubboApp("a7"), translate.NewSpringCloud("a7"), translate.NewCurator("a7")}
}

func TestRecordsSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rel, data := records(t)
		for _, d := range discoveries() {
			checkRecord(t, d, rel, data)
		}
	})
}

// TestRecordsThatAreTried says that TestRecordsSurvive is about something.
func TestRecordsThatAreTried(t *testing.T) {
	type node struct {
		rel  string
		data []byte
	}
	nodes := rapid.Custom(func(t *rapid.T) node { rel, data := records(t); return node{rel, data} })
	published, exact := map[string]int{}, map[string]int{}
	for seed := range 2000 {
		n := nodes.Example(seed)
		for _, d := range discoveries() {
			if e, err := d.FromZnode(n.rel, n.data); err == nil {
				published[d.Name()]++
				if e.Exact {
					exact[d.Name()]++
				}
			}
		}
	}
	for _, d := range discoveries() {
		if published[d.Name()] < 10 || exact[d.Name()] == 0 || exact[d.Name()] == published[d.Name()] {
			t.Fatalf("published %v, exact %v", published, exact)
		}
	}
}

func TestFoundInstancesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service, in := found(t)
		for _, d := range discoveries() {
			checkFound(t, d, service, in)
		}
	})
}

func FuzzInstanceFromZnode(f *testing.F) {
	for _, n := range corpus(f, "instances.txt") {
		rel, data, _ := strings.Cut(n.rel, " ")
		f.Add(rel, []byte(data))
	}
	f.Add("cart/7f3c0000-0000-4000-8000-000000000001", []byte(spring("8080", "8443", "OUT_OF_SERVICE")))
	f.Fuzz(func(t *testing.T, rel string, data []byte) {
		for _, d := range discoveries() {
			checkRecord(t, d, rel, data)
		}
	})
}

func FuzzInstanceToZnode(f *testing.F) {
	f.Add("order", "10.0.0.1", 20880, "dubbo.metadata.revision=1\nzkb.t=5")
	f.Add("shop/cart", "2001:db8::1", 80, "preserved.register.source=SPRING_CLOUD\nsecure=true\nzkb.port=8080\nzkb=1.sj.a7.cc91c0106e60")
	f.Add("greet", "node", 80, "zkb.payload={\"a\":1}\nzkb.ssl=443\nzkb=1.oje.a7.cc91c0106e60")
	f.Fuzz(func(t *testing.T, service, ip string, port int, metadata string) {
		in := registryclient.Instance{IP: ip, Port: port, Weight: 1, Enabled: true, Healthy: true, Metadata: map[string]string{}}
		for line := range strings.SplitSeq(metadata, "\n") {
			k, v, _ := strings.Cut(line, "=")
			in.Metadata[k] = v
		}
		for _, d := range discoveries() {
			checkFound(t, d, service, in)
		}
	})
}
