package claims

import (
	"errors"
	"slices"
	"strings"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/translate"
)

// imported is what the registry lists under a service that is not ours.
type imported struct {
	list  []*rendering   // sorted by instance
	at    map[string]int // how many there are of each ip and port
	zxid  int64          // of the last import
	rooms map[*room]map[*rendering]*Claim
}

// rendering is an instance and the node that each layout makes of it. It never
// changes.
type rendering struct {
	instance registryclient.Instance
	at       string
	held     Hold            // zero: the registry lists it
	nodes    map[string]node // by the layout's name
}

// Hold is an instance that the registry lists no more and that is shown all the
// same.
type Hold struct {
	Instance registryclient.Instance
	Why      string
	Since    time.Time
}

// node is what a layout makes of an instance.
type node struct {
	translate.Znode
	refusal string // why there is none
	reason  translate.Reason
}

// Import says what the registry lists under a service beside our own, the whole
// list, and what of it is held: no instance of an ip and port is in both. What is new, gone or changed becomes one transaction; an instance that
// was changed in place keeps its place by one swap of names. Nothing that is the
// same is touched, and if all is the same there is no transaction. It reports
// whether there was one. Calls for one service are serial.
//
// Neither side changes the instances afterwards.
func (b *Book) Import(svc registryclient.Service, list []registryclient.Instance, held ...Hold) bool {
	before, layouts := b.imports(svc)
	c := compare(before, merge(list, held), func(h Hold) *rendering { return render(svc.Name, h, layouts) })
	if len(c.fresh) == 0 && len(c.gone) == 0 {
		return false
	}
	b.tree.Update(znode.Origin{Kind: znode.Binding, Why: "import of " + svc.String()}, func(x *znode.Tx) error {
		b.importing = x.Zxid()
		s := b.service(svc)
		if s.imported == nil {
			s.imported = &imported{at: make(map[string]int), rooms: make(map[*room]map[*rendering]*Claim)}
		}
		i := s.imported
		i.list, i.zxid = c.now, x.Zxid()
		for _, r := range b.targets[Target{svc.Namespace, svc.Group}] {
			b.furnish(svc, i, r, c)
		}
		b.settle(x)
		b.yield(svc, s, c)
		for _, r := range c.fresh {
			b.note(svc, r)
		}
		b.forget(svc)
		return nil
	}, func(znode.Result) { b.tell() })
	return true
}

// imports gives the renderings that stand, and the layouts that read the
// service's target.
func (b *Book) imports(svc registryclient.Service) (list []*rendering, layouts map[string]translate.Layout) {
	layouts = make(map[string]translate.Layout)
	b.tree.View(func(*znode.View) {
		if s := b.services[svc]; s != nil && s.imported != nil {
			list = s.imported.list
		}
		for _, r := range b.targets[Target{svc.Namespace, svc.Group}] {
			if l := r.layoutOf(svc); l != nil {
				layouts[l.Name()] = l
			}
		}
	})
	return list, layouts
}

// layoutOf gives the layout that a service of the registry belongs to in a
// root: of several the first; nil if there is none.
func (r *room) layoutOf(svc registryclient.Service) translate.Layout {
	for _, l := range r.layouts {
		if l.Wants(svc.Name) {
			return l
		}
	}
	return nil
}

// change is the difference between two lists of a service.
type change struct {
	now, fresh, gone []*rendering
}

// merge puts what is listed and what is held into one sorted list.
func merge(list []registryclient.Instance, held []Hold) []Hold {
	all := make([]Hold, 0, len(list)+len(held))
	for _, in := range list {
		all = append(all, Hold{Instance: in})
	}
	all = append(all, held...)
	byInstance := func(a, b Hold) int { return a.Instance.Compare(b.Instance) }
	if !slices.IsSortedFunc(all, byInstance) {
		slices.SortStableFunc(all, byInstance)
	}
	return all
}

// compare finds the difference; make is called for what is fresh.
func compare(before []*rendering, list []Hold, make func(Hold) *rendering) change {
	c := change{}
	for len(before) > 0 || len(list) > 0 {
		switch {
		case len(list) == 0:
			c.gone, before = append(c.gone, before[0]), before[1:]
		case len(before) > 0 && before[0].held.Why == list[0].Why && before[0].instance.Equal(list[0].Instance):
			c.now = append(c.now, before[0])
			before, list = before[1:], list[1:]
		case len(before) > 0 && before[0].instance.Compare(list[0].Instance) <= 0:
			c.gone, before = append(c.gone, before[0]), before[1:]
		default:
			r := make(list[0])
			c.now, c.fresh = append(c.now, r), append(c.fresh, r)
			list = list[1:]
		}
	}
	return c
}

// render translates an instance.
func render(service string, h Hold, layouts map[string]translate.Layout) *rendering {
	in := h.Instance
	r := &rendering{instance: in, at: Endpoint(in), held: h, nodes: make(map[string]node, len(layouts))}
	for name, l := range layouts {
		r.nodes[name] = nodeOf(service, in, l)
	}
	return r
}

