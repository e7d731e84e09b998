package histories

import (
	"crypto/sha1"
	"encoding/base64"

	"pgregory.net/rapid"

	"zkbridge/compat-tests/wire"
	"zkbridge/zkproto"
)

// user is somebody whom nodes may belong to.
type user struct {
	auth string // as addauth sends it
	id   string // as an ACL names it
}

var users = []user{newUser("anna:secret"), newUser("bob:hidden")}

func newUser(auth string) user {
	sum := sha1.Sum([]byte(auth))
	name := auth
	for i := range auth {
		if auth[i] == ':' {
			name = auth[:i]
			break
		}
	}
	return user{auth: auth, id: name + ":" + base64.StdEncoding.EncodeToString(sum[:])}
}

// Draw is how histories are drawn. Those with expiries take half a second for
// each.
func Draw(expiries bool) *rapid.Generator[History] {
	step := rapid.OneOf(append([]*rapid.Generator[Step]{}, steps(expiries)...)...)
	// Three levels, for rapid shortens a list by taking parts out, and draws one of
	// about five.
	chapters := rapid.SliceOf(rapid.SliceOf(rapid.SliceOf(step)))
	return rapid.Custom(func(t *rapid.T) History {
		var h History
		for _, chapter := range chapters.Draw(t, "history") {
			for _, page := range chapter {
				h = append(h, page...)
			}
		}
		return h
	})
}

func steps(expiries bool) []*rapid.Generator[Step] {
	client := rapid.SampledFrom([]int{0, 1, 2, 3, 0, 1, 0, 1})
	several := rapid.SliceOfN(request(), 1, -1)
	step := func(kind Kind, requests *rapid.Generator[[]Request]) *rapid.Generator[Step] {
		return rapid.Custom(func(t *rapid.T) Step {
			s := Step{Client: client.Draw(t, "client"), Kind: kind}
			if requests != nil {
				s.Requests = requests.Draw(t, "requests")
			}
			return s
		})
	}
	one := rapid.Map(request(), func(r Request) []Request { return []Request{r} })
	write := rapid.Map(rapid.OneOf(create(), create(), deletion(), setData(), setACL()), func(r Request) []Request { return []Request{r} })
	restore := rapid.SliceOfN(rapid.OneOf(setWatches(), setWatches(), request()), 1, 3)
	lone := rapid.Map(alone(), func(r Request) []Request { return []Request{r} })

	list := many(16, step(Send, one))
	list = append(list, many(10, step(Send, several))...)
	list = append(list, many(2, step(Connect, restore))...)
	list = append(list, step(Send, lone), step(Send, lone), step(Connect, nil), step(Cut, nil), step(Cut, nil),
		step(SendAndCut, write), step(Intrude, nil), step(Close, nil), step(Close, several), step(ComeBack, nil))
	if expiries {
		list = append(list, step(Expire, nil), step(CutAndExpire, nil))
	}
	return list
}

func many[V any](n int, g *rapid.Generator[V]) []*rapid.Generator[V] {
	list := make([]*rapid.Generator[V], n)
	for i := range list {
		list[i] = g
	}
	return list
}

// request is one that may be sent in a burst.
func request() *rapid.Generator[Request] {
	var list []*rapid.Generator[Request]
	add := func(n int, g *rapid.Generator[Request]) { list = append(list, many(n, g)...) }
	add(10, create())
	add(5, deletion())
	add(5, setData())
	add(10, read())
	add(3, setACL())
	add(5, multi())
	add(3, watches())
	add(2, setWatches())
	add(2, other())
	add(1, multiRead())
	add(1, short(rapid.OneOf(create(), deletion(), setData(), read(), setACL(), multi(), watches(), setWatches())))
	return rapid.OneOf(list...)
}

