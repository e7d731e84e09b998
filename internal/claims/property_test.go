package claims_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"zkbridge/internal/claims"
	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/zkproto"

	"pgregory.net/rapid"
)

// world is all there can be: few enough of everything that it meets often.
var world = func() (all []provider) {
	for _, iface := range []string{"com.acme.A", "com.acme.B"} {
		for _, version := range []string{"", "1.0"} {
			for _, protocol := range []string{"dubbo", "tri"} {
				for _, port := range []int{20880, 20881} {
					if iface == "com.acme.B" && (version != "" || port != 20880) {
						continue
					}
					for _, stamp := range []string{"timestamp=1", "timestamp=2"} {
						all = append(all, provider{iface, protocol, "10.0.0.1", port, version, stamp})
					}
				}
			}
		}
	}
	return all
}()

// address is a provider without what two registrations of one may differ in.
func (p provider) address() provider {
	p.extra = ""
	return p
}

// model is what should be, kept without any of the code under test.
type model struct {
	clock    int
	nodes    map[provider]made // of clients
	first    map[provider]int  // by address: since when without a gap
	registry map[provider]bool // what natives registered
	deleted  map[provider]bool // of these, whose node a client deleted
	open     map[int64]bool    // sessions
}

type made struct {
	owner int64
	at    int
}

func newModel() *model {
	return &model{nodes: make(map[provider]made), first: make(map[provider]int), registry: make(map[provider]bool), deleted: make(map[provider]bool), open: make(map[int64]bool)}
}

func (m *model) claimed(address provider) bool {
	for p := range m.nodes {
		if p.address() == address {
			return true
		}
	}
	return false
}

func (m *model) create(p provider, owner int64) {
	m.clock++
	if !m.claimed(p.address()) {
		m.first[p.address()] = m.clock
	}
	m.nodes[p] = made{owner, m.clock}
	for q := range m.deleted {
		if q.address() == p.address() {
			delete(m.deleted, q)
		}
	}
}

func (m *model) remove(p provider) { delete(m.nodes, p) }

// allowed gives the sets of names of an address of which exactly one may be
// shown.
func (m *model) allowed(address provider) (all []provider, one []provider) {
	for _, p := range world {
		if p.address() != address {
			continue
		}
		if _, ok := m.nodes[p]; ok {
			all = append(all, p)
		} else if m.registry[p] && !m.deleted[p] {
			one = append(one, p)
		}
	}
	if len(all) > 0 {
		one = nil
	}
	return all, one
}

// shown tells whether the node of p is an imported one that may be there.
func (m *model) check(t *rapid.T, b *bench) {
	addresses := make(map[provider]bool)
	byDir := make(map[string][]string)
	for _, p := range world {
		addresses[p.address()] = true
		if byDir[p.dir()] == nil {
			byDir[p.dir()] = b.children(p.dir())
		}
	}
	count := make(map[string]int)
	for a := range addresses {
		all, one := m.allowed(a)
		var found []provider
		for _, p := range world {
			if p.address() == a && slices.Contains(byDir[p.dir()], p.name()) {
				found = append(found, p)
				count[p.dir()]++
			}
		}
		switch {
		case len(all) > 0:
			if !slices.Equal(found, all) {
				t.Fatalf("address %+v: shown %v, want every client's %v", a, found, all)
			}
			for _, p := range all {
				if got := b.owner(p.path()); got != m.nodes[p].owner {
					t.Fatalf("%s: owner 0x%x, want 0x%x", p.url(), got, m.nodes[p].owner)
				}
			}
		case len(one) > 0:
			if len(found) != 1 || !slices.Contains(one, found[0]) {
				t.Fatalf("address %+v: shown %v, want exactly one of the registry's %v", a, found, one)
			}
			if got := b.owner(found[0].path()); got != reserved {
				t.Fatalf("%s: owner 0x%x, want the bridge's", found[0].url(), got)
			}
		case len(found) > 0:
			t.Fatalf("address %+v: shown %v, but nobody claims it", a, found)
		}
	}
	for dir, names := range byDir {
		if len(names) != count[dir] {
			t.Fatalf("%s: shows something that nobody made: %q", dir, names)
		}
	}
	m.checkPublished(t, b)
}

