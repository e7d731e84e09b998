package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zkbridge/translate"
)

// Shown gives the claims whose nodes a bound directory shows, out of all claims
// of that directory, in the order of their names. Those born on ZooKeeper's side
// are all shown. A registry claim is shown while no claim of ZooKeeper's side has
// its address or its name; of several with one address the oldest.
func Shown(claims []*Claim) []*Claim {
	var shown []*Claim
	local := make(map[Address]bool, len(claims))
	names := make(map[string]bool, len(claims))
	for _, c := range claims {
		if c.Local() {
			shown = append(shown, c)
			local[c.Address], names[c.Name] = true, true
		}
	}
	return sortByName(append(shown, standIns(claims, local, names)...))
}

// Exported gives the claims whose nodes an ensemble should hold beside its own,
// out of all claims of a directory, in the order of their names. What the
// ensemble claims itself is left out, and so is what it would hold twice.
func Exported(claims []*Claim) []*Claim {
	var exported []*Claim
	local := make(map[Address]bool, len(claims))
	names := make(map[string]bool, len(claims))
	for _, c := range claims {
		if c.Source == Ensemble {
			local[c.Address], names[c.Name] = true, true
		}
	}
	for _, c := range claims {
		if c.Source == Session && !names[c.Name] {
			exported = append(exported, c)
			local[c.Address], names[c.Name] = true, true
		}
	}
	return sortByName(append(exported, standIns(claims, local, names)...))
}

// standIns gives the registry claims that stand for an address of which there
// is no claim in local and no node in names.
func standIns(claims []*Claim, local map[Address]bool, names map[string]bool) []*Claim {
	oldest := make(map[Address]*Claim)
	for _, c := range claims {
		if c.Local() || c.Refused != "" || c.Deleted || local[c.Address] || names[c.Name] {
			continue
		}
		if best := oldest[c.Address]; best == nil || older(c, best) {
			oldest[c.Address] = c
		}
	}
	list := make([]*Claim, 0, len(oldest))
	for _, c := range oldest {
		list = append(list, c)
	}
	return list
}

// older is a total order of claims of one address.
func older(a, b *Claim) bool {
	return cmp.Or(a.Generation.Compare(b.Generation), strings.Compare(a.Path(), b.Path()), a.Service.Compare(b.Service)) < 0
}

func sortByName(list []*Claim) []*Claim {
	slices.SortFunc(list, func(a, b *Claim) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Cause is why a claim of ZooKeeper's side is not in the registry.
type Cause uint8

const (
	NotTranslatable  Cause = iota + 1 // its name is no registration that the registry could hold
	DualRegistration                  // somebody else's instance of that ip and port is in the registry
	Shadowed                          // another claim of that ip and port is published
	NotTaken                          // the registry has refused it
)

// LeftOut is a claim of ZooKeeper's side that is not published.
type LeftOut struct {
	Claim *Claim
	Cause Cause
	By    *Claim // the claim that is published, or in the registry, instead; nil if Cause is NotTranslatable or NotTaken
}

// String says why, as the end of a sentence that begins "not published: ".
func (l LeftOut) String() string {
	switch l.Cause {
	case NotTranslatable:
		return "not translatable: " + l.Claim.Refused
	case DualRegistration:
		if l.By.Address.Address == l.Claim.Address.Address {
			return "dual registration: the provider is in the registry by itself; this claim is published when that one goes"
		}
		return fmt.Sprintf("shadowed by somebody else's instance %s in the registry, which has room for one instance of an ip and port; published when that one goes", l.By.Instance.Address())
	case NotTaken:
		return "the registry refuses it"
	case Shadowed:
		if l.By.Address.Address == l.Claim.Address.Address {
			return "shadowed by the newer registration of the same address " + l.By.Path()
		}
		return fmt.Sprintf("shadowed by %s, which has the same ip and port and was published first; takes over when that one goes", l.By.Path())
	}
	return "unknown"
}

// Published gives the claims whose instances are the list of one registry
// service, out of all claims of that service, in the order of the instances, and
// those of ZooKeeper's side that are not in it. One ip and port is one
// instance: of several addresses the one claimed first, of several claims of one
// address the newest, and none while a registry claim has that ip and port.
//
// A registry claim is never in the list.
func Published(claims []*Claim) (list []*Claim, left []LeftOut) {
	return PublishedWithout(claims, func(*Claim) bool { return false })
}

// PublishedWithout is Published where some claims are not taken by the registry:
// others of the same ip and port stand in for them.
func PublishedWithout(claims []*Claim, refused func(*Claim) bool) (list []*Claim, left []LeftOut) {
	foreign := make(map[string]*Claim)
	candidates := make(map[string][]candidate, len(claims))
	notTaken := make(map[*Claim]bool)
	for _, c := range claims {
		switch {
		case !c.Local() && c.Held != "": // the registry does not list it: ours takes nobody's place
		case !c.Local():
			if other := foreign[c.At]; other == nil || older(c, other) {
				foreign[c.At] = c
			}
		case c.Refused != "":
		case refused(c):
			notTaken[c] = true
		default:
			candidates[c.At] = enter(candidates[c.At], c)
		}
	}
	for _, c := range claims {
		if !c.Local() {
			continue
		}
		if c.Refused != "" {
			left = append(left, LeftOut{Claim: c, Cause: NotTranslatable})
		} else if other := foreign[c.At]; other != nil {
			left = append(left, LeftOut{Claim: c, Cause: DualRegistration, By: other})
		} else if notTaken[c] {
			left = append(left, LeftOut{Claim: c, Cause: NotTaken})
		} else if w := winner(candidates[c.At]); w != c {
			left = append(left, LeftOut{Claim: c, Cause: Shadowed, By: w})
		} else {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *Claim) int { return a.Instance.Compare(b.Instance) })
	slices.SortFunc(left, func(a, b LeftOut) int { return strings.Compare(a.Claim.Path(), b.Claim.Path()) })
	return list, left
}

// candidate is an address for an ip and port of the registry.
type candidate struct {
	newest *Claim
	first  int64
}

// enter puts a claim to the others of its ip and port.
func enter(list []candidate, c *Claim) []candidate {
	for i := range list {
		k := &list[i]
		if k.newest.Address.Address != c.Address.Address {
			continue
		}
		k.first = min(k.first, c.First)
		if older(k.newest, c) {
			k.newest = c
		}
		return list
	}
	return append(list, candidate{c, c.First})
}

// winner is the claim that is published of those of one ip and port.
func winner(list []candidate) *Claim {
	best := list[0]
	for _, c := range list[1:] {
		if cmp.Or(cmp.Compare(c.first, best.first), compareAddress(c.newest.Address.Address, best.newest.Address.Address)) < 0 {
			best = c
		}
	}
	return best.newest
}

func compareAddress(a, b translate.Address) int {
	return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Protocol, b.Protocol),
		strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port), strings.Compare(a.Path, b.Path))
}
