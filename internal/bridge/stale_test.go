package bridge_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// Field report 19 as an operator meets it: a consumer that is told of a change
// and does not list the directory again is in the metric, in the list and in
// explain, until it does.
func TestFieldReport19IsShownToOperators(t *testing.T) {
	c := defaults(t)
	c.Server.StaleAfter = 50 * time.Millisecond
	r := start(t, c)
	ready(t, r)
	consumer, provider := connect(t, r), connect(t, r)
	makeDirs(t, provider, providers)
	_, _, events, err := consumer.ChildrenW(providers)
	require.NoError(t, err)
	stale := func() (list []struct {
		Session, Client, Path string
		Since                 time.Time
	},
	) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.AdminURL()+"/stale-consumers", nil)
		require.NoError(t, err)
		req.Header.Set("Accept", "application/json")
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		require.Equal(t, 200, res.StatusCode)
		require.NoError(t, json.NewDecoder(res.Body).Decode(&list))
		return list
	}
	require.Empty(t, stale())
	before := time.Now()
	_, err = provider.Create(providers+"/"+providerName("192.0.2.1:20880"), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	require.Equal(t, zk.EventNodeChildrenChanged, (<-events).Type)

	require.Eventually(t, func() bool { return len(stale()) == 1 }, 5*time.Second, 5*time.Millisecond)
	session := fmt.Sprintf("0x%x", uint64(consumer.SessionID()))
	got := stale()[0]
	require.Equal(t, session, got.Session)
	require.Equal(t, providers, got.Path)
	require.NotEmpty(t, got.Client)
	require.WithinRange(t, got.Since, before, time.Now())
	_, text := get(t, r.AdminURL()+"/metrics")
	require.Contains(t, text, "\nzkbridge_stale_consumers 1\n")
	_, text = get(t, r.AdminURL()+"/stale-consumers")
	require.Contains(t, text, "Session "+session+" of "+got.Client+" has not listed "+providers+" again since")
	_, text = get(t, r.AdminURL()+"/explain?path="+url.QueryEscape(providers))
	require.Contains(t, text, "192.0.2.1")
	require.Contains(t, text, "\nStale consumer: session "+session+" of "+got.Client+" has not listed it again since")

	_, _, _, err = consumer.ChildrenW(providers)
	require.NoError(t, err)
	require.Empty(t, stale())
	_, text = get(t, r.AdminURL()+"/metrics")
	require.Contains(t, text, "\nzkbridge_stale_consumers 0\n")
	_, text = get(t, r.AdminURL()+"/explain?path="+url.QueryEscape(providers))
	require.NotContains(t, text, "Stale consumer")
}

func TestNobodyLooksForStaleConsumersUnlessAsked(t *testing.T) {
	c := defaults(t)
	c.Server.StaleAfter = 0
	r := start(t, c)
	code, text := get(t, r.AdminURL()+"/stale-consumers")
	require.Equal(t, http.StatusNotFound, code)
	require.Contains(t, text, "server.staleAfter is 0")
}
