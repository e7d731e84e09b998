package nacos_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	rc "zkbridge/registryclient"
	"zkbridge/registryclient/nacos"
	"zkbridge/registryclient/nacos/nacostest"
	"zkbridge/registryclient/registrytest"
)

// A server that wants to get rid of its clients is obeyed without anybody
// noticing: everything is at the other one before the connection is given up.
func TestMoveThatTheServerAsksFor(t *testing.T) {
	a, b := nacostest.New(t, nacostest.Options{}), nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{}, a, b)
	s := service("s")
	for _, n := range []*nacostest.Server{a, b} {
		n.Register(at(s), native(registrytest.Instance("10.0.0.9", 9)))
	}
	publish(t, c, s, registrytest.Instance("10.0.0.1", 1))
	f := follow(t, c, s)
	f.await(t, 1, 9)
	before := len(f.ports())
	a.Reset(b.Addr())
	require.Eventually(t, func() bool { return a.Connections() == 0 && b.Connections() == 1 }, within, time.Millisecond)
	require.Len(t, b.Instances(at(s)), 2)
	assert.Equal(t, uint64(1), c.Stats().Resets)
	assert.Zero(t, c.Stats().Losses)
	b.Register(at(s), native(registrytest.Instance("10.0.0.8", 8)))
	f.await(t, 1, 8, 9)
	for _, list := range f.ports()[before:] {
		assert.Subset(t, list, []int{1, 9})
	}
	// Nowhere in particular is the next one.
	b.Reset("")
	require.Eventually(t, func() bool { return b.Connections() == 0 && a.Connections() == 1 }, within, time.Millisecond)
	awaitUp(t, c)
	require.Len(t, a.Instances(at(s)), 2)
}

// A move to where nobody is leaves everything where it was.
func TestMoveToNowhere(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	gone := nacostest.New(t, nacostest.Options{})
	gone.Stop()
	c := start(t, nacos.Config{}, a)
	publish(t, c, service("s"), instances(1)...)
	a.Reset(gone.Addr())
	require.Eventually(t, func() bool { return c.Stats().ConnectFailures > 0 }, within, time.Millisecond)
	awaitUp(t, c)
	require.Len(t, a.Instances(at(service("s"))), 1)
}

// A slow server is a server.
func TestSlowAnswers(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{HealthInterval: 50 * time.Millisecond, HealthTimeout: 2 * time.Second}, a)
	f := follow(t, c, service("s"))
	f.await(t)
	a.Slow(400 * time.Millisecond)
	publish(t, c, service("s"), instances(2)...)
	f.await(t, 1000, 1001)
	assert.Zero(t, c.Stats().Losses)
	assert.True(t, c.LinkState().Up)
}

// What a caller has given up does not come back after something newer.
func TestGivenUpPublicationIsNotLate(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{HealthInterval: time.Second, HealthTimeout: 3 * time.Second}, a)
	s := service("s")
	publish(t, c, s, instances(1)...)
	a.Slow(300 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Publish(ctx, publication(s, instances(2)...)), context.DeadlineExceeded)
	publish(t, c, s, instances(3)...)
	require.Len(t, a.Instances(at(s)), 3)
	a.Slow(0)
	publish(t, c, service("end"), instances(1)...)
	require.Len(t, a.Instances(at(s)), 3)
}

// A server that does not answer any more is left for the next.
func TestMuteServer(t *testing.T) {
	a, b := nacostest.New(t, nacostest.Options{}), nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{HealthInterval: 50 * time.Millisecond, HealthTimeout: 200 * time.Millisecond, ConnectTimeout: time.Second}, a, b)
	s := service("s")
	publish(t, c, s, instances(3)...)
	require.Len(t, a.Instances(at(s)), 3)
	a.Mute(true)
	require.Eventually(t, func() bool { return len(b.Instances(at(s))) == 3 && c.LinkState().Up }, within, time.Millisecond)
	assert.Positive(t, c.Stats().HealthFailures)
	require.Eventually(t, func() bool { return a.Connections() == 0 }, within, time.Millisecond, "the old connection is still open, and what was published there a ghost")
	publish(t, c, s, instances(1)...)
	require.Len(t, b.Instances(at(s)), 1)
}

