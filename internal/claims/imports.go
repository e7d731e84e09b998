package claims

import (
	"errors"
	"slices"
	"strings"

	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/translate"
)

// imported is what the registry lists under a service that is not ours.
type imported struct {
	list  []rendering
	zxid  int64             // of the import that brought the newest of it
	rooms map[*room]*guests // its claims, by the root that they are shown in
}

// guests are the registry claims of one service in one root.
type guests struct {
	named   map[string]*Claim // by path
	unnamed []*Claim          // those that have no node
}

// rendering is an instance and the node that each layout makes of it. It never
// changes.
type rendering struct {
	instance registryclient.Instance
	nodes    map[string]node // by the layout's name
}

// node is what a layout makes of an instance.
type node struct {
	translate.Znode
	refusal string // why there is none
	reason  translate.Reason
}

// Import says what the registry lists under a service beside our own, the whole
// list. What is new, gone or changed becomes one transaction; an instance that
// was changed in place keeps its place by one swap of names. Nothing that is the
// same is touched, and if all is the same there is no transaction. It reports
// whether there was one. Calls for one service are serial.
//
// The receiver does not change the list.
func (b *Book) Import(svc registryclient.Service, list []registryclient.Instance) bool {
	before, layouts := b.imports(svc)
	now, fresh, same := render(svc.Name, list, before, layouts)
	if same {
		return false
	}
	b.tree.Update(znode.Origin{Kind: znode.Binding, Why: "import of " + svc.String()}, func(x *znode.Tx) error {
		b.importing = x.Zxid()
		s := b.service(svc)
		if s.imported == nil {
			s.imported = &imported{rooms: make(map[*room]*guests)}
		}
		changed := differ(s.imported.list, now)
		s.imported.list, s.imported.zxid = now, x.Zxid()
		for _, r := range b.targets[Target{svc.Namespace, svc.Group}] {
			b.furnish(svc, s.imported, r, x.Zxid())
		}
		b.settle(x)
		for _, r := range fresh {
			b.note(svc, r)
		}
		for c := range s.local { // ours may have to make room, or may come back
			if u := changed[c.endpoint()]; u != 0 {
				b.mark(svc, u)
			}
		}
		b.forget(svc)
		return nil
	}, func(znode.Result) { b.tell() })
	return true
}

// imports gives the renderings that stand, and the layouts that read the
// service's target.
func (b *Book) imports(svc registryclient.Service) (list []rendering, layouts map[string]translate.Layout) {
	layouts = make(map[string]translate.Layout)
	b.tree.View(func(*znode.View) {
		if s := b.services[svc]; s != nil && s.imported != nil {
			list = s.imported.list
		}
		for _, r := range b.targets[Target{svc.Namespace, svc.Group}] {
			for _, l := range r.layouts {
				if l.Wants(svc.Name) {
					layouts[l.Name()] = l
				}
			}
		}
	})
	return list, layouts
}

// note reports what cannot be shown of an instance that the registry has not
// listed before. One that is disabled is in order.
func (b *Book) note(svc registryclient.Service, r rendering) {
	for _, n := range r.nodes {
		b.dropped += uint64(len(n.Dropped))
		if n.refusal != "" && n.reason != translate.ReasonDisabled {
			b.onRefuse(Refused{Service: svc, Instance: r.instance.Address(), Reason: n.reason, Text: n.refusal})
		}
	}
}

// render translates a list, in sorted order, reusing what stands already. fresh
// are those that had to be made; same tells that nothing differs.
func render(name string, list []registryclient.Instance, before []rendering, layouts map[string]translate.Layout) (now, fresh []rendering, same bool) {
	known := make(map[string][]rendering, len(before))
	for _, r := range before {
		known[r.instance.Address()] = append(known[r.instance.Address()], r)
	}
	for _, in := range list {
		r, reused := rendering{instance: in}, false
		if i := slices.IndexFunc(known[in.Address()], func(k rendering) bool { return k.instance.Equal(in) }); i >= 0 {
			r = known[in.Address()][i]
			known[in.Address()] = slices.Delete(known[in.Address()], i, i+1)
			reused = true
		}
		for _, l := range layouts {
			if _, ok := r.nodes[l.Name()]; !ok {
				r = r.with(l, name)
			}
		}
		now = append(now, r)
		if !reused {
			fresh = append(fresh, r)
		}
	}
	slices.SortFunc(now, func(a, b rendering) int { return a.instance.Compare(b.instance) })
	return now, fresh, len(fresh) == 0 && len(list) == len(before)
}

// with gives the rendering with the node that l makes of it.
func (r rendering) with(l translate.Layout, service string) rendering {
	nodes := make(map[string]node, len(r.nodes)+1)
	for k, v := range r.nodes {
		nodes[k] = v
	}
	var n node
	z, err := l.ToZnode(service, r.instance)
	if err == nil {
		// A client that lists the name must read the same address from it.
		var e translate.Entry
		if e, err = l.FromZnode(z.Dir+"/"+z.Name, z.Data); err == nil && e.Address != z.Address {
			err = &translate.Refusal{Reason: translate.ReasonName, Text: "its name would be read as another address"}
		}
	}
	if err != nil {
		n.refusal = err.Error()
		var refusal *translate.Refusal
		if errors.As(err, &refusal) {
			n.reason = refusal.Reason
		}
	} else {
		n.Znode = z
	}
	nodes[l.Name()] = n
	r.nodes = nodes
	return r
}

