package claims_test

import (
	"fmt"
	"strings"
	"testing"

	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/translate"
	"zkbridge/zkproto"

	"github.com/stretchr/testify/require"
)

// Some providers of one service.
var (
	dubboA = provider{iface: "com.acme.A", protocol: "dubbo", host: "10.0.0.1", port: 20880, extra: "timestamp=1"}
	triA   = provider{iface: "com.acme.A", protocol: "tri", host: "10.0.0.1", port: 20880, extra: "timestamp=1"}
	otherA = provider{iface: "com.acme.A", protocol: "dubbo", host: "10.0.0.2", port: 20880, extra: "timestamp=1"}
)

func (p provider) with(extra string) provider {
	p.extra = extra
	return p
}

var (
	childrenChanged = fmt.Sprint(int(zkproto.EventChildrenChanged))
	dirA            = dubboA.dir()
	serviceA        = dubboA.service()
)

// Field report 2: the expiry of the old session and the removal of its nodes
// are one step, so the new session's create succeeds, and nothing removes it
// later.
func TestReport2ExpiryThenCreate(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	b.open(1)
	require.NoError(t, b.register(1, dubboA.path()))
	b.end(1)
	b.open(2)
	require.NoError(t, b.register(2, dubboA.path()))
	b.end(1) // a late clean-up of the session that is gone
	require.Equal(t, int64(2), b.owner(dubboA.path()))
	require.Equal(t, lines(dubboA), b.published(serviceA))
}

// Field report 3, pitfall P7: what belongs to the old owner is removed by owner
// and generation, not by path.
func TestReport3OldOwnerLeavesNewRegistration(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	b.open(1)
	b.open(2)
	require.NoError(t, b.register(1, dubboA.path()))
	require.ErrorIs(t, b.register(2, dubboA.path()), zkproto.NodeExists)
	require.NoError(t, b.remove(2, dubboA.path()))
	require.Empty(t, b.published(serviceA))
	require.NoError(t, b.register(2, dubboA.path()))
	b.end(1)
	require.Equal(t, int64(2), b.owner(dubboA.path()))
	require.Equal(t, lines(dubboA), b.published(serviceA))
	b.end(2)
	require.Empty(t, b.children(dirA))
	require.Empty(t, b.published(serviceA))
}

// Field report 7, pitfall P10: a create that is refused makes no claim and no
// news.
func TestReport7RefusedCreateIsNoClaim(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	b.open(1)
	require.NoError(t, b.register(1, dubboA.path()))
	require.Equal(t, map[registryclient.Service]claims.Urgency{serviceA: claims.Urgent}, b.dirty)
	clear(b.dirty)
	b.watch(dirA)
	require.ErrorIs(t, b.register(1, dubboA.path()), zkproto.NodeExists)
	require.Empty(t, b.dirty)
	require.Empty(t, b.taken())
	require.Len(t, b.book.Explain(dubboA.path()).Claims, 1)
}

// Field report 9, pitfall P28: a tool that re-creates a node is its owner from
// then on, and explain says so.
func TestReport9ToolBecomesOwner(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	b.open(1)
	b.open(2)
	require.NoError(t, b.register(1, dubboA.path()))
	require.NoError(t, b.remove(2, dubboA.path()))
	e := b.book.Explain(dubboA.path())
	require.Nil(t, e.Node)
	require.Contains(t, e.String(), "another session than its owner's deleted a node of this path; owner: session 0x1; deleted by: session 0x2.")
	require.NoError(t, b.register(2, dubboA.path()))
	b.end(1)
	require.Equal(t, int64(2), b.owner(dubboA.path()))
	require.Contains(t, b.book.Explain(dubboA.path()).String(), "claimed by: session; owner: session 0x2;")
	b.end(2)
	require.Empty(t, b.children(dirA))
}