// Connections are added as instances are, and a list that is too long for one
// lies on several; a change sends one part only.
func TestPool(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{InstancesPerConnection: 10}, a)
	long := service("long")
	list := instances(35)
	publish(t, c, long, list...)
	require.Len(t, a.Instances(at(long)), 35)
	require.Equal(t, []int{10, 10, 10, 5}, a.Holdings())
	for n := range 10 {
		publish(t, c, service(fmt.Sprint("s", n)), instances(3)...)
	}
	for _, n := range a.Holdings() {
		assert.LessOrEqual(t, n, 10)
	}
	require.Equal(t, 65, c.Stats().Instances)

	before := len(a.Calls("BatchInstanceRequest"))
	list[12].Metadata = map[string]string{"changed": "yes"}
	publish(t, c, long, list...)
	require.Len(t, a.Calls("BatchInstanceRequest"), before+1)
	require.Len(t, a.Instances(at(long)), 35)

	publish(t, c, long, list[:1]...)
	require.Len(t, a.Instances(at(long)), 1)
	publish(t, c, long)
	require.Empty(t, a.Instances(at(long)))
	for n := range 10 {
		publish(t, c, service(fmt.Sprint("s", n)))
	}
	require.Empty(t, a.Holdings())

	// What has become free is used again.
	want := c.Stats().ConnectionsWant
	publish(t, c, long, list...)
	require.Equal(t, want, c.Stats().ConnectionsWant)
	require.Len(t, a.Instances(at(long)), 35)
}

// Bytes count too.
func TestPoolByBytes(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{BytesPerConnection: 10_000, MetadataLimit: -1}, a)
	var list []rc.Instance
	for n := range 10 {
		list = append(list, registrytest.Instance("10.0.0.1", n, "k", strings.Repeat("v", 3000)))
	}
	publish(t, c, service("s"), list...)
	require.Equal(t, []int{3, 3, 3, 1}, a.Holdings())
}

// Everybody's push for nothing.
func TestTheSameListIsNotSentTwice(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{}, a)
	publish(t, c, service("s"), instances(3)...)
	publish(t, c, service("s"), instances(3)...)
	list := instances(3)
	slices.Reverse(list)
	publish(t, c, service("s"), list...)
	require.Len(t, a.Calls("BatchInstanceRequest"), 1)
	require.Equal(t, uint64(2), c.Stats().Unchanged)
	publish(t, c, service("s"))
	publish(t, c, service("s"))
	require.Len(t, a.Calls("InstanceRequest"), 1)
}

// Of many lists that wait the newest is sent.
func TestLatestWins(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{HealthInterval: time.Second, HealthTimeout: 5 * time.Second}, a)
	a.Slow(50 * time.Millisecond)
	var work sync.WaitGroup
	first := generation()
	for n := range 100 {
		work.Go(func() {
			p := publication(service("s"), registrytest.Instance("10.0.0.1", n))
			p.Generation = first + uint64(n)
			if err := c.Publish(t.Context(), p); err != nil {
				assert.ErrorIs(t, err, rc.ErrStale)
			}
		})
	}
	work.Wait()
	list := a.Instances(at(service("s")))
	require.Len(t, list, 1)
	require.Equal(t, 99, list[0].Port)
	require.Less(t, len(a.Calls("BatchInstanceRequest")), 20)
}

// One instance that the server does not take refuses its list and nothing else,
// whichever connection it would have been on.
func TestRefusedInstance(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{MetadataLimit: 20})
	c := start(t, nacos.Config{InstancesPerConnection: 10, MetadataLimit: -1}, a)
	s := service("s")
	publish(t, c, s, instances(15)...)
	bad := append(instances(24), registrytest.Instance("10.0.0.2", 1, "key", strings.Repeat("v", 100)))
	err := c.Publish(t.Context(), publication(s, bad...))
	require.ErrorIs(t, err, rc.ErrInvalid)
	require.ErrorContains(t, err, "should not exceed 20")
	require.Eventually(t, func() bool { return len(a.Instances(at(s))) == 15 }, within, time.Millisecond, "the old list stays")
	publish(t, c, service("neighbour"), instances(5)...)
	publish(t, c, s, bad[:24]...)
	require.Len(t, a.Instances(at(s)), 24)
	require.Len(t, a.Instances(at(service("neighbour"))), 5)
	require.True(t, c.LinkState().Up)
}