// differ tells which ip and port have come or gone.
func differ(before, now []rendering) map[endpoint]Urgency {
	had, has := endpoints(before), endpoints(now)
	changed := make(map[endpoint]Urgency)
	for e := range had {
		if !has[e] {
			changed[e] = Urgent // ours may be published again
		}
	}
	for e := range has {
		if !had[e] {
			changed[e] = Relaxed
		}
	}
	return changed
}

func endpoints(list []rendering) map[endpoint]bool {
	set := make(map[endpoint]bool, len(list))
	for _, r := range list {
		set[endpoint{canonicalHost(r.instance.IP), r.instance.Port}] = true
	}
	return set
}

// furnish makes the registry claims of a service in one root what the service's
// list says, and touches what that changes.
func (b *Book) furnish(svc registryclient.Service, i *imported, r *room, zxid int64) {
	for _, l := range r.layouts {
		if l.Wants(svc.Name) { // of several layouts of a root the first has it
			b.furnishLayout(svc, i, r, l, zxid)
			return
		}
	}
}

func (b *Book) furnishLayout(svc registryclient.Service, i *imported, r *room, l translate.Layout, zxid int64) {
	g := i.rooms[r]
	if g == nil {
		g = &guests{named: make(map[string]*Claim)}
		i.rooms[r] = g
	}
	gone := g.named
	g.named, g.unnamed = make(map[string]*Claim, len(i.list)), nil
	var fresh []*Claim
	for _, rd := range i.list {
		c := b.guest(svc, rd, r, l, zxid)
		switch {
		case c == nil:
		case c.Name == "":
			g.unnamed = append(g.unnamed, c)
		case g.named[c.Path()] != nil: // an equal one, from another publisher
		default:
			path := c.Path()
			if old := gone[path]; old != nil {
				delete(gone, path)
				if !old.Instance.Equal(c.Instance) {
					old.Instance, old.Data, old.Deleted = c.Instance, c.Data, false
					b.touch(b.group(old))
				}
				c = old
			} else {
				fresh = append(fresh, c)
			}
			g.named[path] = c
		}
	}
	b.replace(gone, fresh)
}

// replace takes out the registry claims that are gone and enters the fresh
// ones. One that is fresh for an address that had a claim is that claim changed
// in place, and keeps its age.
func (b *Book) replace(gone map[string]*Claim, fresh []*Claim) {
	ages := make(map[spot]*Claim, len(gone))
	for _, c := range gone {
		s := spot{c.Dir, c.Address.Address}
		if o := ages[s]; o == nil || older(c, o) {
			ages[s] = c
		}
		g := b.group(c)
		g.claims = slices.DeleteFunc(g.claims, func(o *Claim) bool { return o == c })
		b.want(c.Path(), g, false)
		b.touch(g)
	}
	for _, c := range fresh {
		if old := ages[spot{c.Dir, c.Address.Address}]; old != nil {
			c.Generation, c.First, c.Since = old.Generation, old.First, old.Since
		}
		g := b.group(c)
		g.claims = append(g.claims, c)
		b.want(c.Path(), g, true)
		b.touch(g)
	}
}

// want notes that a registry claim of g has the path, or has it no more.
func (b *Book) want(path string, g *group, yes bool) {
	list := b.wanting[path]
	if yes {
		b.wanting[path] = append(list, g)
		return
	}
	if i := slices.Index(list, g); i >= 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) == 0 {
		delete(b.wanting, path)
	} else {
		b.wanting[path] = list
	}
}

// guest makes the registry claim of a rendering in a root; nil if its directory
// belongs to another space there.
func (b *Book) guest(svc registryclient.Service, rd rendering, r *room, l translate.Layout, zxid int64) *Claim {
	n, ok := rd.nodes[l.Name()]
	if !ok { // the root was not known when the list was translated
		n = rd.with(l, svc.Name).nodes[l.Name()]
	}
	c := &Claim{
		Address: Address{Space: r.space, Root: r.root, Address: n.Address},
		Source:  Registry, Owner: b.cfg.Reserved,
		Generation: Generation{Czxid: zxid}, First: zxid, Since: b.cfg.Now(),
		Service: svc, Instance: rd.instance, Data: n.Data,
	}
	if n.refusal != "" {
		c.Refused, c.Reason = n.refusal, n.reason
		return c
	}
	c.Dir, c.Name = r.root+"/"+n.Dir, n.Name
	if strings.IndexByte(c.Name, '/') >= 0 {
		c.Dir, c.Name, c.Refused = "", "", "its name has a slash"
		return c
	}
	if b.cfg.Spaces.Locate(c.Path()).place() != r.place {
		return nil
	}
	return c
}

// claims gives all claims of a service: what Published decides about.
func (s *service) claims() []*Claim {
	list := make([]*Claim, 0, len(s.local))
	for c := range s.local {
		list = append(list, c)
	}
	if s.imported != nil {
		for _, g := range s.imported.rooms {
			for _, c := range g.named {
				list = append(list, c)
			}
			list = append(list, g.unnamed...)
		}
	}
	return list
}