func nodeOf(service string, in registryclient.Instance, l translate.Layout) (n node) {
	z, err := l.ToZnode(service, in)
	if err == nil {
		// A client that lists the name must read the same address from it.
		var e translate.Entry
		if e, err = l.FromZnode(z.Dir+"/"+z.Name, z.Data); err == nil && e.Address != z.Address {
			err = &translate.Refusal{Reason: translate.ReasonName, Text: "its name would be read as another address"}
		} else if strings.IndexByte(z.Name, '/') >= 0 {
			err = &translate.Refusal{Reason: translate.ReasonName, Text: "its name has a slash"}
		}
	}
	if err == nil {
		n.Znode = z
		return n
	}
	n.refusal = err.Error()
	var refusal *translate.Refusal
	if errors.As(err, &refusal) {
		n.reason = refusal.Reason
	}
	return n
}

// note reports what cannot be shown of an instance that the registry has not
// listed before. One that is disabled is in order.
func (b *Book) note(svc registryclient.Service, r *rendering) {
	for _, n := range r.nodes {
		b.dropped += uint64(len(n.Dropped))
		if n.refusal != "" && n.reason != translate.ReasonDisabled {
			b.onRefuse(Refused{Service: svc, Instance: r.at, Reason: n.reason, Text: n.refusal})
		}
	}
}

// yield marks a service whose own list changes because an ip and port has come
// or gone in the registry: ours makes room for it, or may come back.
func (b *Book) yield(svc registryclient.Service, s *service, c change) {
	changed := make(map[string]Urgency)
	for _, r := range c.gone {
		if r.held.Why != "" {
			continue
		}
		if s.imported.at[r.at]--; s.imported.at[r.at] == 0 {
			delete(s.imported.at, r.at)
			changed[r.at] = Urgent
		}
	}
	for _, r := range c.fresh {
		if r.held.Why != "" {
			continue
		}
		if s.imported.at[r.at]++; s.imported.at[r.at] == 1 {
			if changed[r.at] == Urgent { // only changed
				delete(changed, r.at)
			} else {
				changed[r.at] = Relaxed
			}
		}
	}
	if len(changed) == 0 {
		return
	}
	for l := range s.local {
		if u := changed[l.At]; u != 0 {
			b.mark(svc, u)
		}
	}
}

// furnish makes and drops the registry claims of a service in one root, and
// touches what that changes.
func (b *Book) furnish(svc registryclient.Service, i *imported, r *room, c change) {
	l := r.layoutOf(svc)
	if l == nil {
		return
	}
	guests := i.rooms[r]
	if guests == nil {
		guests = make(map[*rendering]*Claim, len(c.fresh))
		i.rooms[r] = guests
	}
	ages := make(map[spot]*Claim, len(c.gone))
	for _, rd := range c.gone {
		old := guests[rd]
		delete(guests, rd)
		if old == nil || old.Name == "" {
			continue
		}
		s := spot{old.Dir, old.Address.Address}
		if o := ages[s]; o == nil || older(old, o) {
			ages[s] = old
		}
		g := b.group(old)
		g.claims = slices.DeleteFunc(g.claims, func(o *Claim) bool { return o == old })
		b.want(old.Path(), g, false)
		b.touch(g)
	}
	now := b.cfg.Now()
	for _, rd := range c.fresh {
		guest := b.guest(svc, rd, r, l, i.zxid, now)
		if guest == nil {
			continue
		}
		guests[rd] = guest
		if guest.Name == "" {
			continue
		}
		if old := ages[spot{guest.Dir, guest.Address.Address}]; old != nil { // changed in place
			guest.Generation, guest.First, guest.Since = old.Generation, old.First, old.Since
		}
		g := b.group(guest)
		g.claims = append(g.claims, guest)
		b.want(guest.Path(), g, true)
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
func (b *Book) guest(svc registryclient.Service, rd *rendering, r *room, l translate.Layout, zxid int64, now time.Time) *Claim {
	n, ok := rd.nodes[l.Name()]
	if !ok { // the root was not known when the list was translated
		n = nodeOf(svc.Name, rd.instance, l)
	}
	c := &Claim{
		Address: Address{Space: r.space, Root: r.root, Address: n.Address},
		Source:  Registry, Owner: b.cfg.Reserved,
		Generation: Generation{Czxid: zxid}, First: zxid, Since: now,
		Service: svc, Instance: rd.instance, At: rd.at, Data: n.Data,
		Refused: n.refusal, Reason: n.reason,
		Held: rd.held.Why, HeldSince: rd.held.Since,
	}
	if n.refusal != "" {
		return c
	}
	c.Dir, c.Name = r.root+"/"+n.Dir, n.Name
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
		for _, guests := range s.imported.rooms {
			for _, c := range guests {
				list = append(list, c)
			}
		}
	}
	return list
}