// Metadata that are too long are refused before they are sent, with the remedy, or
// lose the keys that may be lost.
func TestMetadataLimit(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{MetadataLimit: 1024})
	long := registrytest.Instance("10.0.0.1", 1, "methods", strings.Repeat("m", 1000), "path", strings.Repeat("p", 100), "side", "provider")
	c := start(t, nacos.Config{}, a)
	require.Equal(t, 1024, c.Capabilities().MetadataLimit)
	err := c.Publish(t.Context(), publication(service("s"), long))
	require.ErrorIs(t, err, rc.ErrInvalid)
	require.ErrorContains(t, err, "10.0.0.1:1")
	require.ErrorContains(t, err, "1024")
	require.Empty(t, a.Calls("BatchInstanceRequest"))

	dropping := start(t, nacos.Config{DropMetadata: []string{"absent", "methods", "path"}}, a)
	require.Zero(t, dropping.Capabilities().MetadataLimit, "it is not for others to refuse it")
	publish(t, dropping, service("s"), long)
	list := a.Instances(at(service("s")))
	require.Len(t, list, 1)
	require.NotContains(t, list[0].Metadata, "methods")
	require.Contains(t, list[0].Metadata, "path")
	require.Contains(t, long.Metadata, "methods", "what is published is not changed")
	require.Equal(t, uint64(1), dropping.Stats().MetadataDropped)
	long.Metadata["other"] = strings.Repeat("o", 2000)
	require.ErrorIs(t, dropping.Publish(t.Context(), publication(service("s"), long)), rc.ErrInvalid)
	utf16 := registrytest.Instance("10.0.0.1", 1, "k", strings.Repeat("𝄞", 512)) // two units each
	require.ErrorIs(t, c.Publish(t.Context(), publication(service("s"), utf16)), rc.ErrInvalid)
}

// After a loss everything is made anew: registrations before subscriptions, many at
// a time, and one that the server does not take any more is not in the way of others.
func TestRedo(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{InstancesPerConnection: 100}, a)
	const services = 300
	var work sync.WaitGroup
	for n := range services {
		work.Go(func() {
			assert.NoError(t, c.Publish(t.Context(), publication(service(fmt.Sprint("s", n)), instances(1)...)))
		})
	}
	work.Wait()
	f := follow(t, c, service("s0"))
	f.await(t, 1000)
	a.Stop()
	require.Eventually(t, func() bool { return !c.LinkState().Up }, within, time.Millisecond)
	require.NotEmpty(t, c.LinkState().Reason)
	require.ErrorIs(t, c.Publish(t.Context(), publication(service("late"), instances(1)...)), rc.ErrUnavailable)
	before := len(a.Calls(""))
	a.Refuse(func(call nacostest.Call) (int, string) {
		if call.Type == "BatchInstanceRequest" && call.Body["serviceName"] == "s7" {
			return 400, "not this one"
		}
		return 0, ""
	})
	a.Start(t)
	awaitUp(t, c)
	total := 0
	for n := range services {
		total += len(a.Instances(at(service(fmt.Sprint("s", n)))))
	}
	require.Equal(t, services-1, total)
	subscribed := false
	for _, call := range a.Calls("")[before:] {
		switch call.Type {
		case "SubscribeServiceRequest":
			subscribed = true
		case "BatchInstanceRequest":
			if call.Headers != nil && subscribed && call.Body["serviceName"] == "s0" {
				t.Error("a subscription before the registration of its service")
			}
		}
	}
	// The next publication of what was refused is tried.
	a.Refuse(nil)
	publish(t, c, service("s7"), instances(1)...)
	require.Len(t, a.Instances(at(service("s7"))), 1)
}

