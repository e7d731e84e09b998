package claims

import (
	"maps"
	"slices"

	"zkbridge/internal/znode"
	"zkbridge/registryclient"
)

// Publication is what the claims say of one registry service.
type Publication struct {
	Service    registryclient.Service
	Generation uint64 // rises with every change of the list
	Listed     []Listed
	Refused    []Listed // left out because the registry does not take them
	Left       []Left
}

// Listed is an instance to be published, and the claim that it comes from.
type Listed struct {
	registryclient.Instance        // shared, read-only
	At                      string // its Endpoint
	Address                 Address
	Dir, Name               string // of the znode
}

// Path is the whole path of the znode.
func (l Listed) Path() string { return l.Dir + "/" + l.Name }

// Left is a claim that is not published.
type Left struct {
	Path   string
	Cause  Cause
	Reason string // the end of a sentence that begins "not published: "
}

// Publications gives the whole list that is to be published under a service,
// sorted by instance, and what is left out of it. It waits for the tree's lock,
// so it is not for the Book's own callbacks.
func (b *Book) Publications(svc registryclient.Service) Publication {
	return b.PublicationsWithout(svc, func(Listed) bool { return false })
}

// PublicationsWithout is Publications where the registry does not take some: of
// the same ip and port others stand in for them. refused is called without a
// lock.
func (b *Book) PublicationsWithout(svc registryclient.Service, refused func(Listed) bool) Publication {
	p := Publication{Service: svc}
	var claims []*Claim
	b.tree.View(func(v *znode.View) {
		p.Generation = uint64(v.Zxid())
		if s := b.services[svc]; s != nil {
			claims = s.claims()
		}
	})
	// Claims do not change, so the lock is not needed for the rest.
	list, left := PublishedWithout(claims, func(c *Claim) bool { return refused(listed(c)) })
	p.Listed = make([]Listed, len(list))
	for i, c := range list {
		p.Listed[i] = listed(c)
	}
	for _, l := range left {
		if l.Cause == NotTaken {
			p.Refused = append(p.Refused, listed(l.Claim))
		}
		p.Left = append(p.Left, Left{Path: l.Claim.Path(), Cause: l.Cause, Reason: l.String()})
	}
	return p
}

func listed(c *Claim) Listed {
	return Listed{Instance: c.Instance, At: c.At, Address: c.Address, Dir: c.Dir, Name: c.Name}
}

// Services lists the registry services that there are claims of ZooKeeper's
// side for, in order.
func (b *Book) Services() (list []registryclient.Service) {
	b.tree.View(func(*znode.View) {
		for svc, s := range b.services {
			if len(s.local) > 0 {
				list = append(list, svc)
			}
		}
	})
	slices.SortFunc(list, registryclient.Service.Compare)
	return list
}

// Targets lists the places in the registry that roots are bound to, in order.
// Patterns add to it as roots turn up.
func (b *Book) Targets() (list []Target) {
	b.tree.View(func(*znode.View) { list = slices.Collect(maps.Keys(b.targets)) })
	slices.SortFunc(list, func(x, y Target) int { return x.Service("").Compare(y.Service("")) })
	return list
}

// Wants tells whether a service of the registry belongs to a layout of a root
// that is bound to the target.
func (b *Book) Wants(svc registryclient.Service) (yes bool) {
	b.tree.View(func(*znode.View) {
		for _, r := range b.targets[Target{svc.Namespace, svc.Group}] {
			for _, l := range r.layouts {
				yes = yes || l.Wants(svc.Name)
			}
		}
	})
	return yes
}

// Stats are numbers of a Book.
type Stats struct {
	Local         int    // claims of ZooKeeper's side
	Registry      int    // instances of the registry that are not ours
	Standing      int    // imported nodes in the tree
	NotTranslated int    // claims of ZooKeeper's side that are not published because of their name
	Services      int    // services with claims
	Roots         int    // resolved roots
	Dropped       uint64 // parameters of registry instances left out of their znode's name, ever
}

// Stats counts the claims. It takes time in proportion to them.
func (b *Book) Stats() (st Stats) {
	b.tree.View(func(*znode.View) {
		st.Local, st.Standing, st.Services, st.Roots = len(b.byPath), len(b.standing), len(b.services), len(b.places)
		st.Dropped = b.dropped
		for _, c := range b.byPath {
			if c.Refused != "" {
				st.NotTranslated++
			}
		}
		for _, s := range b.services {
			if s.imported != nil {
				st.Registry += len(s.imported.list)
			}
		}
	})
	return st
}
