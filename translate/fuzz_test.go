package translate_test

import (
	"strings"
	"testing"

	"zkbridge/registryclient"
	"zkbridge/translate"
)

func FuzzFromZnode(f *testing.F) {
	for _, file := range []string{"dubbo-providers.txt", "dubbo-consumers.txt", "dubbo-others.txt"} {
		for _, n := range corpus(f, file) {
			f.Add(n.rel)
		}
	}
	f.Add("com.acme.A%24B/providers/" + name("tri://u:p@[2001:db8::1]:1/ctx/p?a=1;a=2&b&interface=com.acme.A$B&version=1&group=g&dynamic=false"))
	f.Fuzz(func(t *testing.T, rel string) { checkName(t, translate.NewDubbo("a7"), rel) })
}

func FuzzToZnode(f *testing.F) {
	f.Add("providers:com.acme.Foo::", "10.0.0.1", 20880, "interface=com.acme.Foo\npath=/com.acme.Foo\nprotocol=tri\nzkb=1.g.b2.cc91c0106e60\nm=*~")
	f.Add("providers:com.acme.A___B:1.0:g", "2001:db8::1", 1, "version=1.0\ngroup=g\na=b;c&d")
	f.Add("providers:com.acme.Foo:1.0", "node", 65535, "")
	f.Fuzz(func(t *testing.T, service, ip string, port int, metadata string) {
		in := registryclient.Instance{IP: ip, Port: port, Weight: 1, Enabled: true, Metadata: map[string]string{}}
		for line := range strings.SplitSeq(metadata, "\n") {
			k, v, _ := strings.Cut(line, "=")
			in.Metadata[k] = v
		}
		checkInstance(t, translate.NewDubbo("a7"), service, in)
	})
}