// Each key is tried again until it stands.
func TestRedoTriesAgain(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{}, a)
	publish(t, c, service("s"), instances(1)...)
	f := follow(t, c, service("s"))
	f.await(t, 1000)
	a.Stop()
	var mu sync.Mutex
	refusals := 0
	a.Refuse(func(call nacostest.Call) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if call.Type != "HealthCheckRequest" && call.Type != "ServerCheckRequest" && refusals < 12 {
			refusals++
			return 503, "not now"
		}
		return 0, ""
	})
	require.Eventually(t, func() bool { return !c.LinkState().Up }, within, time.Millisecond)
	a.Start(t)
	awaitUp(t, c)
	require.Len(t, a.Instances(at(service("s"))), 1)
	publish(t, c, service("s"), instances(2)...)
	f.await(t, 1000, 1001)
}

// A server that does not know the connection any more, without having closed it.
func TestServerHasForgottenTheConnection(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{}, a)
	publish(t, c, service("s"), instances(1)...)
	for _, code := range []int{301, -401} {
		var once sync.Once
		a.Refuse(func(call nacostest.Call) (answer int, message string) {
			if call.Type == "BatchInstanceRequest" {
				once.Do(func() { answer, message = code, "Connection is unregistered." })
			}
			return answer, message
		})
		losses := c.Stats().Losses
		require.ErrorIs(t, c.Publish(t.Context(), publication(service("s"), instances(2)...)), rc.ErrUnavailable)
		require.Eventually(t, func() bool { return c.Stats().Losses > losses && c.LinkState().Up }, within, time.Millisecond)
		publish(t, c, service("s"), instances(1)...)
		require.Len(t, a.Instances(at(service("s"))), 1)
	}
}

// A server that has just started lists nothing. What it does not list is shown until
// natives have had the time to come back.
func TestRestartedServerIsNotBelievedAtOnce(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	back, gone := service("back"), service("gone")
	for _, s := range []rc.Service{back, gone} {
		a.Register(at(s), native(registrytest.Instance("10.0.0.1", 1)))
		a.Register(at(s), native(registrytest.Instance("10.0.0.2", 2)))
	}
	c := start(t, nacos.Config{Settle: time.Second}, a)
	publish(t, c, back, registrytest.Instance("10.0.0.3", 3))
	f, g := follow(t, c, back), follow(t, c, gone)
	f.await(t, 1, 2, 3)
	g.await(t, 1, 2)

	a.HideNatives(true)
	a.Stop()
	require.Eventually(t, func() bool { return !c.LinkState().Up }, within, time.Millisecond)
	a.Deregister(at(gone), "10.0.0.2", 2)
	a.Start(t)
	restarted := time.Now()
	awaitUp(t, c)
	require.Eventually(t, func() bool { return c.Stats().Unsettled == 2 }, within, time.Millisecond)
	publish(t, c, back) // what is ours is not kept
	f.await(t, 1, 2)
	time.Sleep(time.Until(restarted.Add(400 * time.Millisecond))) // natives are that slow
	a.HideNatives(false)
	g.await(t, 1)
	assert.GreaterOrEqual(t, time.Since(restarted), time.Second, "removed before the time to settle was over")
	for _, list := range slices.Concat(f.ports(), g.ports()) {
		assert.Contains(t, list, 1, "a list without an instance that never ended")
	}
	require.Zero(t, c.Stats().Unsettled)
	a.Deregister(at(back), "10.0.0.1", 1)
	f.await(t, 2)
}

// Of names it is the same.
func TestNamesAfterARestart(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	a.Register(at(service("n")), native(registrytest.Instance("10.0.0.1", 1)))
	c := start(t, nacos.Config{Settle: 500 * time.Millisecond}, a)
	var mu sync.Mutex
	var calls [][]string
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.WatchNames(ctx, "public", "DEFAULT_GROUP", func(names []string) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, names)
		})
	}()
	last := func() []string {
		mu.Lock()
		defer mu.Unlock()
		if len(calls) == 0 {
			return nil
		}
		return calls[len(calls)-1]
	}
	require.Eventually(t, func() bool { return slices.Equal(last(), []string{"n"}) }, within, time.Millisecond)
	a.Deregister(at(service("n")), "10.0.0.1", 1)
	a.Stop()
	a.Start(t)
	restarted := time.Now()
	require.Eventually(t, func() bool { l := last(); return l != nil && len(l) == 0 }, within, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(restarted), 400*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
}