// Field report 8: a delete by hand counts, here and in the registry, and what
// the registry says later about others does not undo it.
func TestReport8DeleteByHandStays(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	b.open(1)
	require.NoError(t, b.register(1, dubboA.path()))
	b.watch(dirA)
	require.NoError(t, b.remove(99, dubboA.path()))
	require.Equal(t, []string{childrenChanged + " " + dirA}, b.taken())
	require.Empty(t, b.published(serviceA))
	b.book.Import(serviceA, natives(otherA))
	require.Equal(t, names(otherA), b.children(dirA))
	require.Empty(t, b.published(serviceA))
}

// Pitfall P6: of two sessions with registrations of one address that differ in
// a time stamp, the end of one leaves the other.
func TestPitfall6TwoSessionsOneAddress(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	newer := dubboA.with("timestamp=2")
	b.open(1)
	b.open(2)
	require.NoError(t, b.register(1, dubboA.path()))
	require.NoError(t, b.register(2, newer.path()))
	require.Equal(t, names(dubboA, newer), b.children(dirA))
	require.Equal(t, lines(newer), b.published(serviceA))
	b.end(1)
	require.Equal(t, names(newer), b.children(dirA))
	require.Equal(t, lines(newer), b.published(serviceA))
}

// Pitfall P2: of two protocols on one port the one that was there first is
// published, also after it has been registered anew beside itself; the other
// takes over when it goes.
func TestPitfall2ProtocolsOnOnePort(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	b.open(1)
	b.open(2)
	require.NoError(t, b.register(1, dubboA.path()))
	require.NoError(t, b.register(1, triA.path()))
	require.Equal(t, names(dubboA, triA), b.children(dirA))
	require.Equal(t, lines(dubboA), b.published(serviceA))
	require.Contains(t, b.book.Explain(triA.path()).String(), "not published: shadowed by "+dubboA.path())

	again := dubboA.with("timestamp=2")
	require.NoError(t, b.register(2, again.path()))
	require.NoError(t, b.remove(1, dubboA.path()))
	require.Equal(t, lines(again), b.published(serviceA))
	require.NoError(t, b.remove(2, again.path()))
	require.Equal(t, lines(triA), b.published(serviceA))
	require.Contains(t, b.book.Explain(triA.path()).String(), "published: as 10.0.0.1:20880 of public/DEFAULT_GROUP/providers:com.acme.A::.")
}

// Pitfall P53: a provider that registers on both sides is shown once on each,
// by its own name here, and the end of one registration leaves the other.
func TestPitfall53DualRegistration(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	b.watch(dirA)
	b.open(1)
	byNature := dubboA.with("timestamp=9")
	b.book.Import(serviceA, natives(byNature))
	require.Equal(t, []string{childrenChanged + " " + dirA}, b.taken())
	require.Equal(t, names(byNature), b.children(dirA))
	require.Equal(t, reserved, b.owner(byNature.path()))

	require.NoError(t, b.register(1, dubboA.path()))
	require.Equal(t, []string{childrenChanged + " " + dirA}, b.taken(), "the change is one event")
	require.Equal(t, names(dubboA), b.children(dirA))
	require.Empty(t, b.published(serviceA))
	require.Contains(t, b.book.Explain(dubboA.path()).String(), "not published: dual registration: the provider is in the registry by itself")

	b.end(1)
	require.Equal(t, []string{childrenChanged + " " + dirA}, b.taken(), "back again is one event, never empty")
	require.Equal(t, names(byNature), b.children(dirA))

	b.open(2)
	require.NoError(t, b.register(2, dubboA.path()))
	clear(b.dirty)
	b.taken()
	b.book.Import(serviceA, nil)
	require.Empty(t, b.taken(), "nothing changes for clients")
	require.Equal(t, names(dubboA), b.children(dirA))
	require.Equal(t, lines(dubboA), b.published(serviceA))
	require.Equal(t, claims.Urgent, b.dirty[serviceA], "ours is published at once")
}

