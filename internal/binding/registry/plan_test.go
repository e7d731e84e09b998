package registry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
	"zkbridge/translate"
)

func item(ip, protocol, extra string) claims.Listed {
	return claims.Listed{
		Instance: registryclient.Instance{IP: ip, Port: 1, Metadata: map[string]string{"p": protocol, "x": extra}},
		At:       ip + ":1",
		Address:  claims.Address{Address: translate.Address{Protocol: protocol, Host: ip, Port: 1}},
	}
}

func TestPlan(t *testing.T) {
	a, a2, tri, b := item("a", "dubbo", ""), item("a", "dubbo", "2"), item("a", "tri", ""), item("b", "dubbo", "")
	ago := func(ms int) time.Time { return day.Add(-time.Duration(ms) * time.Millisecond) }
	in := func(ms int) time.Time { return ago(-ms) }
	for _, c := range []struct {
		name      string
		want, has []claims.Listed
		going     map[string]time.Time
		missing   time.Time
		list      []claims.Listed
		next      time.Time
	}{
		{name: "nothing"},
		{name: "new", want: []claims.Listed{b, a}, list: []claims.Listed{a, b}},
		{name: "the same", want: []claims.Listed{a}, has: []claims.Listed{a}, list: []claims.Listed{a}},
		{name: "other metadata go at once", want: []claims.Listed{a2}, has: []claims.Listed{a}, list: []claims.Listed{a2}},
		{name: "gone just now", has: []claims.Listed{a}, list: []claims.Listed{a}, missing: ago(0), next: in(900)},
		{name: "gone for a while", has: []claims.Listed{a}, list: []claims.Listed{a}, missing: ago(300), next: in(600)},
		{name: "gone long enough", has: []claims.Listed{a}, missing: ago(900)},
		{name: "its own time counts", has: []claims.Listed{a}, list: []claims.Listed{a}, going: map[string]time.Time{"a:1": in(5)}, missing: ago(5000), next: in(5)},
		{name: "its time has come", has: []claims.Listed{a, b}, list: []claims.Listed{b}, going: map[string]time.Time{"a:1": in(0)}, missing: ago(100), next: in(800)},
		{name: "back in time", want: []claims.Listed{a}, has: []claims.Listed{a}, list: []claims.Listed{a}, going: map[string]time.Time{"a:1": in(5)}},
		{name: "another protocol takes over, not yet", want: []claims.Listed{tri}, has: []claims.Listed{a}, list: []claims.Listed{a}, missing: ago(0), next: in(900)},
		{name: "another protocol takes over", want: []claims.Listed{tri}, has: []claims.Listed{a}, list: []claims.Listed{tri}, missing: ago(900)},
		{name: "new beside gone", want: []claims.Listed{b}, has: []claims.Listed{a}, list: []claims.Listed{a, b}, missing: ago(0), next: in(900)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := makePlan(c.want, c.has, c.going, c.missing, day, 900*time.Millisecond)
			require.Equal(t, c.list, p.list)
			require.Equal(t, c.next, p.next)
			if !c.next.IsZero() {
				require.NotEmpty(t, p.going)
			}
			later := makePlan(c.want, c.has, p.going, in(400), in(400), 900*time.Millisecond)
			if c.next.IsZero() {
				require.Equal(t, c.list, later.list, "what has been taken out stays out when the call is repeated")
			}
		})
	}
}

func TestBackoffIsFullJitter(t *testing.T) {
	jitter := 0.999
	p := newPublisher(Config{RetryMin: 200 * time.Millisecond, RetryMax: 10 * time.Second, Jitter: func() float64 { return jitter }})
	require.InDelta(t, 200*time.Millisecond, p.backoff(1), float64(time.Millisecond))
	require.InDelta(t, 800*time.Millisecond, p.backoff(3), float64(2*time.Millisecond))
	require.InDelta(t, 10*time.Second, p.backoff(7), float64(20*time.Millisecond))
	require.InDelta(t, 10*time.Second, p.backoff(1_000_000), float64(20*time.Millisecond))
	jitter = 0
	require.Zero(t, p.backoff(5))
}
