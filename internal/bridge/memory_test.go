package bridge_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"zkbridge/internal/binding/registry"
	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
	"zkbridge/sessions"
	"zkbridge/translate"
	"zkbridge/zkproto"
)

// nodes is how many providers TestMemory makes: `make memory` has a million.
var nodes = flag.Int("nodes", 10_000, "provider nodes of TestMemory")

// perService is how many providers a service of TestMemory has.
const perService = 100

// crowd is many providers: ten of them belong to one session, and each has a
// name of 480 bytes.
type crowd struct {
	n int
}

func (c crowd) dir(i int) string {
	return fmt.Sprintf("/dubbo/com.example.crowd.Service%06d/providers", i/perService)
}

func (c crowd) path(i int) string {
	iface := fmt.Sprintf("com.example.crowd.Service%06d", i/perService)
	name := fmt.Sprintf("dubbo%%3A%%2F%%2F10.%d.%d.%d%%3A20880%%2F%s%%3Fanyhost%%3Dtrue%%26application%%3Dcrowd-provider%%26deprecated%%3Dfalse%%26dubbo%%3D2.0.2%%26dynamic%%3Dtrue"+
		"%%26generic%%3Dfalse%%26interface%%3D%s%%26methods%%3Dgreet%%2Cecho%%2Csum%%26pid%%3D%d%%26release%%3D3.3.6%%26side%%3Dprovider%%26timestamp%%3D%d%%26revision%%3D",
		i>>16, i>>8&255, i&255, iface, iface, i%32768, 1760000000000+i)
	return c.dir(i) + "/" + name + strings.Repeat("0", 480-len(name))
}

// fill makes the nodes in a tree.
func (c crowd) fill(t *testing.T, tree *znode.Tree) {
	t.Helper()
	create := func(z znode.Create) {
		z.ACL = zkproto.WorldAnyone()
		tree.Update(znode.Origin{Kind: znode.Operation, Session: z.Owner}, func(x *znode.Tx) error {
			_, _, err := x.Create(z)
			return err
		}, func(r znode.Result) { require.NoError(t, r.Err) })
	}
	create(znode.Create{Path: "/dubbo"})
	for i := range c.n {
		if i%perService == 0 {
			dir := c.dir(i)
			create(znode.Create{Path: strings.TrimSuffix(dir, "/providers")})
			create(znode.Create{Path: dir})
		}
		create(znode.Create{Path: c.path(i), Data: []byte("192.0.2.10"), Kind: znode.Ephemeral, Owner: int64(i/10 + 1)})
	}
}

// TestMemory: what provider nodes cost in each layer, in bytes for each and in
// all. It asks for no figure, only that each layer has all of them.
func TestMemory(t *testing.T) {
	c := crowd{n: *nodes}
	used := func() int64 {
		runtime.GC()
		runtime.GC() // what the first one's finalizers held
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var sum int64
	say := func(layer string, bytes int64) {
		sum += bytes
		t.Logf("%-34s %8d bytes each %8.1f MB", layer, bytes/int64(c.n), float64(bytes)/1e6)
	}
	t.Logf("%d provider nodes, names of 480 bytes, %d of each service", c.n, perService)

	start := used()
	bare, err := znode.New(znode.Config{Reserved: sessions.ReservedID(1)})
	require.NoError(t, err)
	c.fill(t, bare)
	znodes := used() - start
	say("znode (the name among it)", znodes)
	runtime.KeepAlive(bare)

	start = used()
	spaces, err := claims.NewSpaces([]claims.Space{{
		Name: "dubbo", Namespace: "public", Group: "DEFAULT_GROUP",
		Roots: []claims.Root{{Pattern: "/dubbo", Layouts: []translate.Layout{translate.NewDubbo("c")}}},
	}})
	require.NoError(t, err)
	book := claims.NewBook(claims.BookConfig{Spaces: spaces, Reserved: sessions.ReservedID(1), Bridge: 1, Incarnation: 1})
	tree, err := znode.New(znode.Config{Reserved: sessions.ReservedID(1), Hook: book})
	require.NoError(t, err)
	owner := registryclient.Owner{Cluster: "c", Bridge: 1, Incarnation: 1}
	reg, err := embedded.New(embedded.Config{})
	require.NoError(t, err)
	client, err := embedded.NewLocal(reg, owner, 0)
	require.NoError(t, err)
	binding, err := registry.New(registry.Config{Book: book, Client: client, Owner: owner})
	require.NoError(t, err)
	require.NoError(t, book.Load(tree))
	c.fill(t, tree)
	claimed := used()
	say("claim", claimed-start-znodes)

	ctx, cancel := context.WithCancel(t.Context())
	g, ctx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		require.NoError(t, g.Wait())
	}()
	g.Go(func() error { return reg.Run(ctx) })
	g.Go(func() error { return client.Run(ctx) })
	g.Go(func() error { return binding.Run(ctx) })
	require.Eventually(t, func() bool { return reg.Stats().OwnedInstances == c.n }, 10*time.Minute, 50*time.Millisecond)
	time.Sleep(2 * time.Second) // publications and their echo are over
	published := used()
	say("registry and its binding", published-claimed)

	for i := 0; i < c.n; i += perService {
		tree.View(func(v *znode.View) {
			body, _, err := v.ChildrenBody(c.dir(i), nil)
			require.NoError(t, err)
			require.Len(t, body, 4+min(perService, c.n-i)*(4+480))
		})
	}
	say("lists, all of them in use", used()-published)
	t.Logf("%-34s %8d bytes each %8.1f MB", "all", sum/int64(c.n), float64(sum)/1e6)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("memory of the process: %.1f MB of heap in use", float64(m.HeapInuse)/1e6)
	runtime.KeepAlive(tree)
}