// A create of the very name that stands for a registry instance takes it over.
func TestAdopt(t *testing.T) {
	b := newBench(t)
	b.book.Import(serviceA, natives(dubboA, otherA))
	b.watch(dirA)
	b.open(1)
	require.NoError(t, b.register(1, dubboA.path()))
	require.Empty(t, b.taken())
	require.Equal(t, int64(1), b.owner(dubboA.path()))
	require.Equal(t, names(dubboA, otherA), b.children(dirA))
	b.end(1)
	require.Equal(t, reserved, b.owner(dubboA.path()))
	require.Equal(t, names(dubboA, otherA), b.children(dirA))
	b.book.Import(serviceA, nil)
	require.Empty(t, b.children(dirA))
}

// Pitfalls P22 and P9: an instance whose metadata changed in place is a swap of
// names with one event, and directories stay when the last instance goes.
func TestPitfall22SwapOfNames(t *testing.T) {
	b := newBench(t)
	b.book.Import(serviceA, natives(dubboA, otherA))
	b.watch(dirA)
	var before int64
	b.tree.View(func(v *znode.View) { before = v.Zxid() })
	changed := dubboA.with("weight=50")
	require.True(t, b.book.Import(serviceA, natives(changed, otherA)))
	require.Equal(t, []string{childrenChanged + " " + dirA}, b.taken())
	require.Equal(t, names(changed, otherA), b.children(dirA))
	require.False(t, b.book.Import(serviceA, natives(otherA, changed)), "the same list in another order")
	require.Equal(t, before+1, b.tree.Zxid())
	require.True(t, b.book.Import(serviceA, nil))
	require.Empty(t, b.children(dirA))
	require.Equal(t, int64(0), b.owner(dirA))
	b.tree.View(func(v *znode.View) {
		n, ok := v.Lookup(dirA)
		require.True(t, ok)
		require.Equal(t, znode.Persistent, n.Kind)
	})
}

// A client's delete of a node that stands for a registry instance counts until
// the registry reports a change of it, or the instance leaves.
func TestDeleteOfImportedNode(t *testing.T) {
	b := newBench(t)
	b.book.Import(serviceA, natives(dubboA, otherA))
	require.NoError(t, b.remove(5, dubboA.path()))
	require.Equal(t, names(otherA), b.children(dirA))
	e := b.book.Explain(dubboA.path())
	require.Contains(t, e.String(), "not shown to ZooKeeper clients: a client deleted its znode; it comes back when the registry reports a change of it")
	b.book.Import(serviceA, natives(dubboA))
	require.Empty(t, b.children(dirA), "a change of others is none of this one")
	changed := dubboA.with("weight=50")
	b.book.Import(serviceA, natives(changed))
	require.Equal(t, names(changed), b.children(dirA))
	require.NoError(t, b.remove(5, changed.path()))
	b.book.Import(serviceA, nil)
	b.book.Import(serviceA, natives(changed))
	require.Equal(t, names(changed), b.children(dirA), "it left and came back")

	// Deleting it to register it is no wish to hide it.
	require.NoError(t, b.remove(5, changed.path()))
	b.open(5)
	require.NoError(t, b.register(5, changed.path()))
	b.end(5)
	require.Equal(t, names(changed), b.children(dirA))
}