// Nacos 3 tells of new services, so the list is asked for rarely; above its limits
// it does not, and the list is asked for.
func TestFuzzyWatch(t *testing.T) {
	for _, c := range []struct {
		name    string
		refused bool
	}{{"offered", false}, {"over the limit", true}} {
		t.Run(c.name, func(t *testing.T) {
			a := nacostest.New(t, nacostest.Options{FuzzyWatch: true})
			a.RefuseFuzzyWatches(c.refused)
			client := start(t, nacos.Config{NamesInterval: time.Second}, a)
			names := make(chan []string, 100)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- client.WatchNames(ctx, "public", "DEFAULT_GROUP", func(list []string) { names <- list })
			}()
			require.Empty(t, <-names)
			require.Eventually(t, func() bool { return len(a.Calls("NamingFuzzyWatchRequest")) == 1 }, within, time.Millisecond)
			begun := time.Now()
			a.Register(at(service("new")), native(registrytest.Instance("10.0.0.1", 1)))
			require.Equal(t, []string{"new"}, <-names)
			if !c.refused {
				require.Less(t, time.Since(begun), 900*time.Millisecond)
			}
			require.Less(t, time.Since(begun), 3*time.Second)
			cancel()
			require.NoError(t, <-done)
		})
	}
}

// What the server has accepted and does not have, and what it has not pushed, is
// found and mended.
func TestVerification(t *testing.T) {
	t.Parallel()
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{VerifyInterval: 100 * time.Millisecond}, a)
	lost, never, silent := service("lost"), service("never"), service("silent")
	publish(t, c, lost, instances(2)...)
	off := registrytest.Instance("10.0.0.1", 7)
	off.Enabled = false
	publish(t, c, service("off"), off)
	f := follow(t, c, silent)
	f.await(t)
	require.Eventually(t, func() bool { return c.Stats().Pushes > 0 }, within, time.Millisecond, "the push that follows a subscription")
	a.Forget(func(call nacostest.Call) bool { return call.Type == "BatchInstanceRequest" })
	publish(t, c, never, instances(1)...)
	require.Empty(t, a.Instances(at(never)))
	a.Forget(nil)
	a.Lose(at(lost))
	a.RegisterSilently(at(silent), native(registrytest.Instance("10.0.0.1", 5)))
	require.Eventually(t, func() bool {
		return len(a.Instances(at(lost))) == 2 && len(a.Instances(at(never))) == 1
	}, 3*within, 10*time.Millisecond)
	f.await(t, 5)
	s := c.Stats()
	require.Positive(t, s.Verified)
	require.Equal(t, uint64(3), s.Mended)
}

func TestLogin(t *testing.T) {
	for _, three := range []bool{false, true} {
		a := nacostest.New(t, nacostest.Options{User: "u", Password: "p", FuzzyWatch: three, TokenTTL: 2 * time.Second})
		c := start(t, nacos.Config{Username: "u", Password: "p"}, a)
		publish(t, c, service("s"), instances(1)...)
		// A token that the server does not know any more is replaced.
		a.Expire()
		publish(t, c, service("s"), instances(2)...)
		require.Len(t, a.Instances(at(service("s"))), 2)
		require.GreaterOrEqual(t, c.Stats().Logins, uint64(2))
		// One is renewed before it ends.
		n := c.Stats().Logins
		require.Eventually(t, func() bool { return c.Stats().Logins > n }, within, time.Millisecond)
		require.Zero(t, c.Stats().Losses)
	}
}

func TestLoginIsRefused(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{User: "u", Password: "p"})
	c := startDown(t, nacos.Config{Username: "u", Password: "wrong"}, a)
	require.Eventually(t, func() bool { return strings.Contains(c.LinkState().Reason, "user or password are refused") }, within, time.Millisecond)
	require.Positive(t, c.Stats().LoginFailures)
	require.ErrorIs(t, c.Publish(t.Context(), publication(service("s"), instances(1)...)), rc.ErrUnavailable)

	nobody := startDown(t, nacos.Config{}, a)
	awaitUp(t, nobody) // the connection itself is everybody's
	require.ErrorIs(t, nobody.Publish(t.Context(), publication(service("s"), instances(1)...)), rc.ErrDenied)
}

