package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/registryclient"
	"zkbridge/translate"
)

var (
	svc = registryclient.Service{Namespace: "n", Group: "g", Name: "s"}
	day = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func plain(ip, who string) registryclient.Instance {
	return registryclient.Instance{IP: ip, Port: 1, Metadata: map[string]string{"who": who}}
}

func marked(ip, cluster string) registryclient.Instance {
	in := plain(ip, "marked")
	in.Metadata[translate.MarkerKey] = translate.Marker{Flags: "j", Cluster: cluster, Fingerprint: "0123456789ab"}.String()
	return in
}

// TestEcho goes through lists one after another, with what we publish and
// withdraw in between.
func TestEcho(t *testing.T) {
	type step struct {
		publish []registryclient.Instance // nil: nothing happens on our side; empty: all withdrawn
		pass    time.Duration
		list    []registryclient.Instance
		foreign []string // "who" of them
		own     int
		again   time.Duration // from the beginning; 0: not
		noList  bool
	}
	none := []registryclient.Instance{}
	a := "10.0.0.1"
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"never ours", []step{{list: []registryclient.Instance{plain(a, "x")}, foreign: []string{"x"}}}},
		{"another cluster's marker", []step{{list: []registryclient.Instance{marked(a, "c2")}, foreign: []string{"marked"}}}},
		{"our marker without a record of it", []step{{list: []registryclient.Instance{marked(a, "c1")}, own: 1}}},
		{"stripped", []step{{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{plain(a, "x")}, own: 1, again: 5 * time.Minute}}},
		{"stripped, in another spelling", []step{{publish: []registryclient.Instance{plain("::ffff:10.0.0.1", "")}, list: []registryclient.Instance{plain(a, "x")}, own: 1, again: 5 * time.Minute}}},
		{"a second one beside ours", []step{{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{marked(a, "c1"), plain(a, "x")}, foreign: []string{"x"}, own: 1}}},
		{"a second one beside ours, both stripped", []step{{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{plain(a, "x"), plain(a, "y")}, foreign: []string{"y"}, own: 1}}},
		{"ours is withdrawn for it, and it stays somebody else's", []step{
			{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{marked(a, "c1"), plain(a, "x")}, foreign: []string{"x"}, own: 1},
			{publish: none, list: []registryclient.Instance{plain(a, "x")}, foreign: []string{"x"}},
			{pass: time.Minute, list: []registryclient.Instance{plain(a, "x")}, foreign: []string{"x"}},
			{list: none},
			{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{plain(a, "stripped")}, own: 1, again: 6 * time.Minute},
		}},
		{"ours stays when the second one goes", []step{
			{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{marked(a, "c1"), plain(a, "x")}, foreign: []string{"x"}, own: 1},
			{list: []registryclient.Instance{marked(a, "c1")}, own: 1},
			{list: []registryclient.Instance{plain(a, "stripped")}, own: 1, again: 5 * time.Minute},
		}},
		{"a late echo of what was withdrawn", []step{
			{publish: []registryclient.Instance{plain(a, "")}, noList: true},
			{publish: none, pass: time.Minute, list: []registryclient.Instance{plain(a, "x")}, own: 1, again: 5 * time.Minute},
			{pass: 3 * time.Minute, list: []registryclient.Instance{plain(a, "x")}, own: 1, again: 5 * time.Minute},
			{pass: time.Minute, list: []registryclient.Instance{plain(a, "x")}, foreign: []string{"x"}},
		}},
		{"gone and back without a marker", []step{
			{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{marked(a, "c1")}, own: 1},
			{publish: none, list: none},
			{list: []registryclient.Instance{plain(a, "x")}, foreign: []string{"x"}},
			{list: []registryclient.Instance{plain(a, "x")}, foreign: []string{"x"}},
		}},
		{"seen to be gone before the withdrawal was answered, and back", []step{
			{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{marked(a, "c1")}, own: 1},
			{list: none},
			{publish: none, list: []registryclient.Instance{plain(a, "x")}, foreign: []string{"x"}},
		}},
		{"not shown yet, withdrawn, and its late echo", []step{
			{publish: []registryclient.Instance{plain(a, "")}, list: none},
			{publish: none, list: []registryclient.Instance{plain(a, "x")}, own: 1, again: 5 * time.Minute},
		}},
		{"gone and back with our marker", []step{
			{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{marked(a, "c1")}, own: 1},
			{publish: none, list: none},
			{list: []registryclient.Instance{marked(a, "c1")}, own: 1},
		}},
		{"neighbours are not touched", []step{
			{publish: []registryclient.Instance{plain(a, "")}, list: []registryclient.Instance{marked(a, "c1"), plain("10.0.0.2", "x")}, foreign: []string{"x"}, own: 1},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable()
			e := &echo{table: table, cluster: "c1"}
			now := day
			for i, s := range c.steps {
				if s.publish != nil {
					table.Publishing(svc, s.publish)
					table.Published(svc, s.publish, now)
				}
				now = now.Add(s.pass)
				if s.noList {
					continue
				}
				by := make(map[string][]registryclient.Instance)
				for _, in := range s.list {
					by[in.Address()] = append(by[in.Address()], in)
				}
				foreign, own, again := table.sort(svc, by, e.marked, now)
				var who []string
				for _, in := range foreign {
					who = append(who, in.Metadata["who"])
				}
				slices.Sort(who)
				require.Equal(t, s.foreign, who, "step %d", i)
				require.Equal(t, s.own, own, "step %d", i)
				want := time.Time{}
				if s.again != 0 {
					want = day.Add(s.again)
				}
				require.Equal(t, want, again, "step %d", i)
			}
		})
	}
}