// Pitfall P30, P26, P27, field report 20: what makes a claim and what does not.
func TestWhatIsAClaim(t *testing.T) {
	for _, c := range []struct {
		name  string
		paths []string
		want  int // services with claims
	}{
		{"an empty directory", []string{dirA}, 0},
		{"directories an administrator's tool makes everywhere", []string{"/dubbo/metadata/providers", "/dubbo/mapping/providers", "/dubbo/config/providers", "/dubbo/order-svc/providers"}, 0},
		{"a consumer", []string{"/dubbo/com.acme.A/consumers/" + strings.Replace(dubboA.name(), "dubbo", "consumer", 1)}, 0},
		{"rules of old", []string{"/dubbo/com.acme.A/configurators/override%3A%2F%2F0.0.0.0%2Fcom.acme.A%3Fweight%3D1", "/dubbo/com.acme.A/routers/route%3A%2F%2F0.0.0.0%2Fcom.acme.A"}, 0},
		{"a provider outside of all roots", []string{"/other" + dubboA.path()[len("/dubbo"):]}, 0},
		{"a provider", []string{dubboA.path()}, 1},
		{"below a provider's node", []string{dubboA.path() + "/x"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			for _, p := range c.paths {
				b.mkdir(p)
			}
			require.Len(t, b.book.Services(), c.want)
			require.Len(t, b.dirty, c.want)
		})
	}
}

// Field report 21: names that were escaped over and over stay as they are, are
// never published, and are reported once.
func TestReport21OverEncoded(t *testing.T) {
	b := newBench(t)
	var refused []claims.Refused
	b.book.OnRefused(func(r claims.Refused) { refused = append(refused, r) })
	b.mkdir(dirA)
	b.open(1)
	name := strings.ReplaceAll(dubboA.name(), "%", "%"+strings.Repeat("25", 40))
	require.NoError(t, b.register(1, dirA+"/"+name))
	require.Equal(t, []string{name}, b.children(dirA))
	require.Empty(t, b.book.Services())
	require.Empty(t, b.dirty)
	require.Len(t, refused, 1)
	require.Equal(t, translate.ReasonOverEncoded, refused[0].Reason)
	require.Equal(t, 1, b.book.Stats().NotTranslated)
	require.Contains(t, b.book.Explain(dirA+"/"+name).String(), "not published: not translatable: ")
	require.NoError(t, b.remove(1, dirA+"/"+name))
	require.Equal(t, 0, b.book.Stats().Local)
}

// Pitfall P30: a provider with dynamic=false is a persistent node and a claim,
// also of a tree that was restored from disk.
func TestLoadMakesClaimsOfPersistentNodes(t *testing.T) {
	lasting := dubboA.with("dynamic=false")
	spaces := append(oneSpace(), claims.Space{Name: "tenants", Namespace: "{tenant}", Group: "g", Roots: roots("/apps/{tenant}/dubbo")})
	b := newBench(t, spaces...)
	b.mkdir(dirA)
	b.mkdir("/apps/t1/dubbo")
	require.NoError(t, b.register(0, lasting.path()))
	require.Equal(t, lines(lasting), b.published(serviceA))

	s, err := claims.NewSpaces(spaces)
	require.NoError(t, err)
	again := claims.NewBook(claims.BookConfig{Spaces: s, Reserved: reserved})
	dirty := make(map[registryclient.Service]claims.Urgency)
	var targets []string
	again.OnDirty(func(svc registryclient.Service, u claims.Urgency) { dirty[svc] = u })
	again.OnTarget(func(t claims.Target, _ bool) { targets = append(targets, t.String()) })
	require.NoError(t, again.Load(b.tree))
	require.Error(t, again.Load(b.tree), "twice")
	require.Equal(t, map[registryclient.Service]claims.Urgency{serviceA: claims.Urgent}, dirty)
	require.ElementsMatch(t, []string{"public/DEFAULT_GROUP", "t1/g"}, targets)
	require.Equal(t, []registryclient.Service{serviceA}, again.Services())
	list := again.Publications(serviceA).Listed
	require.Len(t, list, 1)
	require.Equal(t, lasting.path(), list[0].Path())
	require.Equal(t, "nobody: it is persistent", again.Explain(lasting.path()).Claims[0].Owner)
}

