package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"zkbridge/internal/znode"
	"zkbridge/registryclient"
	"zkbridge/translate"
)

// Explanation says what a path is and why it is, or is not, in a list. Marshal
// it, or print it: String gives plain sentences.
type Explanation struct {
	Path     string
	Home     string
	Node     *Node  `json:",omitempty"` // nil: no such node
	Space    string // "": no space
	Root     string
	Pattern  string `json:",omitempty"` // of the root, if it is not the root itself
	Layout   string
	Kind     string // what the layout calls the path
	Target   string // "namespace/group" of the registry
	Local    string `json:",omitempty"` // why the path is of no concern to the registry
	Claims   []ExplainedClaim
	Children int      // of a bound directory: nodes that it shows
	Removed  *Removed `json:",omitempty"` // the last time that a node of this path was deleted by another session than its owner's
}

// Node is the node of a path.
type Node struct {
	Kind  string // "persistent", "ephemeral", "container"
	Owner string // "session 0x...", "the bridge: it stands for an instance in the registry", "the bridge, which holds it", "nobody"
}

// Removed tells of a node that somebody else than its owner deleted.
type Removed struct {
	Owner string
	By    string
	When  time.Time
}

// ExplainedClaim is a claim and what becomes of it.
type ExplainedClaim struct {
	Path       string
	Address    string
	Source     string
	Owner      string
	Generation string
	Since      time.Time
	Held       string `json:",omitempty"`
	Service    string // in the registry
	Instance   string // ip:port
	Published  bool   // in the list that is published
	Outcome    string `json:",omitempty"` // what the registry made of it
	Why        string `json:",omitempty"` // why it is not published, or not by us
	Shown      bool
	ShownWhy   string // why it is shown or not
}

// Explain says what path is, which claims there are for it, and where each is
// shown and published. Of a path that is an address it tells all claims of that
// address; of a bound directory all claims in it.
func (b *Book) Explain(path string) Explanation {
	e := Explanation{Path: path, Home: b.cfg.Spaces.Home(path).String()}
	loc := b.cfg.Spaces.Locate(path)
	if loc.Layout == nil {
		e.Local = "it is below no root: an ordinary znode"
	} else {
		e.Space, e.Root, e.Target = loc.Space, loc.Root, loc.Target.String()
		if loc.Pattern != loc.Root {
			e.Pattern = loc.Pattern
		}
		e.Layout, e.Kind, e.Local = loc.Layout.Name(), loc.Place.Kind.String(), loc.Place.Why
	}
	var list []placed
	services := make(map[registryclient.Service][]*Claim)
	b.tree.View(func(v *znode.View) {
		if n, ok := v.Lookup(path); ok {
			e.Node = &Node{Kind: n.Kind.String(), Owner: b.holderText(n.Owner, n.Held)}
			if n.Held != "" {
				e.Node.Owner = holder
			}
			if loc.Place.Kind == translate.KindBoundDir {
				e.Children = int(n.Stat.NumChildren)
			}
		}
		if r, ok := b.removals.byPath[path]; ok {
			e.Removed = &Removed{Owner: b.ownerText(r.Owner), By: b.ownerText(r.By), When: r.When}
		}
		var found []*Claim
		switch loc.Place.Kind {
		case translate.KindAddress:
			found = b.claimsAt(path)
		case translate.KindBoundDir:
			found = b.claimsIn(loc.Dir())
		}
		for _, c := range found {
			p := placed{claim: c}
			p.shown, p.why = b.shown(c)
			list = append(list, p)
			if s := b.services[c.Service]; s != nil && services[c.Service] == nil {
				services[c.Service] = s.claims()
			}
		}
	})
	// The rest takes long in a large directory, and needs no lock: claims do not
	// change, and the binding has its own.
	var ask []asked
	e.Claims, ask = b.explainClaims(unique(list), services)
	for _, a := range ask {
		e.Claims[a.claim].Outcome, _ = b.outcome(a.service, a.instance)
	}
	return e
}

// placed is a claim and whether it is shown.
type placed struct {
	claim *Claim
	shown bool
	why   string
}

// asked is a published claim whose outcome the binding knows.
type asked struct {
	claim    int
	service  registryclient.Service
	instance registryclient.Instance
}

// claimsAt gives the claims of the address that has the path, and of the path.
func (b *Book) claimsAt(path string) []*Claim {
	var list []*Claim
	if c := b.byPath[path]; c != nil {
		list = append(list, c)
		if c.Refused == "" {
			list = append(list, b.group(c).claims...)
		}
	}
	for _, g := range b.wanting[path] {
		list = append(list, g.claims...)
	}
	return list
}

// claimsIn gives the claims of a directory.
func (b *Book) claimsIn(dir string) []*Claim {
	var list []*Claim
	for s, g := range b.groups {
		if s.dir == dir {
			list = append(list, g.claims...)
		}
	}
	return list
}

// unique sorts and leaves out what is there twice.
func unique(list []placed) []placed {
	slices.SortFunc(list, func(p, q placed) int {
		x, y := p.claim, q.claim
		if c := cmp.Or(strings.Compare(x.Dir, y.Dir), strings.Compare(x.Name, y.Name), cmp.Compare(x.Source, y.Source), x.Service.Compare(y.Service),
			x.Generation.Compare(y.Generation)); c != 0 {
			return c
		}
		return x.Instance.Compare(y.Instance)
	})
	return slices.CompactFunc(list, func(p, q placed) bool { return p.claim == q.claim })
}

