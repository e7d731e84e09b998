package clients

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlainLineHasNothingOfOneRun(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"a time of the C shell", "\tctime = Tue Dec  1 05:01:06 2026", "\tctime = T"},
		{"a time of ZooKeeper's shell", "mtime = Tue Dec 01 05:01:17 UTC 2026", "mtime = T"},
		{"a zxid", "pZxid = 0x15", "pZxid = Z"},
		{"a zxid of the C shell", "\tmzxid=d", "\tmzxid=Z"},
		{"an owner", "ephemeralOwner = 0x100000200000002", "ephemeralOwner = somebody"},
		{"no owner", "ephemeralOwner = 0x0", "ephemeralOwner = 0x0"},
		{"no owner in the C shell", "\tephemeralOwner = 0", "\tephemeralOwner = 0"},
		{"names in any order", "[b, a]", "[a, b]"},
		{"a session", "Got a new session id: 0x100000200000001", "Got a new session id: ID"},
		{"a version", "dataVersion = 3", "dataVersion = 3"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, plainLine(c.line)) })
	}
}

func TestSortedListsSortsNamesOnly(t *testing.T) {
	lines := []string{"/d: rc = 0", "\tb", "\ta", "\tctime = T", "\tczxid=Z", "Stat:", "\tz", "\ty"}
	require.Equal(t, []string{"/d: rc = 0", "\ta", "\tb", "\tctime = T", "\tczxid=Z", "Stat:", "\ty", "\tz"}, sortedLists(lines))
}

// A transcript is taken apart into scenarios, and what a program says otherwise
// is not part of it.
func TestLinesThatMeanSomething(t *testing.T) {
	require.Equal(t, []string{"bridge> plain.Nodes: a -> b: c", "bridge", "plain.Nodes", "a -> b: c"}, says.FindStringSubmatch("bridge> plain.Nodes: a -> b: c"))
	require.Nil(t, says.FindStringSubmatch("WARN something"))
	require.Equal(t, []string{"zookeeper DO cut", "zookeeper", "cut"}, asks.FindStringSubmatch("zookeeper DO cut"))
	require.NotNil(t, asks.FindStringSubmatch("END"))
	require.Nil(t, asks.FindStringSubmatch("THE END"))
}