func TestRegistrySaysOwn(t *testing.T) {
	e := &echo{table: newTable(), cluster: "c1"}
	e.table.Publishing(svc, []registryclient.Instance{plain("10.0.0.1", "")})
	list, own, again := e.foreign(registryclient.Snapshot{Service: svc, Instances: []registryclient.Observed{
		{Instance: marked("10.0.0.1", "c1"), Own: registryclient.Yes},
		{Instance: plain("10.0.0.1", "x"), Own: registryclient.No},
		{Instance: marked("10.0.0.2", "c1"), Own: registryclient.No},
	}})
	require.Len(t, list, 2)
	require.Equal(t, 1, own)
	require.Zero(t, again)
}

func TestTableOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "published")
	now := time.Now().Truncate(time.Second)
	one, two, three := plain("10.0.0.1", ""), plain("10.0.0.2", ""), plain("10.0.0.3", "")
	table, err := OpenTable(path)
	require.NoError(t, err)
	table.Publishing(svc, []registryclient.Instance{one, two, three})
	table.Published(svc, []registryclient.Instance{one, two, three}, now)
	table.Published(svc, []registryclient.Instance{one, three}, now)
	table.Published(svc, []registryclient.Instance{one}, now.Add(-6*time.Minute)) // three went long ago
	// killed here: nothing is closed

	again, err := OpenTable(path)
	require.NoError(t, err)
	require.Equal(t, map[string]entry{"10.0.0.1:1": {State: published}, "10.0.0.2:1": {State: withdrawn, When: now}}, sameTimes(again.entries[svc]))
	require.Equal(t, []registryclient.Service{svc}, again.Services())

	for range 3000 {
		again.Publishing(svc, []registryclient.Instance{three})
		again.Published(svc, []registryclient.Instance{one}, now)
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Less(t, strings.Count(string(text), "\n"), 1100, "it is rewritten now and then")
	require.Zero(t, again.Errors())
	require.NoError(t, again.Close())
	require.NoError(t, again.Close())
	again.Publishing(svc, []registryclient.Instance{two}) // in memory only

	// The last line was being written.
	require.NoError(t, os.WriteFile(path, text[:len(text)-5], 0o600))
	torn, err := OpenTable(path)
	require.NoError(t, err)
	require.Equal(t, published, torn.entries[svc]["10.0.0.1:1"].State)
	require.NoError(t, torn.Close())

	require.NoError(t, os.WriteFile(path, []byte("something else\n"), 0o600))
	_, err = OpenTable(path)
	require.ErrorContains(t, err, "move it away")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	empty, err := OpenTable(path)
	require.NoError(t, err)
	require.NoError(t, empty.Close())
	_, err = OpenTable(filepath.Join(path, "below a file"))
	require.Error(t, err)
}

func sameTimes(m map[string]entry) map[string]entry {
	out := make(map[string]entry)
	for k, e := range m {
		if e.State == published {
			e.When = time.Time{}
		}
		out[k] = e
	}
	return out
}

// A disk that does not take the records is counted; the table works on.
func TestTableWithoutDisk(t *testing.T) {
	table, err := OpenTable(filepath.Join(t.TempDir(), "published"))
	require.NoError(t, err)
	require.NoError(t, table.file.Close())
	table.Publishing(svc, []registryclient.Instance{plain("10.0.0.1", "")})
	require.Equal(t, uint64(1), table.Errors())
	require.Equal(t, []registryclient.Service{svc}, table.Services())
}

// A disk that was full has left half a line, and lacks others: all are there
// again as soon as it takes them.
func TestTableAfterAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "published")
	table, err := OpenTable(path)
	require.NoError(t, err)
	require.NoError(t, table.file.Close())
	require.NoError(t, os.WriteFile(path, []byte(tableHeader+"\n{\"namesp"), 0o600))
	table.file, err = os.Open(path) // takes no writes
	require.NoError(t, err)
	table.path = filepath.Join(path, "below a file") // nor can it be made anew
	table.Publishing(svc, []registryclient.Instance{plain("10.0.0.1", "")})
	table.Publishing(svc, []registryclient.Instance{plain("10.0.0.2", "")})
	require.Equal(t, uint64(2), table.Errors(), "the disk is left in peace for a second")

	table.path = path
	table.torn = table.torn.Add(-tornRetry)
	table.Publishing(svc, []registryclient.Instance{plain("10.0.0.3", "")})
	table.Publishing(svc, []registryclient.Instance{plain("10.0.0.4", "")})
	require.Equal(t, uint64(2), table.Errors())
	again, err := OpenTable(path)
	require.NoError(t, err)
	require.Len(t, again.entries[svc], 4)
	require.NoError(t, again.Close())
}