// alone is a request that is not sent with others.
func alone() *rapid.Generator[Request] {
	auth := rapid.Custom(func(t *rapid.T) Request {
		a := rapid.SampledFrom([]zkproto.AuthRequest{
			{Scheme: "digest", Auth: []byte(users[0].auth)},
			{Scheme: "digest", Auth: []byte(users[1].auth)},
			{Scheme: "digest", Auth: []byte(users[0].auth)},
			{Scheme: "digest", Auth: []byte(users[1].auth)},
			{Scheme: "digest", Auth: []byte("nocolon")},
			{Scheme: "digest", Auth: []byte{}},
			{Scheme: "digest", Auth: []byte("a:b:c")},
			{Scheme: "digest", Auth: []byte("super:secret")},
			{Scheme: "digest"},
			{Scheme: zkproto.Null, Auth: []byte("x")},
			{Scheme: "ip", Auth: []byte("x")},
			{Scheme: "world", Auth: []byte("anyone")},
			{Scheme: "auth"},
			{Scheme: "nobody", Auth: []byte("x")},
		}).Draw(t, "auth")
		return Request{Xid: rapid.SampledFrom([]int32{zkproto.XidAuth, 0}).Draw(t, "xid"), Op: zkproto.OpAuth, Body: &a}
	})
	return rapid.OneOf(auth, auth, auth, rapid.SampledFrom([]Request{
		{Op: zkproto.OpSASL, Body: &zkproto.SASLRequest{Token: []byte("token")}},
		{Op: zkproto.OpCheck, Body: &zkproto.CheckRequest{Path: wire.Root, Version: -1}},
		{Op: 888},
	}))
}

// sure are paths of nodes, most of which will exist at some time.
var sure = []string{
	"/a", "/b", "/a/a", "/c", "/b/a", "/a/b", "/s0000000000", "/a/s0000000000", "/b/b", "/a/a/a",
	"/s0000000001", "/a/s0000000001", "/a/b/c", "/s0000000002", "/a/0000000000", "/b/s0000000001",
}

func nodes() []string {
	list := make([]string, len(sure))
	for i, p := range sure {
		list[i] = wire.Root + p
	}
	return list
}

// path is one that may be written to.
func path() *rapid.Generator[string] {
	odd := []string{"/", "//a", "/a/", "/./a", "/../a", "/a\x00b", "/a\x01", "/\u00e9", "/\U0001F600", "/\ue000", "/\xff", "/a//b", "/...", "/.b", "/a b"}
	for i := range odd {
		odd[i] = wire.Root + odd[i]
	}
	odd = append(odd, "nope", "a", "/nowhere/x", wire.Root, zkproto.Null)
	list := many(20, rapid.SampledFrom(nodes()))
	return rapid.OneOf(append(list, rapid.SampledFrom(odd))...)
}

// anyPath is one that may be read. The root is not: every history adds to it.
func anyPath() *rapid.Generator[string] {
	return outside("/zookeeper", "/zookeeper/config", "/zookeeper/quota", "/nowhere", zkproto.Null)
}

// watched is a path to watch.
func watched() *rapid.Generator[string] { return outside("/", "", "/zookeeper", "/nowhere") }

func outside(others ...string) *rapid.Generator[string] {
	list := many(12, path())
	return rapid.OneOf(append(list, rapid.Just(wire.Root), rapid.SampledFrom(others))...)
}

func data() *rapid.Generator[[]byte] {
	return rapid.SampledFrom([][]byte{[]byte("x"), []byte("y"), {}, nil, []byte("some more data"), {0, 0xff}})
}

func version() *rapid.Generator[int32] {
	return rapid.SampledFrom([]int32{-1, 0, -1, 1, -1, 0, 2, 1, -1, 3, 7, -2})
}

func acl() *rapid.Generator[[]zkproto.ACL] {
	anyone := func(perms int32) zkproto.ACL { return zkproto.ACL{Perms: perms, Scheme: "world", ID: "anyone"} }
	entry := rapid.SampledFrom([]zkproto.ACL{
		anyone(31), anyone(1), anyone(31 &^ 1), anyone(31 &^ 8), anyone(31 &^ 4), anyone(31 &^ 16), anyone(31 &^ 2), anyone(0), anyone(95),
		{Perms: 31, Scheme: "digest", ID: users[0].id},
		{Perms: 31, Scheme: "digest", ID: users[1].id},
		{Perms: 1, Scheme: "digest", ID: users[1].id},
		{Perms: 31, Scheme: "auth"},
		{Perms: 31, Scheme: "auth", ID: "ignored"},
		{Perms: 15, Scheme: "auth"},
		{Perms: 31, Scheme: "ip", ID: "127.0.0.1"},
		{Perms: 31, Scheme: "ip", ID: "127.0.0.0/8"},
		{Perms: 31, Scheme: "ip", ID: "10.1.2.3/16"},
		{Perms: 31, Scheme: "ip", ID: "::1"},
	})
	wrong := rapid.SampledFrom([]zkproto.ACL{
		{Perms: 31, Scheme: "world", ID: "bob"},
		{Perms: 31, Scheme: "digest", ID: "no parts"},
		{Perms: 31, Scheme: "digest", ID: "a:b:c"},
		{Perms: 31, Scheme: "ip", ID: "nowhere"},
		{Perms: 31, Scheme: "ip", ID: "10.0.0.0/40"},
		{Perms: 31, Scheme: "x509", ID: "CN=a"},
		{Perms: 31, Scheme: "super", ID: "a"},
		{Perms: 31},
		{Perms: 31, Scheme: "nobody", ID: "x"},
		{Perms: 31, Scheme: "world", ID: zkproto.Null},
		{Perms: 31, Scheme: "digest", ID: zkproto.Null},
		{Perms: 31, Scheme: zkproto.Null, ID: "x"},
		{Perms: 31, Scheme: "auth", ID: zkproto.Null},
	})
	list := many(14, rapid.Just(zkproto.WorldAnyone()))
	list = append(list, many(4, rapid.SliceOfN(entry, 1, 3))...)
	list = append(list, rapid.SliceOfN(rapid.OneOf(entry, wrong), 1, 3), rapid.SampledFrom([][]zkproto.ACL{nil, {}}))
	return rapid.OneOf(list...)
}