// A root that a pattern resolves to turns up with its first node: its target is
// reported once, and what was imported for that target already is shown.
//
// Pitfall P48: roots below a chroot.
func TestPatternRoots(t *testing.T) {
	b := newBench(t, claims.Space{Name: "teams", Namespace: "public", Group: "DEFAULT_GROUP", Roots: roots("/{team}/dubbo")})
	var targets []claims.Target
	b.book.OnTarget(func(t claims.Target, _ bool) { targets = append(targets, t) })
	require.Empty(t, b.book.Targets())
	b.mkdir("/a/dubbo")
	require.Equal(t, []claims.Target{{Namespace: "public", Group: "DEFAULT_GROUP"}}, targets)
	b.book.Import(serviceA, natives(dubboA))
	require.Equal(t, names(dubboA), b.children("/a"+dirA))
	b.mkdir("/b/dubbo/com.acme.A")
	require.Len(t, targets, 1)
	require.Equal(t, names(dubboA), b.children("/b"+dirA), "there as soon as the root is")
	b.open(1)
	require.NoError(t, b.register(1, "/a"+dubboA.path()))
	require.Equal(t, int64(1), b.owner("/a"+dubboA.path()))
	require.Equal(t, reserved, b.owner("/b"+dubboA.path()), "each root has its own claims")
	b.book.Import(serviceA, nil)
	require.Empty(t, b.children("/b"+dirA))
	require.Equal(t, names(dubboA), b.children("/a"+dirA))
	require.Equal(t, 2, b.book.Stats().Roots)
}

// One service moved to a space of its own takes its instances from there only.
func TestServiceInASpaceOfItsOwn(t *testing.T) {
	spaces := append(oneSpace(), claims.Space{Name: "moved", Namespace: "public", Group: "NEW", Roots: roots("/dubbo/com.acme.A")})
	b := newBench(t, spaces...)
	moved := registryclient.Service{Namespace: "public", Group: "NEW", Name: serviceA.Name}
	b.book.Import(serviceA, natives(dubboA))
	require.Empty(t, b.children(dirA))
	b.book.Import(moved, natives(otherA))
	require.Equal(t, names(otherA), b.children(dirA))
	otherService := provider{iface: "com.acme.B", protocol: "dubbo", host: "10.0.0.1", port: 1, extra: "timestamp=1"}
	b.book.Import(claims.Target{Namespace: "public", Group: "NEW"}.Service(otherService.service().Name), natives(otherService))
	require.Empty(t, b.children(otherService.dir()))
	b.open(1)
	require.NoError(t, b.register(1, dubboA.path()))
	require.Empty(t, b.published(serviceA))
	require.Equal(t, lines(dubboA), b.published(moved))
}

// A disabled instance of the registry is not shown, and ours is not put beside
// it: the operator took that ip and port out.
func TestDisabledInstance(t *testing.T) {
	b := newBench(t)
	var refused []claims.Refused
	b.book.OnRefused(func(r claims.Refused) { refused = append(refused, r) })
	off := dubboA.native()
	off.Enabled = false
	bad := otherA.native()
	bad.Metadata["protocol"] = "consumer"
	b.book.Import(serviceA, []registryclient.Instance{off, bad})
	require.Empty(t, b.children(dirA))
	require.Len(t, refused, 1, "disabled is in order, the other is not")
	require.Equal(t, "10.0.0.2:20880", refused[0].Instance)
	b.mkdir(dirA)
	b.open(1)
	require.NoError(t, b.register(1, dubboA.path()))
	require.Empty(t, b.published(serviceA))
	b.book.Import(serviceA, natives(dubboA))
	require.Equal(t, names(dubboA), b.children(dirA))
	require.Equal(t, int64(1), b.owner(dubboA.path()))
}