func (m *model) checkPublished(t *rapid.T, b *bench) {
	services := make(map[registryclient.Service][]provider)
	for _, p := range world {
		services[p.service()] = append(services[p.service()], p)
	}
	for svc, list := range services {
		var want []string
		for _, port := range []int{20880, 20881} {
			var best provider
			foreign := false
			for _, p := range list {
				if p.port != port {
					continue
				}
				foreign = foreign || m.registry[p]
				n, ok := m.nodes[p]
				if !ok {
					continue
				}
				switch {
				case best.iface == "", m.first[p.address()] < m.first[best.address()]:
					best = p
				case p.address() == best.address() && n.at > m.nodes[best].at:
					best = p
				}
			}
			if best.iface != "" && !foreign {
				want = append(want, best.line())
			}
		}
		got := b.published(svc)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("published under %s: %q, want %q", svc, got, want)
		}
	}
}

// TestNoOrderLosesAnAddress lets clients, sessions and the registry do what
// they like in any order, and compares the tree and what is published with a
// model after every step.
func TestNoOrderLosesAnAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, m := newBench(t), newModel()
		dirs := []string{"/dubbo/com.acme.A/providers", "/dubbo/com.acme.B/providers"}
		if rapid.Bool().Draw(t, "directories exist") {
			for _, d := range dirs {
				b.mkdir(d)
			}
		}
		pick := rapid.SampledFrom(world)
		session := rapid.SampledFrom([]int64{101, 102, 103})
		// shown gives some node that is there, most of the time.
		existing := func(t *rapid.T) provider {
			var there []provider
			for _, p := range world {
				if slices.Contains(b.children(p.dir()), p.name()) {
					there = append(there, p)
				}
			}
			if len(there) == 0 {
				return pick.Draw(t, "any")
			}
			return rapid.SampledFrom(there).Draw(t, "node")
		}
		drop := func(p provider) { // what a delete of a node that is there means
			if _, ok := m.nodes[p]; ok {
				m.remove(p)
				return
			}
			for _, q := range world {
				if q.address() == p.address() && m.registry[q] {
					m.deleted[q] = true
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				p, s := pick.Draw(t, "provider"), session.Draw(t, "session")
				if rapid.IntRange(0, 5).Draw(t, "kind") == 0 {
					s = 0
				}
				if s != 0 && !m.open[s] {
					b.open(s)
					m.open[s] = true
				}
				_, exists := m.nodes[p]
				switch err := b.register(s, p.path()); {
				case err == nil:
					if exists {
						t.Fatalf("%s: created over a client's node", p.url())
					}
					m.create(p, s)
				case errors.Is(err, zkproto.NodeExists) && exists, errors.Is(err, zkproto.NoNode):
				default:
					t.Fatalf("create %s: %v", p.url(), err)
				}
			},
			"delete": func(t *rapid.T) {
				p := existing(t)
				if err := b.remove(session.Draw(t, "session"), p.path()); err == nil {
					drop(p)
				} else if !errors.Is(err, zkproto.NoNode) {
					t.Fatalf("delete %s: %v", p.url(), err)
				}
			},
			"end": func(t *rapid.T) {
				s := session.Draw(t, "session")
				b.end(s)
				delete(m.open, s)
				for p, n := range m.nodes {
					if n.owner == s {
						m.remove(p)
					}
				}
			},
			"delete and create at once": func(t *rapid.T) {
				p, q, s := existing(t), pick.Draw(t, "provider"), session.Draw(t, "session")
				if !m.open[s] {
					b.open(s)
					m.open[s] = true
				}
				err := b.do(s, func(x *znode.Tx) error {
					if err := x.Delete(p.path(), -1); err != nil {
						return err
					}
					return create(x, s, q.path())
				})
				if err == nil {
					drop(p)
					m.create(q, s)
				}
			},
			"import": func(t *rapid.T) {
				svc := pick.Draw(t, "service").service()
				var list []provider
				for _, p := range world {
					if p.service() == svc && rapid.IntRange(0, 3).Draw(t, "has") == 0 {
						list = append(list, p)
					}
				}
				for _, d := range dirs {
					b.watch(d)
				}
				before := make(map[string][]string)
				for _, d := range dirs {
					before[d] = b.children(d)
				}
				b.taken()
				b.book.Import(svc, natives(rapid.Permutation(list).Draw(t, "order")...))
				for _, p := range world {
					if p.service() == svc {
						if had, has := m.registry[p], slices.Contains(list, p); has {
							m.registry[p] = true
							if !had {
								delete(m.deleted, p)
							}
						} else {
							delete(m.registry, p)
							delete(m.deleted, p)
						}
					}
				}
				seen := make(map[string]int)
				for _, e := range b.taken() {
					seen[e]++
				}
				for _, d := range dirs {
					changed := !slices.Equal(before[d], b.children(d))
					if n := seen[fmt.Sprintf("%d %s", zkproto.EventChildrenChanged, d)]; n > 1 || changed != (n == 1) {
						t.Fatalf("%s: %d events for one import, changed: %v", d, n, changed)
					}
				}
			},
			"refused": func(t *rapid.T) {
				p := pick.Draw(t, "provider")
				err := b.do(101, func(x *znode.Tx) error {
					if err := create(x, 101, p.path()); err != nil {
						return err
					}
					return zkproto.BadVersion
				})
				if err == nil {
					t.Fatalf("the transaction should have failed")
				}
			},
			"": func(t *rapid.T) { m.check(t, b) },
		})
	})
}