// explainClaims explains claims out of all that there are of their services.
func (b *Book) explainClaims(list []placed, services map[registryclient.Service][]*Claim) (out []ExplainedClaim, ask []asked) {
	left := make(map[*Claim]LeftOut)
	for _, claims := range services {
		_, out := PublishedWithout(claims, func(c *Claim) bool {
			_, refused := b.outcome(c.Service, c.Instance)
			return refused
		})
		for _, l := range out {
			left[l.Claim] = l
		}
	}
	for i, p := range list {
		c := p.claim
		x := ExplainedClaim{
			Path: c.Path(), Source: c.Source.String(), Owner: b.holderText(c.Owner, c.Held),
			Generation: c.Generation.String(), Since: c.Since, Held: c.Held,
		}
		if c.Held != "" && c.Local() {
			x.Owner = holder
		}
		if c.Address.Host != "" {
			x.Address = c.Address.String()
		}
		if c.Service.Name != "" {
			x.Service, x.Instance = c.Service.String(), c.Instance.Address()
		}
		l, isLeft := left[c]
		switch {
		case !c.Local():
			x.Why = "somebody else put it into the registry"
		case c.Refused != "":
			x.Why = LeftOut{Claim: c, Cause: NotTranslatable}.String()
		case isLeft:
			x.Why = l.String()
			if l.Cause == NotTaken {
				ask = append(ask, asked{i, c.Service, c.Instance})
			}
		default:
			x.Published = true
			ask = append(ask, asked{i, c.Service, c.Instance})
		}
		x.Shown, x.ShownWhy = p.shown, p.why
		out = append(out, x)
	}
	return out, ask
}

// shown says whether a claim is shown, and why.
func (b *Book) shown(c *Claim) (bool, string) {
	switch {
	case c.Local() && c.Held != "":
		return true, "a client created it, and it is held"
	case c.Local():
		return true, "a client created it"
	case c.Refused != "":
		return false, "no znode can stand for it: " + c.Refused
	case c.Deleted:
		return false, "a client deleted its znode; it comes back when the registry reports a change of it"
	}
	g := b.group(c)
	if g.path == c.Path() && c.Held != "" {
		return true, "it stands for an instance that the registry lists no more, and is held"
	}
	if g.path == c.Path() {
		return true, "it stands for an instance in the registry"
	}
	for _, o := range g.claims {
		if o.Local() {
			return false, "a client registered the same address: " + o.Path()
		}
	}
	if g.path != "" {
		return false, "another instance of the same address is shown: " + g.path
	}
	return false, "a node of somebody else stands in the way"
}

// holder owns the nodes that are held.
const holder = "the bridge, which holds it"

// holderText is ownerText of what may be held.
func (b *Book) holderText(owner int64, held string) string {
	if held != "" && owner == b.cfg.Reserved {
		return "the bridge, which holds it"
	}
	return b.ownerText(owner)
}

func (b *Book) ownerText(owner int64) string {
	switch owner {
	case 0:
		return "nobody: it is persistent"
	case b.cfg.Reserved:
		return "the bridge: it stands for an instance in the registry"
	}
	return fmt.Sprintf("session 0x%x", uint64(owner))
}

// String gives the explanation in plain sentences, one a line.
func (e Explanation) String() string {
	var s strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	if e.Node == nil {
		line("%s does not exist.", e.Path)
	} else {
		line("%s is %s %s node; owner: %s.", e.Path, article(e.Node.Kind), e.Node.Kind, e.Node.Owner)
	}
	line("Its home is %s.", e.Home)
	if e.Space == "" {
		line("It is not discovery: %s.", e.Local)
		return s.String()
	}
	root := e.Root
	if e.Pattern != "" {
		root += " (from " + e.Pattern + ")"
	}
	line("It is in the space %q, below the root %s with the layout %s, bound to %s in the registry.", e.Space, root, e.Layout, e.Target)
	line("The layout takes it for: %s.", e.Kind)
	if e.Local != "" {
		line("It stays local: %s.", e.Local)
	}
	if e.Removed != nil {
		line("At %s another session than its owner's deleted a node of this path; owner: %s; deleted by: %s.", e.Removed.When.Format(time.RFC3339), e.Removed.Owner, e.Removed.By)
	}
	if e.Kind == translate.KindBoundDir.String() {
		line("Children shown: %d. Claims: %d.", e.Children, len(e.Claims))
	} else if e.Kind == translate.KindAddress.String() && len(e.Claims) == 0 {
		line("Nobody claims it.")
	}
	for _, c := range e.Claims {
		c.write(line)
	}
	return s.String()
}

func (c ExplainedClaim) write(line func(string, ...any)) {
	name := c.Path
	if name == "" {
		name = c.Instance
	}
	line("- %s", name)
	line("  claimed by: %s; owner: %s; %s; since %s.", c.Source, c.Owner, c.Generation, c.Since.Format(time.RFC3339))
	if c.Held != "" {
		line("  held: %s.", c.Held)
	}
	if c.Address != "" {
		line("  address: %s.", c.Address)
	}
	if c.Published {
		line("  published: as %s of %s.", c.Instance, c.Service)
	} else {
		line("  not published: %s.", c.Why)
	}
	if c.Outcome != "" {
		line("  registry: %s.", c.Outcome)
	}
	if c.Shown {
		line("  shown to ZooKeeper clients: %s.", c.ShownWhy)
	} else {
		line("  not shown to ZooKeeper clients: %s.", c.ShownWhy)
	}
}

func article(word string) string {
	if word != "" && strings.IndexByte("aeiou", word[0]) >= 0 {
		return "an"
	}
	return "a"
}
