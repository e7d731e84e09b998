package claims_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/translate"
	"zkbridge/zkproto"
)

const reserved = int64(7) << 56

// bench is a book of claims under a tree in memory.
type bench struct {
	book   *claims.Book
	tree   *znode.Tree
	dirty  map[registryclient.Service]claims.Urgency // since the last look
	events []string                                  // "type path", of the watched directories
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
	Errorf(string, ...any)
	FailNow()
}

// dubbo is the layout of all tests.
var dubbo = translate.NewDubbo("c1")

func oneSpace() []claims.Space {
	return []claims.Space{{
		Name: "dubbo", Namespace: "public", Group: "DEFAULT_GROUP",
		Roots: []claims.Root{{Pattern: "/dubbo", Layouts: []translate.Layout{dubbo}}},
	}}
}

func newBench(t failer, spaces ...claims.Space) *bench {
	t.Helper()
	if len(spaces) == 0 {
		spaces = oneSpace()
	}
	s, err := claims.NewSpaces(spaces)
	if err != nil {
		t.Fatalf("%v", err)
	}
	b := &bench{dirty: make(map[registryclient.Service]claims.Urgency)}
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	b.book = claims.NewBook(claims.BookConfig{Spaces: s, Reserved: reserved, Bridge: 7, Incarnation: 3, Now: clock})
	b.book.OnDirty(func(svc registryclient.Service, u claims.Urgency) { b.dirty[svc] = max(b.dirty[svc], u) })
	b.tree, err = znode.New(znode.Config{Reserved: reserved, Hook: b.book})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := b.book.Load(b.tree); err != nil {
		t.Fatalf("%v", err)
	}
	return b
}

// Notify implements znode.Watcher.
func (b *bench) Notify(e *znode.Event) {
	b.events = append(b.events, fmt.Sprintf("%d %s", e.Type, e.Path))
}

// watch follows the children of a directory, for good.
func (b *bench) watch(dir string) {
	b.tree.Arm(func(v *znode.View) { v.Watch(b, dir, znode.WatchPersistent) })
}

// taken gives the events since the last call.
func (b *bench) taken() []string {
	list := b.events
	b.events = nil
	return list
}

// do runs one operation of a session.
func (b *bench) do(session int64, fn func(x *znode.Tx) error) error {
	var err error
	b.tree.Update(znode.Origin{Kind: znode.Operation, Session: session}, fn, func(r znode.Result) { err = r.Err })
	return err
}

func (b *bench) open(session int64) {
	b.do(session, func(x *znode.Tx) error { x.OpenSession(znode.Session{ID: session}); return nil })
}

func (b *bench) end(session int64) {
	b.tree.Update(znode.Origin{Kind: znode.SessionEnd, Session: session}, func(x *znode.Tx) error { x.CloseSession(session, nil); return nil }, nil)
}

func (b *bench) mkdir(path string) {
	for i := 1; i <= len(path); i++ {
		if i == len(path) || path[i] == '/' {
			b.do(0, func(x *znode.Tx) error {
				_, _, err := x.Create(znode.Create{Path: path[:i], ACL: zkproto.WorldAnyone()})
				return err
			})
		}
	}
}

func create(x *znode.Tx, session int64, path string) error {
	c := znode.Create{Path: path, Data: []byte("10.0.0.1"), ACL: zkproto.WorldAnyone()}
	if session != 0 {
		c.Kind, c.Owner = znode.Ephemeral, session
	}
	_, _, err := x.Create(c)
	return err
}

// register creates a node: ephemeral of the session, persistent if that is 0.
func (b *bench) register(session int64, path string) error {
	return b.do(session, func(x *znode.Tx) error { return create(x, session, path) })
}

func (b *bench) remove(session int64, path string) error {
	return b.do(session, func(x *znode.Tx) error { return x.Delete(path, -1) })
}

func (b *bench) children(dir string) (names []string) {
	b.tree.View(func(v *znode.View) { names, _, _ = v.Children(dir, nil) })
	slices.Sort(names)
	return names
}

func (b *bench) owner(path string) (owner int64) {
	b.tree.View(func(v *znode.View) { owner = v.Owner(path) })
	return owner
}

// published gives "ip:port protocol fingerprint" of a service's list.
func (b *bench) published(svc registryclient.Service) (list []string) {
	for _, l := range b.book.Publications(svc).Listed {
		m, _ := translate.ParseMarker(l.Instance.Metadata)
		list = append(list, l.Instance.Address()+" "+l.Instance.Metadata["protocol"]+" "+m.Fingerprint)
	}
	return list
}

// provider describes a registration.
type provider struct {
	iface    string
	protocol string
	host     string
	port     int
	version  string
	extra    string // further parameters, as k=v
}

func (p provider) url() string {
	params := []string{"application=a", "interface=" + p.iface}
	if p.extra != "" {
		params = append(params, p.extra)
	}
	if p.version != "" {
		params = append(params, "version="+p.version)
	}
	slices.Sort(params)
	return fmt.Sprintf("%s://%s:%d/%s?%s", p.protocol, p.host, p.port, p.iface, strings.Join(params, "&"))
}

func (p provider) dir() string  { return "/dubbo/" + p.iface + "/providers" }
func (p provider) name() string { return url.QueryEscape(p.url()) }
func (p provider) path() string { return p.dir() + "/" + p.name() }

func (p provider) service() registryclient.Service {
	return registryclient.Service{Namespace: "public", Group: "DEFAULT_GROUP", Name: "providers:" + p.iface + ":" + p.version + ":"}
}

// line is what published gives of it.
func (p provider) line() string {
	return fmt.Sprintf("%s:%d %s %s", p.host, p.port, p.protocol, translate.Fingerprint(p.name()))
}

// native gives the instance that a native application registers.
func (p provider) native() registryclient.Instance {
	m := map[string]string{"application": "a", "interface": p.iface, "category": "providers", "protocol": p.protocol, "path": p.iface}
	if p.version != "" {
		m["version"] = p.version
	}
	if k, v, ok := strings.Cut(p.extra, "="); ok {
		m[k] = v
	}
	return registryclient.Instance{IP: p.host, Port: p.port, Cluster: "DEFAULT", Weight: 1, Enabled: true, Healthy: true, Metadata: m}
}

func natives(list ...provider) (out []registryclient.Instance) {
	for _, p := range list {
		out = append(out, p.native())
	}
	return out
}

func names(list ...provider) (out []string) {
	for _, p := range list {
		out = append(out, p.name())
	}
	slices.Sort(out)
	return out
}

func lines(list ...provider) (out []string) {
	for _, p := range list {
		out = append(out, p.line())
	}
	return out
}
