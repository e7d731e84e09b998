package registry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"zkbridge/internal/binding/registry"
	rc "zkbridge/registryclient"
	"zkbridge/registryclient/embedded"
)

// A bridge that has lost its data directory does not know what it had published:
// a native reader does not see it go while the clients come back.
func TestLeftoversStayWhileClientsComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg, err := embedded.New(embedded.Config{})
		require.NoError(t, err)
		before := over(t, reg, owner)
		stop := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { defer close(stop); _ = before.client.Run(ctx) }()
		synctest.Wait()
		third := provider{iface: "com.acme.A", protocol: "dubbo", host: "10.0.0.3", port: 20880, extra: "timestamp=1"}
		require.NoError(t, before.client.Publish(ctx, rc.Publication{Owner: owner, Service: dubboA.service(), Generation: 5, Instances: []rc.Instance{dubboA.native(), otherA.native(), third.native()}}))
		require.NoError(t, before.client.Publish(ctx, rc.Publication{Owner: owner, Service: dubboB.service(), Generation: 5, Instances: []rc.Instance{dubboB.native()}}))
		cancel()
		<-stop

		again := owner
		again.Incarnation++
		r := newRig(t, over(t, reg, again), options{change: func(c *registry.Config) { c.Owner, c.Leftovers = again, 30*time.Second }})
		all := []string{dubboA.line(), otherA.line(), third.line()}
		after(time.Second)
		require.Equal(t, all, r.registry(dubboA))
		require.Equal(t, []string{dubboB.line()}, r.registry(dubboB))
		require.Empty(t, r.children(dubboA.dir()), "what was ours is no registry claim")

		// One is back, one is back and goes for good, one never comes.
		a := r.session()
		changed := dubboA.with("timestamp=2")
		require.NoError(t, r.register(a, changed))
		require.NoError(t, r.register(a, otherA))
		after(100 * time.Millisecond)
		require.Equal(t, all, r.registry(dubboA))
		require.Equal(t, "2", r.backend.list(dubboA.service())[0].Metadata["timestamp"], "the newer word counts at once")
		require.NoError(t, r.remove(a, otherA))
		settle()
		require.Equal(t, []string{dubboA.line(), third.line()}, r.registry(dubboA))
		after(26 * time.Second)
		require.Equal(t, []string{dubboA.line(), third.line()}, r.registry(dubboA))
		require.Equal(t, []string{dubboB.line()}, r.registry(dubboB))
		after(3 * time.Second)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		require.Empty(t, r.registry(dubboB))
	})
}

// A registry that cannot say what is ours leaves nothing, and is not waited for.
func TestNoLeftoversWhereNobodyKnowsWhose(t *testing.T) {
	everyBackend(t, func(t *testing.T, b backend) {
		r := newRig(t, b, options{change: func(c *registry.Config) { c.Leftovers = 30 * time.Second }})
		a := r.session()
		require.NoError(t, r.register(a, dubboA))
		after(20 * time.Millisecond)
		require.Equal(t, []string{dubboA.line()}, r.registry(dubboA))
		require.NoError(t, r.remove(a, dubboA))
		settle()
		require.Empty(t, r.registry(dubboA))
	})
}