func TestTLS(t *testing.T) {
	certificate, authority := certificates(t)
	a := nacostest.New(t, nacostest.Options{User: "u", Password: "p", TLS: &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}})
	c, err := nacos.New(nacos.Config{
		Servers: []string{"https://" + a.Addr()}, Owner: owner, Username: "u", Password: "p",
		TLS: &tls.Config{RootCAs: authority},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	awaitUp(t, c)
	publish(t, c, service("s"), instances(1)...)
	require.Len(t, a.Instances(at(service("s"))), 1)
	cancel()
	require.NoError(t, <-ended)

	stranger := startDown(t, nacos.Config{TLS: &tls.Config{}}, a)
	require.Eventually(t, func() bool { return strings.Contains(stranger.LinkState().Reason, "certificate") }, within, time.Millisecond)
}

// Two namespaces do not share a connection: pushes do not say which they are of.
func TestNamespaces(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{}, a)
	one, two := service("s"), service("s")
	two.Namespace = "two"
	f, g := follow(t, c, one), follow(t, c, two)
	f.await(t)
	g.await(t)
	publish(t, c, one, registrytest.Instance("10.0.0.1", 1))
	publish(t, c, two, registrytest.Instance("10.0.0.1", 2))
	f.await(t, 1)
	g.await(t, 2)
	require.Equal(t, 2, a.Connections())
}

// A list may be longer than what gRPC takes by itself.
func TestLongList(t *testing.T) {
	a := nacostest.New(t, nacostest.Options{})
	c := start(t, nacos.Config{HealthInterval: time.Second, HealthTimeout: within}, a)
	const n = 20000
	for k := range n {
		a.RegisterSilently(at(service("s")), native(registrytest.Instance("10.0.0.1", k, "k", strings.Repeat("v", 800))))
	}
	f := follow(t, c, service("s"))
	require.Eventually(t, func() bool { all := f.ports(); return len(all) > 0 && len(all[len(all)-1]) == n }, 3*within, 10*time.Millisecond)
}

func TestConfig(t *testing.T) {
	good := nacos.Config{Servers: []string{"a"}, Owner: owner}
	for _, c := range []struct {
		name    string
		change  func(*nacos.Config)
		problem string
	}{
		{"host only", func(*nacos.Config) {}, ""},
		{"IPv6", func(c *nacos.Config) { c.Servers = []string{"[::1]:8848"} }, ""},
		{"https", func(c *nacos.Config) { c.Servers = []string{"https://nacos.example/"} }, ""},
		{"no servers", func(c *nacos.Config) { c.Servers = nil }, "needs the address"},
		{"other scheme", func(c *nacos.Config) { c.Servers = []string{"nacos://a"} }, "neither host:port"},
		{"port", func(c *nacos.Config) { c.Servers = []string{"a:x"} }, "no usable host and port"},
		{"port too high for gRPC", func(c *nacos.Config) { c.Servers = []string{"a:65000"} }, "no usable host and port"},
		{"path", func(c *nacos.Config) { c.Servers = []string{"a/nacos"} }, "no usable host and port"},
		{"no owner", func(c *nacos.Config) { c.Owner = rc.Owner{} }, "needs an owner"},
		{"rare checks", func(c *nacos.Config) { c.HealthInterval = 20 * time.Second }, "too rare"},
		{"negative", func(c *nacos.Config) { c.Settle = -1 }, "cannot work with a time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := good
			c.change(&cfg)
			_, err := nacos.New(cfg)
			if c.problem == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.problem)
			}
		})
	}
}

func TestWithoutRun(t *testing.T) {
	c, err := nacos.New(nacos.Config{Servers: []string{"127.0.0.1:1"}, Owner: owner})
	require.NoError(t, err)
	require.False(t, c.LinkState().Up)
	require.ErrorIs(t, c.Publish(t.Context(), publication(service("s"), instances(1)...)), rc.ErrUnavailable)
	_, err = c.OwnServices(t.Context(), owner)
	require.ErrorIs(t, err, rc.ErrUnavailable)
}
