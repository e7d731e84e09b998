//go:build compat

package nacos_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/nacos"
)

// documentsClient is a client of its own that runs until the test ends.
func documentsClient(t *testing.T, bridge uint8) *nacos.Client {
	t.Helper()
	c, err := nacos.New(nacos.Config{
		Servers: []string{shared(t).Addr()}, Owner: rc.Owner{Cluster: "documents", Bridge: bridge, Incarnation: 1}, ReconnectMax: 500 * time.Millisecond,
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	require.Eventually(t, func() bool { return c.LinkState().Up }, 10*time.Second, 10*time.Millisecond)
	return c
}

// TestDocuments: Nacos's configuration service keeps documents with an exact
// compare-and-set, although it tells several that create one at once that they did.
func TestDocuments(t *testing.T) {
	ctx := t.Context()
	a, b := documentsClient(t, 1), documentsClient(t, 2)
	group := fmt.Sprintf("documents-%d", suite.namespaces.Add(1))
	key := func(name string) rc.Key { return rc.Key{Namespace: "public", Group: group, Name: name} }

	k := key("com.example.Greeter::provider:app")
	_, err := a.Document(ctx, k)
	require.ErrorIs(t, err, rc.ErrNotFound)
	first, err := a.PutDocument(ctx, k, []byte("one"), rc.NoRevision)
	require.NoError(t, err)
	_, err = b.PutDocument(ctx, k, []byte("two"), rc.NoRevision)
	require.ErrorIs(t, err, rc.ErrStale, "there is one")
	second, err := b.PutDocument(ctx, k, []byte("two"), first.Revision)
	require.NoError(t, err)
	_, err = a.PutDocument(ctx, k, []byte("three"), first.Revision)
	require.ErrorIs(t, err, rc.ErrStale)
	read, err := a.Document(ctx, k)
	require.NoError(t, err)
	require.Equal(t, second, read)
	for name, data := range map[string]string{"blank": " ", "empty": "", "binary": "\xff\x00", "chinese": "中文", "$ name; with & signs": "x"} {
		_, err := a.PutDocument(ctx, key(name), []byte(data), rc.NoRevision)
		require.NoError(t, err, name)
		d, err := b.Document(ctx, key(name))
		require.NoError(t, err, name)
		require.Equal(t, data, string(d.Data), name)
	}
	list, err := b.Documents(ctx, "public", group)
	require.NoError(t, err)
	require.Len(t, list, 6)

	t.Run("one of several that create wins", func(t *testing.T) {
		k := key("raced")
		var won atomic.Int64
		var racers sync.WaitGroup
		for i := range 8 {
			racers.Go(func() {
				c := []*nacos.Client{a, b}[i%2]
				_, err := c.PutDocument(ctx, k, []byte(strconv.Itoa(i)), rc.NoRevision)
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, rc.ErrStale) {
					t.Errorf("racer %d: %v", i, err)
				}
			})
		}
		racers.Wait()
		require.EqualValues(t, 1, won.Load())
	})

	t.Run("no addition is lost", func(t *testing.T) {
		k := key("added")
		const each = 5
		var adders sync.WaitGroup
		for i := range 4 {
			adders.Go(func() {
				c := []*nacos.Client{a, b}[i%2]
				for n := 0; n < each; {
					d, err := c.Document(ctx, k)
					if err != nil && !errors.Is(err, rc.ErrNotFound) {
						t.Errorf("adder %d: %v", i, err)
						return
					}
					_, err = c.PutDocument(ctx, k, append(append([]byte{}, d.Data...), byte('a'+i)), d.Revision)
					if err == nil {
						n++
					} else if !errors.Is(err, rc.ErrStale) {
						t.Errorf("adder %d: %v", i, err)
						return
					}
				}
			})
		}
		adders.Wait()
		d, err := a.Document(ctx, k)
		require.NoError(t, err)
		require.Len(t, d.Data, 4*each)
	})

	t.Run("a watch sees what comes, changes and goes", func(t *testing.T) {
		k := key("watched")
		watching, stop := context.WithCancel(ctx)
		seen := make(chan rc.Document, 100)
		ended := make(chan error, 1)
		go func() { ended <- b.WatchDocument(watching, k, func(d rc.Document) { seen <- d }) }()
		await := func(revision, data string) {
			t.Helper()
			for limit := time.After(15 * time.Second); ; {
				select {
				case d := <-seen:
					if d.Revision == revision && string(d.Data) == data {
						return
					}
				case <-limit:
					t.Fatalf("%q was not seen", data)
				}
			}
		}
		await(rc.NoRevision, "")
		d, err := a.PutDocument(ctx, k, []byte("1"), rc.NoRevision)
		require.NoError(t, err)
		await(d.Revision, "1")
		d, err = a.PutDocument(ctx, k, []byte("2"), d.Revision)
		require.NoError(t, err)
		await(d.Revision, "2")
		require.ErrorIs(t, a.DeleteDocument(ctx, k, "other"), rc.ErrStale)
		require.NoError(t, a.DeleteDocument(ctx, k, d.Revision))
		await(rc.NoRevision, "")
		_, err = b.Document(ctx, k)
		require.ErrorIs(t, err, rc.ErrNotFound)
		require.ErrorIs(t, a.DeleteDocument(ctx, k, d.Revision), rc.ErrNotFound)
		stop()
		require.NoError(t, <-ended)
	})
}