// A node of another kind in the way of an import is left alone, and the address
// is shown as soon as the way is free.
func TestSomethingInTheWay(t *testing.T) {
	b := newBench(t)
	b.mkdir("/dubbo")
	b.open(1)
	require.NoError(t, b.register(1, "/dubbo/com.acme.A"))
	b.book.Import(serviceA, natives(dubboA))
	require.Contains(t, b.book.Explain(dubboA.path()).String(), "a node of somebody else stands in the way")
	require.Equal(t, int64(1), b.owner("/dubbo/com.acme.A"))
	require.NoError(t, b.do(1, func(x *znode.Tx) error { // taken away and back at once
		require.NoError(t, x.Delete("/dubbo/com.acme.A", -1))
		return create(x, 1, "/dubbo/com.acme.A")
	}))
	require.Equal(t, int64(1), b.owner("/dubbo/com.acme.A"))
	b.end(1)
	require.Equal(t, names(dubboA), b.children(dirA))
	require.Equal(t, reserved, b.owner(dubboA.path()))

	// What has gone before the way is free does not come back.
	b.book.Import(serviceA, nil)
	require.NoError(t, b.remove(2, dirA))
	b.open(2)
	require.NoError(t, b.register(2, dirA))
	b.book.Import(serviceA, natives(dubboA))
	b.book.Import(serviceA, nil)
	require.NoError(t, b.remove(2, dirA))
	require.Empty(t, b.children(dirA))
	require.Zero(t, b.book.Stats().Standing)
}

// The generation and tenure of a claim are those of its node and session.
func TestGeneration(t *testing.T) {
	b := newBench(t)
	b.mkdir(dirA)
	b.open(1)
	before := b.tree.Zxid()
	require.NoError(t, b.register(1, dubboA.path()))
	g := b.book.Publications(serviceA).Generation
	require.Equal(t, uint64(before+1), g)
	require.Equal(t, fmt.Sprintf("czxid 0x%x", before+1), b.book.Explain(dubboA.path()).Claims[0].Generation)
	require.NoError(t, b.register(1, triA.path()))
	require.Greater(t, b.book.Publications(serviceA).Generation, g)

	older := claims.Generation{Tenure: claims.Tenure{Epoch: 1, Zxid: 9}, Czxid: 5}
	require.Negative(t, older.Compare(claims.Generation{Tenure: claims.Tenure{Epoch: 1, Zxid: 2}, Czxid: 6}))
	require.Negative(t, older.Compare(claims.Generation{Tenure: claims.Tenure{Epoch: 2, Zxid: 1}, Czxid: 5}))
}

func TestExplainInWords(t *testing.T) {
	b := newBench(t)
	b.book.OnOutcome(func(registryclient.Service, registryclient.Instance) (string, bool) { return "accepted", false })
	b.mkdir(dirA)
	b.mkdir("/locks/a")
	b.open(0x107)
	require.NoError(t, b.register(0x107, dubboA.path()))
	for _, c := range []struct {
		name, path string
		want       []string
	}{
		{"nothing", "/nothing", []string{"/nothing does not exist.", "It is not discovery: it is below no root: an ordinary znode."}},
		{"coordination", "/locks/a", []string{"/locks/a is a persistent node; owner: nobody", "Its home is the bridge's own tree."}},
		{"a root", "/dubbo", []string{`in the space "dubbo", below the root /dubbo with the layout dubbo, bound to public/DEFAULT_GROUP`, "The layout takes it for: root."}},
		{"local", "/dubbo/config", []string{"It stays local: the configuration centre."}},
		{"a bound directory", dirA, []string{"Children shown: 1. Claims: 1.", "- " + dubboA.path()}},
		{"an address", dubboA.path(), []string{
			"is an ephemeral node; owner: session 0x107.", "claimed by: session; owner: session 0x107; czxid 0x",
			"address: dubbo://10.0.0.1:20880/com.acme.A (com.acme.A::).", "published: as 10.0.0.1:20880 of public/DEFAULT_GROUP/providers:com.acme.A::.",
			"registry: accepted.", "shown to ZooKeeper clients: a client created it.",
		}},
		{"an address that nobody claims", otherA.path(), []string{"does not exist.", "Nobody claims it."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := b.book.Explain(c.path).String()
			for _, w := range c.want {
				require.Contains(t, text, w)
			}
		})
	}
}