// created is what a create is about.
type created struct {
	op    zkproto.OpCode
	path  string
	data  []byte
	acl   []zkproto.ACL
	flags zkproto.CreateFlags
	ttl   int64
}

func creation() *rapid.Generator[created] {
	kinds := []struct {
		op    zkproto.OpCode
		flags zkproto.CreateFlags
	}{
		{zkproto.OpCreate, zkproto.FlagPersistent},
		{zkproto.OpCreate2, zkproto.FlagPersistent},
		{zkproto.OpCreate, zkproto.FlagEphemeral},
		{zkproto.OpCreate, zkproto.FlagPersistent},
		{zkproto.OpCreate, zkproto.FlagPersistentSequential},
		{zkproto.OpCreate2, zkproto.FlagEphemeral},
		{zkproto.OpCreate, zkproto.FlagEphemeralSequential},
		{zkproto.OpCreate2, zkproto.FlagPersistentSequential},
		{zkproto.OpCreateContainer, zkproto.FlagContainer},
		{zkproto.OpCreate, zkproto.FlagContainer},
		{zkproto.OpCreateContainer, zkproto.FlagEphemeral},
		{zkproto.OpCreateContainer, zkproto.FlagPersistentSequential},
		{zkproto.OpCreateTTL, zkproto.FlagTTL},
		{zkproto.OpCreate, zkproto.FlagTTL},
		{zkproto.OpCreate, 7},
		{zkproto.OpCreate2, -1},
		{zkproto.OpCreateTTL, zkproto.FlagTTL},
		{zkproto.OpCreateTTL, zkproto.FlagTTLSequential},
	}
	kind := rapid.SampledFrom(kinds)
	common := rapid.SampledFrom(kinds[:8])
	odd := []string{wire.Root + "/.", "/", "", "/zookeeper", wire.Root + "/a/"}
	return rapid.Custom(func(t *rapid.T) created {
		k := rapid.OneOf(common, common, common, kind).Draw(t, "kind")
		c := created{op: k.op, flags: k.flags, ttl: rapid.SampledFrom([]int64{1000, 1, 1 << 39, 0, -1, 1 << 40}).Draw(t, "ttl")}
		c.path = path().Draw(t, "path")
		if k.flags.Sequential() {
			i := rapid.IntRange(0, 9).Draw(t, "prefix")
			prefixes := []string{"/s", "/s", "/a/s", "/b/s", "/a/", "/a/a/s", "/", "/s", "/a/s", "/."}
			c.path = wire.Root + prefixes[i]
		} else if rapid.IntRange(0, 30).Draw(t, "odd") == 30 {
			c.path = rapid.SampledFrom(odd).Draw(t, "odd path")
		}
		c.data = data().Draw(t, "data")
		c.acl = acl().Draw(t, "acl")
		return c
	})
}

func create() *rapid.Generator[Request] {
	return rapid.Map(creation(), func(c created) Request {
		if c.op == zkproto.OpCreateTTL {
			return Request{Op: c.op, Body: &zkproto.CreateTTLRequest{Path: c.path, Data: c.data, ACL: c.acl, Flags: c.flags, TTL: c.ttl}}
		}
		return Request{Op: c.op, Body: &zkproto.CreateRequest{Path: c.path, Data: c.data, ACL: c.acl, Flags: c.flags}}
	})
}

// unwritable are nodes that a write must not or cannot change.
var unwritable = []string{"/zookeeper/config", "/nowhere/x", "", "x"}

func target() *rapid.Generator[string] {
	return rapid.OneOf(append(many(20, path()), rapid.SampledFrom(unwritable))...)
}

