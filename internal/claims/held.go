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

// Claimed reports whether somebody of ZooKeeper's side has a claim of the path.
func (b *Book) Claimed(path string) (yes bool) {
	b.tree.View(func(*znode.View) { yes = b.byPath[path] != nil })
	return yes
}

// Vouching gives the services that a session has claims of which can be
// published.
func (b *Book) Vouching(session int64) (services []registryclient.Service) {
	b.tree.View(func(v *znode.View) {
		if b.owned[session] == 0 {
			return
		}
		seen := make(map[registryclient.Service]bool)
		for _, path := range v.Ephemerals(session, "") {
			if c := b.byPath[path]; c != nil && c.Refused == "" && !seen[c.Service] {
				seen[c.Service] = true
				services = append(services, c.Service)
			}
		}
	})
	return services
}

// Owners gives the sessions that have claims of a service which can be published,
// in order.
func (b *Book) Owners(svc registryclient.Service) (sessions []int64) {
	b.tree.View(func(*znode.View) {
		s := b.services[svc]
		if s == nil {
			return
		}
		sessions = make([]int64, 0, len(s.local))
		for c := range s.local {
			if c.Held == "" && c.Owner != 0 {
				sessions = append(sessions, c.Owner)
			}
		}
	})
	slices.Sort(sessions)
	return slices.Compact(sessions)
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

// Local gives the ips and ports that claims of ZooKeeper's side would publish
// under a service.
func (b *Book) Local(svc registryclient.Service) map[string]bool {
	at := make(map[string]bool)
	b.tree.View(func(*znode.View) {
		if s := b.services[svc]; s != nil {
			for c := range s.local {
				at[c.At] = true
			}
		}
	})
	return at
}

// Size is how many ips and ports a service has in all: of ZooKeeper's side, and
// what the registry lists or is held of it.
func (b *Book) Size(svc registryclient.Service) int {
	at := make(map[string]struct{})
	b.tree.View(func(*znode.View) {
		s := b.services[svc]
		if s == nil {
			return
		}
		for c := range s.local {
			at[c.At] = struct{}{}
		}
		if s.imported != nil {
			for _, r := range s.imported.list {
				at[r.at] = struct{}{}
			}
		}
	})
	return len(at)
}
