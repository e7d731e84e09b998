package claims

import (
	"slices"
	"strings"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/registryclient"
)

// HeldClaim is a claim of ZooKeeper's side that outlives its session.
type HeldClaim struct {
	Path       string
	Address    Address
	Service    registryclient.Service
	At         string // "ip:port"
	Why        string
	Since      time.Time
	Generation Generation
}

// Held lists the claims of ZooKeeper's side that are held, by path.
func (b *Book) Held() (list []HeldClaim) {
	b.tree.View(func(*znode.View) {
		for c := range b.held {
			list = append(list, HeldClaim{
				Path: c.Path(), Address: c.Address, Service: c.Service, At: c.At, Why: c.Held, Since: c.HeldSince, Generation: c.Generation,
			})
		}
	})
	slices.SortFunc(list, func(a, b HeldClaim) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Drop ends a held claim of ZooKeeper's side: its node goes. A claim of another
// generation, or one that is held no more, is left alone; so a late drop cannot
// hit a provider that is back. It reports whether the claim is gone by it.
func (b *Book) Drop(path string, g Generation, why string) (dropped bool) {
	held := false
	b.tree.View(func(*znode.View) {
		c := b.byPath[path]
		held = c != nil && c.Held != "" && c.Generation == g
	})
	if !held {
		return false
	}
	b.tree.Update(znode.Origin{Kind: znode.Binding, Why: why}, func(x *znode.Tx) error {
		if c := b.byPath[path]; c != nil && c.Held != "" && c.Generation == g {
			x.Remove(path)
			dropped = true
		}
		return nil
	}, nil)
	return dropped
}

// Vouched reports whether a claim that can be published is made of the node at
// path. It is for those who are called under the tree's lock, when a session ends.
func (b *Book) Vouched(path string) bool {
	c := b.byPath[path]
	return c != nil && c.Refused == ""
}

// Vouching gives the services that a session has claims of, and for each the
// sessions that have any: who is asked about when it is silent. A session with
// none has an empty list.
func (b *Book) Vouching(session int64) (services map[registryclient.Service][]int64) {
	b.tree.View(func(v *znode.View) {
		for _, path := range v.Ephemerals(session, "") {
			c := b.byPath[path]
			if c == nil || c.Refused != "" || services[c.Service] != nil {
				continue
			}
			if services == nil {
				services = make(map[registryclient.Service][]int64)
			}
			owners := make([]int64, 0, len(b.services[c.Service].local))
			for l := range b.services[c.Service].local {
				if l.Held == "" && l.Owner != 0 {
					owners = append(owners, l.Owner)
				}
			}
			slices.Sort(owners)
			services[c.Service] = slices.Compact(owners)
		}
	})
	return services
}

// Providers gives the sessions with claims that can be published, in no order.
func (b *Book) Providers() (list []int64) {
	b.tree.View(func(*znode.View) {
		list = make([]int64, 0, len(b.owned))
		for id := range b.owned {
			list = append(list, id)
		}
	})
	return list
}

// Local tells whether a claim of ZooKeeper's side would be published under a
// service for an ip and port.
func (b *Book) Local(svc registryclient.Service, at string) (yes bool) {
	b.tree.View(func(*znode.View) {
		if s := b.services[svc]; s != nil {
			for c := range s.local {
				yes = yes || c.At == at
			}
		}
	})
	return yes
}

// Size is how many instances a service has: claims of ZooKeeper's side and what
// the registry lists or is held of it.
func (b *Book) Size(svc registryclient.Service) (n int) {
	b.tree.View(func(*znode.View) {
		if s := b.services[svc]; s != nil {
			n = len(s.local)
			if s.imported != nil {
				n += len(s.imported.list)
			}
		}
	})
	return n
}
