package observer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/compat-tests/observer"
)

func TestTimeline(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	list := func(s int, side observer.Side, service string, addresses ...string) observer.Event {
		e := observer.Event{At: at(s), Kind: observer.List, Side: side, Service: service}
		for _, a := range addresses {
			e.Items = append(e.Items, observer.Item{Address: a})
		}
		return e
	}
	line := observer.TimelineOf([]observer.Event{
		list(5, observer.ZooKeeperSide, "s::", "a:1"),
		list(1, observer.ZooKeeperSide, "s::", "b:1", "a:1"),
		list(2, observer.RegistrySide, "s::"),
		list(2, observer.ZooKeeperSide, "other::"),
		{At: at(3), Kind: observer.Blind, Side: observer.ZooKeeperSide},
		list(6, observer.ZooKeeperSide, "s::", "a:1", "a:1"),
	}, observer.ZooKeeperSide, "s::")
	require.Equal(t, observer.Timeline{
		{From: at(1), To: at(3), Addresses: []string{"a:1", "b:1"}},
		{From: at(5), To: at(6), Addresses: []string{"a:1"}},
		{From: at(6), Addresses: []string{"a:1", "a:1"}},
	}, line)
	require.Equal(t, line[:1], line.Between(at(0), at(5)))
	require.Equal(t, line[1:], line.Between(at(3), time.Time{}))
	require.Equal(t, 1, line.Shortest())
	require.Equal(t, []string{"a:1", "a:1"}, line.Last())
	twice, ok := line.Doubled()
	require.True(t, ok)
	require.Equal(t, line[2], twice)
	lacks, ok := line.Without("b:1")
	require.True(t, ok)
	require.Equal(t, line[1], lacks)
	_, ok = line.Without("a:1")
	require.False(t, ok)
}