func deletion() *rapid.Generator[Request] {
	system := rapid.OneOf(append(many(20, target()), rapid.SampledFrom([]string{"/", "/zookeeper", "/zookeeper/quota"}))...)
	return rapid.Custom(func(t *rapid.T) Request {
		return Request{Op: zkproto.OpDelete, Body: &zkproto.DeleteRequest{Path: system.Draw(t, "path"), Version: version().Draw(t, "version")}}
	})
}

func setData() *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		return Request{Op: zkproto.OpSetData, Body: &zkproto.SetDataRequest{
			Path: target().Draw(t, "path"), Data: data().Draw(t, "data"), Version: version().Draw(t, "version"),
		}}
	})
}

func setACL() *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		return Request{Op: zkproto.OpSetACL, Body: &zkproto.SetACLRequest{
			Path: target().Draw(t, "path"), ACL: acl().Draw(t, "acl"), Version: version().Draw(t, "version"),
		}}
	})
}

func read() *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		op := rapid.SampledFrom([]zkproto.OpCode{
			zkproto.OpGetData, zkproto.OpExists, zkproto.OpGetChildren2, zkproto.OpGetChildren, zkproto.OpExists, zkproto.OpGetACL, zkproto.OpGetAllChildrenNumber,
		}).Draw(t, "operation")
		p := anyPath().Draw(t, "path")
		watch := rapid.Bool().Draw(t, "watch")
		switch op {
		case zkproto.OpGetData:
			return Request{Op: op, Body: &zkproto.GetDataRequest{Path: p, Watch: watch}}
		case zkproto.OpExists:
			return Request{Op: op, Body: &zkproto.ExistsRequest{Path: p, Watch: watch}}
		case zkproto.OpGetChildren:
			return Request{Op: op, Body: &zkproto.GetChildrenRequest{Path: p, Watch: watch}}
		case zkproto.OpGetChildren2:
			return Request{Op: op, Body: &zkproto.GetChildren2Request{Path: p, Watch: watch}}
		case zkproto.OpGetACL:
			return Request{Op: op, Body: &zkproto.GetACLRequest{Path: p}}
		default:
			return Request{Op: op, Body: &zkproto.GetAllChildrenNumberRequest{Path: p}}
		}
	})
}

func multi() *rapid.Generator[Request] {
	made := rapid.Map(creation(), func(c created) zkproto.MultiOp {
		return zkproto.MultiOp{Op: c.op, Path: c.path, Data: c.data, ACL: c.acl, Flags: c.flags, TTL: c.ttl}
	})
	changed := rapid.Custom(func(t *rapid.T) zkproto.MultiOp {
		return zkproto.MultiOp{
			Op:   rapid.SampledFrom([]zkproto.OpCode{zkproto.OpSetData, zkproto.OpDelete, zkproto.OpCheck}).Draw(t, "operation"),
			Path: target().Draw(t, "path"), Data: data().Draw(t, "data"), Version: version().Draw(t, "version"),
		}
	})
	wrong := rapid.SampledFrom([]zkproto.MultiOp{
		{Op: zkproto.OpGetData, Path: wire.Root}, {Op: zkproto.OpGetChildren, Path: wire.Root}, {Op: zkproto.OpCheck, Path: wire.Root, Version: 77},
	})
	// These succeed nearly always: with the others alone few multis would.
	likely := rapid.SampledFrom([]zkproto.MultiOp{
		{Op: zkproto.OpCreate, Path: wire.Root + "/s", Data: []byte("m"), ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagPersistentSequential},
		{Op: zkproto.OpCreate2, Path: wire.Root + "/s", ACL: zkproto.WorldAnyone(), Flags: zkproto.FlagEphemeralSequential},
		{Op: zkproto.OpSetData, Path: wire.Root, Data: []byte("m"), Version: -1},
		{Op: zkproto.OpCheck, Path: wire.Root, Version: -1},
	})
	parts := append(append(many(7, made), many(7, changed)...), many(18, likely)...)
	ops := rapid.SliceOf(rapid.OneOf(append(parts, wrong)...))
	return rapid.Map(ops, func(ops []zkproto.MultiOp) Request {
		return Request{Op: zkproto.OpMulti, Body: &zkproto.MultiRequest{Ops: ops}}
	})
}