// TestPublishedNeverRepeatsTheRegistry: what is known only by registry claims is
// in no list that goes there, and no address is shown twice, whatever the
// claims.
func TestPublishedNeverRepeatsTheRegistry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []*claims.Claim
		for i := range rapid.IntRange(0, 12).Draw(t, "claims") {
			p := rapid.SampledFrom(world).Draw(t, "provider")
			c := &claims.Claim{
				Source: rapid.SampledFrom([]claims.Source{claims.Session, claims.Ensemble, claims.Registry}).Draw(t, "source"),
				Dir:    p.dir(), Name: p.name(), Service: p.service(), Instance: p.native(), At: claims.Endpoint(p.native()),
				Generation: claims.Generation{Czxid: int64(i)}, First: int64(i),
			}
			if rapid.IntRange(0, 9).Draw(t, "refused") == 0 {
				c.Refused = "because"
			}
			e, err := dubbo.FromZnode(p.path()[len("/dubbo/"):], nil)
			if err != nil {
				t.Fatalf("%v", err)
			}
			c.Address = claims.Address{Space: "dubbo", Root: "/dubbo", Address: e.Address}
			list = append(list, c)
		}
		published, left := claims.Published(list)
		seen := make(map[string]bool)
		local := 0
		for _, c := range list {
			if c.Local() {
				local++
			}
		}
		if len(published)+len(left) != local {
			t.Fatalf("%d published and %d left out of %d claims", len(published), len(left), local)
		}
		for _, c := range published {
			if !c.Local() {
				t.Fatalf("published a registry claim: %+v", c)
			}
			if at := c.At; seen[at] {
				t.Fatalf("%s is published twice", at)
			} else {
				seen[at] = true
			}
			for _, o := range list {
				if !o.Local() && o.At == c.At {
					t.Fatalf("published %s beside somebody else's", c.Name)
				}
			}
		}
		standIns := make(map[claims.Address]bool)
		for _, c := range claims.Shown(list) {
			if c.Local() {
				continue
			}
			if standIns[c.Address] {
				t.Fatalf("%v is shown twice", c.Address)
			}
			standIns[c.Address] = true
			for _, o := range list {
				if o.Local() && o.Address == c.Address {
					t.Fatalf("%v is shown beside a client's node of its own", c.Address)
				}
			}
		}
		for _, c := range claims.Exported(list) {
			if c.Source == claims.Ensemble {
				t.Fatalf("exported the ensemble's own claim")
			}
		}
	})
}
