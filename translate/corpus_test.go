package translate_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zkbridge/translate"
)

// recorded reads a file of names: one path below the root a line, under a
// comment that says which application wrote it.
type recorded struct{ application, rel string }

func corpus(tb testing.TB, file string) []recorded {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "fixtures", "names", file))
	require.NoError(tb, err)
	defer f.Close()
	var names []recorded
	application := ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "# "):
			application = line[2:]
		case line != "":
			names = append(names, recorded{application, line})
		}
	}
	require.NoError(tb, lines.Err())
	require.NotEmpty(tb, names)
	return names
}

// What real applications write comes back byte for byte.
//
// Pitfall P54: the timestamp, from which Dubbo warms up, goes both ways.
func TestRecordedProvidersAreExact(t *testing.T) {
	d := translate.NewDubbo("a7")
	services := map[string]bool{}
	for _, n := range corpus(t, "dubbo-providers.txt") {
		t.Run(n.application, func(t *testing.T) {
			e, err := d.FromZnode(n.rel, nil)
			require.NoError(t, err)
			require.True(t, e.Exact)
			services[e.Service] = true
			require.Equal(t, "192.0.2.10", e.Instance.IP)
			require.Equal(t, "com.example.demo.GreetService::", e.Address.Service)

			z, err := d.ToZnode(e.Service, e.Instance)
			require.NoError(t, err)
			require.Equal(t, n.rel, z.Dir+"/"+z.Name)
			require.Equal(t, e.Address, z.Address)
			require.Empty(t, z.Dropped)

			m, ok := translate.ParseMarker(e.Instance.Metadata)
			require.True(t, ok)
			wantStyle := byte(translate.FlagJava)
			if strings.HasPrefix(n.application, "dubbo-go") {
				wantStyle = translate.FlagGo
			}
			require.True(t, m.Has(wantStyle), "flags %s", m.Flags)
			require.False(t, m.Has(translate.FlagStored))
		})
	}
	require.Equal(t, map[string]bool{"providers:com.example.demo.GreetService::": true}, services)
}

// Consumers stay local (P26), and so does everything else that applications
// keep below the root.
func TestRecordedConsumersAndDocumentsStayLocal(t *testing.T) {
	d := translate.NewDubbo("a7")
	for _, n := range corpus(t, "dubbo-consumers.txt") {
		require.Equal(t, translate.KindCategory, d.Classify(n.rel).Kind, n.rel)
		requireRefusal(t, d, n.rel, translate.ReasonNotProvider)
	}
	for _, n := range corpus(t, "dubbo-others.txt") {
		p := d.Classify(n.rel)
		require.NotEqual(t, translate.KindAddress, p.Kind, n.rel)
		if !strings.HasPrefix(n.rel, "com.example.demo.GreetService") && n.rel != "go-app" {
			require.True(t, p.Kind == translate.KindElsewhere || p.Kind.Document(), n.rel)
		}
		if doc, ok := translate.DocumentAt(n.rel); ok {
			require.Equal(t, n.rel, doc.Rel())
			require.Equal(t, doc.Kind, p.Kind)
		}
		requireRefusal(t, d, n.rel, translate.ReasonNotProvider)
	}
}

func requireRefusal(t *testing.T, d *translate.Dubbo, rel string, want translate.Reason) {
	t.Helper()
	_, err := d.FromZnode(rel, nil)
	var r *translate.Refusal
	require.ErrorAs(t, err, &r, rel)
	require.Equal(t, want, r.Reason, "%s: %s", rel, r.Text)
	require.NotEmpty(t, r.Text)
}