func multiRead() *rapid.Generator[Request] {
	part := func(op zkproto.OpCode) *rapid.Generator[zkproto.MultiOp] {
		return rapid.Map(anyPath(), func(p string) zkproto.MultiOp { return zkproto.MultiOp{Op: op, Path: p} })
	}
	wrong := rapid.Just(zkproto.MultiOp{Op: zkproto.OpCheck, Path: wire.Root, Version: -1})
	parts := append(many(5, part(zkproto.OpGetData)), many(5, part(zkproto.OpGetChildren))...)
	return rapid.Map(rapid.SliceOf(rapid.OneOf(append(parts, wrong)...)), func(ops []zkproto.MultiOp) Request {
		return Request{Op: zkproto.OpMultiRead, Body: &zkproto.MultiReadRequest{Ops: ops}}
	})
}

func watches() *rapid.Generator[Request] {
	few := rapid.SampledFrom([]string{wire.Root, wire.Root + "/a", wire.Root + "/b"}) // to meet the watches that are there
	return rapid.Custom(func(t *rapid.T) Request {
		p := rapid.OneOf(watched(), few).Draw(t, "path")
		n := rapid.SampledFrom([]int32{1, 0, 3, 2, 4, 5, 0, 1, 6, -1}).Draw(t, "kind")
		switch rapid.SampledFrom([]zkproto.OpCode{zkproto.OpAddWatch, zkproto.OpCheckWatches, zkproto.OpAddWatch, zkproto.OpRemoveWatches}).Draw(t, "operation") {
		case zkproto.OpCheckWatches:
			return Request{Op: zkproto.OpCheckWatches, Body: &zkproto.CheckWatchesRequest{Path: p, Type: zkproto.WatcherType(n)}}
		case zkproto.OpRemoveWatches:
			return Request{Op: zkproto.OpRemoveWatches, Body: &zkproto.RemoveWatchesRequest{Path: p, Type: zkproto.WatcherType(n)}}
		default:
			if n < 4 {
				n &= 1
			}
			return Request{Op: zkproto.OpAddWatch, Body: &zkproto.AddWatchRequest{Path: p, Mode: zkproto.AddWatchMode(n)}}
		}
	})
}

func setWatches() *rapid.Generator[Request] {
	list := rapid.SliceOf(rapid.SampledFrom(append(nodes(), wire.Root)))
	notNull := rapid.Map(list, func(l []string) []string { return append([]string{}, l...) })
	return rapid.Custom(func(t *rapid.T) Request {
		r := Request{Op: zkproto.OpSetWatches, Seen: rapid.Bool().Draw(t, "seen")}
		if rapid.Bool().Draw(t, "special xid") {
			r.Xid = zkproto.XidSetWatches
		}
		relative := int64(0)
		if !r.Seen {
			relative = rapid.Int64Range(0, 60).Draw(t, "relative")
		}
		old := zkproto.SetWatchesRequest{RelativeZxid: relative, Data: notNull.Draw(t, "data"), Exist: notNull.Draw(t, "exist"), Child: notNull.Draw(t, "child")}
		if rapid.Bool().Draw(t, "old form") {
			r.Body = &old
			return r
		}
		r.Op = zkproto.OpSetWatches2
		r.Body = &zkproto.SetWatches2Request{
			RelativeZxid: relative, Data: old.Data, Exist: old.Exist, Child: old.Child,
			Persistent: notNull.Draw(t, "persistent"), PersistentRecursive: notNull.Draw(t, "recursive"),
		}
		return r
	})
}

func other() *rapid.Generator[Request] {
	return rapid.OneOf(
		rapid.Map(watched(), func(p string) Request { return Request{Op: zkproto.OpSync, Body: &zkproto.SyncRequest{Path: p}} }),
		rapid.SampledFrom([]Request{
			{Op: zkproto.OpGetEphemerals, Body: &zkproto.GetEphemeralsRequest{Prefix: "/"}},
			{Op: zkproto.OpGetEphemerals, Body: &zkproto.GetEphemeralsRequest{Prefix: wire.Root + "/a"}},
			{Op: zkproto.OpGetEphemerals, Body: &zkproto.GetEphemeralsRequest{Prefix: ""}},
			{Op: zkproto.OpGetEphemerals, Body: &zkproto.GetEphemeralsRequest{Prefix: wire.Root + "/s"}},
			{Op: zkproto.OpPing, Xid: zkproto.XidPing},
			{Op: zkproto.OpWhoAmI},
			{Op: zkproto.OpReconfig, Body: &zkproto.ReconfigRequest{CurrentConfig: -1}},
		}),
	)
}

// short is a request whose body ends too early.
func short(g *rapid.Generator[Request]) *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		r := g.Draw(t, "request")
		r.Off = rapid.IntRange(1, 40).Draw(t, "off")
		return r
	})
}
