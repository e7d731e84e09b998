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

// Urgency says how soon a change of a service's list should reach the registry.
type Urgency uint8

const (
	Relaxed Urgency = iota + 1 // something may have gone: a create may follow in a moment
	Urgent                     // something may have come
)

// BookConfig is what a Book is made of.
type BookConfig struct {
	Spaces      *Spaces
	Reserved    int64 // session id that owns imported nodes; the tree's Config.Reserved
	Bridge      uint8 // for the tenure of sessions
	Incarnation uint32
	Now         func() time.Time // nil: time.Now
}

// Book is the table of all claims, kept under the tree's lock as its Hook. Make
// it, give it to znode.New, set OnDirty and OnTarget, then Load it.
type Book struct {
	// Set at construction, before the tree is used.
	cfg      BookConfig
	tree     *znode.Tree
	onDirty  func(registryclient.Service, Urgency)
	onTarget func(t Target, there bool)
	onRefuse func(Refused)
	outcome  func(svc registryclient.Service, in registryclient.Instance) (text string, refused bool)

	// Under the tree's lock.
	tenures   map[int64]Tenure                    // of the sessions that are open
	byPath    map[string]*Claim                   // claims of ZooKeeper's side
	groups    map[spot]*group                     // all claims by address
	standing  map[string]*group                   // imported nodes that are in the tree, by path
	wanting   map[string][]*group                 // groups with a registry claim of that path
	services  map[registryclient.Service]*service // what is published or imported
	places    map[place]*room                     // resolved roots
	targets   map[Target][]*room                  // the same by target
	held      map[*Claim]struct{}                 // of ZooKeeper's side, those that outlive their session
	owned     map[int64]int                       // how many claims that can be published a session has
	blocked   map[*group]struct{}                 // groups whose imported node has no room: a client's ephemeral stands where a directory belongs
	removals  removals                            // nodes that somebody else than their owner deleted
	dropped   uint64                              // parameters that could not stand in a name
	importing int64                               // zxid of the last import

	// Of the transaction under way.
	touched    []*group
	dirty      map[registryclient.Service]Urgency
	newTargets []turn
}

var _ znode.Hook = (*Book)(nil)

// spot is an address in one directory. Usually an address has one directory;
// but a client may have its own way of escaping the directory's name.
type spot struct {
	dir     string
	address translate.Address
}

// group is all claims of a spot, and the imported node that stands for it.
type group struct {
	spot
	claims  []*Claim
	path    string // of the imported node in the tree; "": none
	data    []byte // of that node
	touched bool
}

// service is one service of the registry.
type service struct {
	local    map[*Claim]struct{}
	imported *imported // nil until the first import
}

// room is a resolved root that instances are shown in.
type room struct {
	place
	layouts []translate.Layout
}

// NewBook returns an empty Book.
func NewBook(cfg BookConfig) *Book {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &Book{
		cfg:      cfg,
		onDirty:  func(registryclient.Service, Urgency) {},
		onTarget: func(Target, bool) {},
		onRefuse: func(Refused) {},
		outcome:  func(registryclient.Service, registryclient.Instance) (string, bool) { return "", false },
		tenures:  make(map[int64]Tenure),
		byPath:   make(map[string]*Claim),
		groups:   make(map[spot]*group),
		standing: make(map[string]*group),
		wanting:  make(map[string][]*group),
		services: make(map[registryclient.Service]*service),
		places:   make(map[place]*room),
		targets:  make(map[Target][]*room),
		held:     make(map[*Claim]struct{}),
		owned:    make(map[int64]int),
		blocked:  make(map[*group]struct{}),
		dirty:    make(map[registryclient.Service]Urgency),
	}
	for _, loc := range cfg.Spaces.fixed() {
		b.open(loc)
	}
	return b
}

// OnDirty sets what is called when the list of a service may have changed. It is
// called under the tree's lock and only marks. Set it before Load.
func (b *Book) OnDirty(fn func(registryclient.Service, Urgency)) { b.onDirty = fn }

// OnTarget sets what is called when a root turns up whose target was not known,
// and when the last root of a target, of a pattern, is gone. It is called under the tree's lock
// and only marks. Set it before Load.
func (b *Book) OnTarget(fn func(t Target, there bool)) { b.onTarget = fn }

// Refused is a claim that stays on its own side, because of how it is written.
type Refused struct {
	Path     string                 // of the znode; "" for an instance of the registry
	Service  registryclient.Service // of an instance of the registry
	Instance string                 // "ip:port" of an instance of the registry
	Reason   translate.Reason
	Text     string
}

// OnRefused sets what is called once for each claim that is refused, when it is
// made. It is called under the tree's lock and only marks. Set it before Load.
func (b *Book) OnRefused(fn func(Refused)) { b.onRefuse = fn }

// OnOutcome sets where Explain asks what became of an instance that should be
// published: "accepted", "refused by the registry: ...". fn is called without a
// lock. Set it before the Book is used.
func (b *Book) OnOutcome(fn func(svc registryclient.Service, in registryclient.Instance) (text string, refused bool)) {
	b.outcome = fn
}

// Spaces gives the spaces that the Book goes by.
func (b *Book) Spaces() *Spaces { return b.cfg.Spaces }

// everyone reads through every ACL.
var everyone = []znode.Identity{{Scheme: "super"}}

// Load binds the Book to its tree and makes claims of the nodes that are in it
// already: after a start these are the persistent ones. It is called once,
// before the tree is used.
func (b *Book) Load(tree *znode.Tree) error {
	if b.tree != nil {
		return errors.New("the book of claims is loaded already")
	}
	b.tree = tree
	sessions := tree.Sessions()
	tree.Arm(func(v *znode.View) {
		for _, s := range sessions {
			b.tenures[s.ID] = b.tenureOf(s.ID, s.Epoch, s.Zxid)
		}
		b.walk(v, "/")
		b.touched = b.touched[:0] // nothing is imported yet
		b.tell()
	})
	return nil
}

func (b *Book) walk(v *znode.View, path string) {
	if path != "/" {
		n, ok := v.Lookup(path)
		if !ok || n.Imported {
			return
		}
		b.created(znode.Change{
			Kind: znode.Created, Path: path, Data: n.Data, Owner: n.Owner, Czxid: n.Stat.Czxid, Why: n.Held,
		}, time.UnixMilli(n.Stat.Ctime))
	}
	names, _, err := v.Children(path, everyone)
	if err != nil {
		return
	}
	prefix := path + "/"
	if path == "/" {
		prefix = path
	}
	for _, name := range names {
		if child := prefix + name; b.cfg.Spaces.leads(child) {
			b.walk(v, child)
		}
	}
}

// Stage implements znode.Hook: claims come and go with their nodes, and the
// imported nodes that this hides or brings back follow in the same transaction.
func (b *Book) Stage(x *znode.Tx, changes []znode.Change) {
	if x.Zxid() == b.importing {
		return // what Import does itself
	}
	now := b.cfg.Now()
	for i := range changes {
		c := &changes[i]
		switch c.Kind {
		case znode.SessionOpened:
			b.tenures[c.Owner] = b.tenureOf(c.Owner, 1, c.Zxid)
		case znode.SessionClosed:
			delete(b.tenures, c.Owner)
		case znode.Created, znode.Adopted:
			if !c.Imported {
				b.created(*c, now)
			}
		case znode.Deleted:
			b.deleted(c, x.Origin(), now)
			b.unblock(c.Path)
			if c.Owner == 0 {
				b.close(c.Path)
			}
		case znode.Held:
			b.hold(c, now)
		case znode.DataSet:
			if old := b.byPath[c.Path]; old != nil {
				b.reread(old, c.Data)
			}
		}
	}
	b.settle(x)
}

// tenureOf is the tenure of a session that was opened: by us, in this life or an
// earlier one.
func (b *Book) tenureOf(session int64, epoch uint32, zxid int64) Tenure {
	t := Tenure{Epoch: max(epoch, 1), Zxid: zxid, Bridge: b.cfg.Bridge, Incarnation: b.cfg.Incarnation}
	if born := uint32(uint64(session)>>32) & (1<<24 - 1); born < t.Incarnation { // the id says it
		t.Incarnation = born
	}
	return t
}

// Committed implements znode.Hook.
func (b *Book) Committed(int64) { b.tell() }

// tell passes on what was noted. Before Load nobody listens yet: a tree that
// comes from disk reports its start-up transaction while it is made.
func (b *Book) tell() {
	if b.tree == nil {
		return
	}
	for svc, u := range b.dirty {
		b.onDirty(svc, u)
	}
	clear(b.dirty)
	for _, t := range b.newTargets {
		b.onTarget(t.target, t.there)
	}
	b.newTargets = b.newTargets[:0]
}

func (b *Book) mark(svc registryclient.Service, u Urgency) {
	if svc != (registryclient.Service{}) {
		b.dirty[svc] = max(b.dirty[svc], u)
	}
}

// created makes the claim of a node that has come, or changed hands.
func (b *Book) created(c znode.Change, now time.Time) {
	loc := b.cfg.Spaces.Locate(c.Path)
	if loc.Layout == nil {
		return
	}
	b.open(loc)
	if loc.Place.Kind != translate.KindAddress {
		return
	}
	if g := b.standing[c.Path]; g != nil { // adopted: the node is the client's now
		b.fallen(g)
	}
	old := b.byPath[c.Path]
	if old != nil {
		b.drop(old, Urgent)
	}
	claim := &Claim{
		Source: Session, Owner: c.Owner, Generation: Generation{Czxid: c.Czxid},
		Dir: loc.Dir(), Name: loc.Place.Name, Since: now, First: c.Czxid,
	}
	if dir := len(claim.Dir); len(c.Path) == dir+1+len(claim.Name) && c.Path[:dir] == claim.Dir && c.Path[dir+1:] == claim.Name {
		// The tree's own string, in which the names of a million providers stand once.
		claim.path, claim.Dir, claim.Name = c.Path, c.Path[:dir], c.Path[dir+1:]
	}
	if c.Owner != 0 {
		claim.Generation.Tenure = b.tenures[c.Owner]
	}
	if c.Why != "" { // it was held before the start: from here on it is held anew
		claim.Held, claim.HeldSince = c.Why, b.cfg.Now()
	}
	fill(claim, loc, c.Data)
	if old != nil && old.Address == claim.Address {
		claim.First = min(claim.First, old.First) // the same address goes on, so it keeps its place
	}
	b.add(claim)
}

// hold makes a claim outlive its session. All else of it stays, so nothing changes
// in any list.
func (b *Book) hold(c *znode.Change, now time.Time) {
	old := b.byPath[c.Path]
	if old == nil {
		return // no claim is made of that node
	}
	b.count(old, -1)
	held := *old
	held.Owner, held.Held, held.HeldSince = b.cfg.Reserved, c.Why, now
	b.byPath[c.Path] = &held
	g := b.group(old)
	g.claims[slices.Index(g.claims, old)] = &held
	if s := b.services[old.Service]; s != nil && old.Refused == "" {
		delete(s.local, old)
		s.local[&held] = struct{}{}
	}
	b.held[&held] = struct{}{}
}

// fill puts into the claim what its node's name and data say.
func fill(c *Claim, loc Location, data []byte) {
	c.Address = Address{Space: loc.Space, Root: loc.Root}
	e, err := loc.Layout.FromZnode(loc.Rel, data)
	if err != nil {
		c.Refused = err.Error()
		var refusal *translate.Refusal
		if errors.As(err, &refusal) {
			c.Reason = refusal.Reason
		}
		return
	}
	c.Address.Address = e.Address
	c.Service = loc.Target.Service(e.Service)
	c.Instance = e.Instance
	c.At = Endpoint(e.Instance)
}

// add enters a claim of ZooKeeper's side.
func (b *Book) add(c *Claim) {
	b.byPath[c.Path()] = c
	if c.Held != "" {
		b.held[c] = struct{}{}
	}
	b.count(c, 1)
	for _, g := range b.wanting[c.Path()] {
		b.touch(g)
	}
	g := b.group(c)
	for _, other := range g.claims {
		if other.Local() && other.Refused == "" {
			c.First = min(c.First, other.First)
		}
		// Whoever deleted the imported node has registered that address itself: when
		// this goes, what the registry says counts again.
		other.Deleted = false
	}
	g.claims = append(g.claims, c)
	b.touch(g)
	if c.Refused != "" {
		b.onRefuse(Refused{Path: c.Path(), Reason: c.Reason, Text: c.Refused})
		return
	}
	b.service(c.Service).local[c] = struct{}{}
	b.mark(c.Service, Urgent)
}

// count keeps owned.
func (b *Book) count(c *Claim, n int) {
	if c.Owner == 0 || c.Held != "" || c.Refused != "" {
		return
	}
	if b.owned[c.Owner] += n; b.owned[c.Owner] == 0 {
		delete(b.owned, c.Owner)
	}
}

// drop takes a claim of ZooKeeper's side out.
func (b *Book) drop(c *Claim, u Urgency) {
	delete(b.byPath, c.Path())
	delete(b.held, c)
	b.count(c, -1)
	for _, g := range b.wanting[c.Path()] {
		b.touch(g)
	}
	g := b.group(c)
	g.claims = slices.DeleteFunc(g.claims, func(o *Claim) bool { return o == c })
	b.touch(g)
	if s := b.services[c.Service]; s != nil && c.Refused == "" {
		delete(s.local, c)
		b.mark(c.Service, u)
		b.forget(c.Service)
	}
}

// deleted ends the claim of a node that has gone. A client that deletes an
// imported node hides that address until the registry reports a change of it.
func (b *Book) deleted(c *znode.Change, o znode.Origin, now time.Time) {
	if claim := b.byPath[c.Path]; claim != nil {
		if o.Kind == znode.Operation && o.Session != claim.Owner {
			b.removals.add(removal{Path: c.Path, Owner: claim.Owner, By: o.Session, When: now})
		}
		b.drop(claim, Relaxed)
		return
	}
	if g := b.standing[c.Path]; g != nil {
		b.removals.add(removal{Path: c.Path, Owner: b.cfg.Reserved, By: o.Session, When: now})
		b.fallen(g)
		for _, other := range g.claims {
			if !other.Local() {
				other.Deleted = true
			}
		}
		b.touch(g)
	}
}

// unblock gives the groups another try that the node at path stood in the way
// of.
func (b *Book) unblock(path string) {
	for g := range b.blocked {
		if g.dir == path || strings.HasPrefix(g.dir, path+"/") {
			b.touch(g)
		}
	}
}

// reread follows new data of a node: in some layouts the registration is there.
func (b *Book) reread(old *Claim, data []byte) {
	loc := b.cfg.Spaces.Locate(old.Path())
	c := *old
	c.Service, c.Instance, c.At, c.Refused, c.Reason = registryclient.Service{}, registryclient.Instance{}, "", "", ""
	fill(&c, loc, data)
	if c.Address == old.Address && c.Service == old.Service && c.Refused == old.Refused && c.Instance.Equal(old.Instance) {
		return
	}
	if c.Address != old.Address {
		c.First = c.Generation.Czxid
	}
	b.drop(old, Urgent)
	b.add(&c)
}

// fallen notes that the imported node of g is no more.
func (b *Book) fallen(g *group) {
	delete(b.standing, g.path)
	g.path, g.data = "", nil
}

func (b *Book) group(c *Claim) *group {
	s := spot{c.Dir, c.Address.Address}
	g := b.groups[s]
	if g == nil {
		g = &group{spot: s}
		b.groups[s] = g
	}
	return g
}

func (b *Book) service(svc registryclient.Service) *service {
	s := b.services[svc]
	if s == nil {
		s = &service{local: make(map[*Claim]struct{})}
		b.services[svc] = s
	}
	return s
}

// forget drops a service of which nothing is known any more.
func (b *Book) forget(svc registryclient.Service) {
	if s := b.services[svc]; s != nil && len(s.local) == 0 && (s.imported == nil || len(s.imported.list) == 0) {
		delete(b.services, svc)
	}
}

func (b *Book) touch(g *group) {
	if !g.touched {
		g.touched = true
		b.touched = append(b.touched, g)
	}
}

// open enters a resolved root. One that is new, from a pattern, is filled with
// what was imported for its target already.
func (b *Book) open(loc Location) {
	p := loc.place()
	if b.places[p] != nil {
		return
	}
	r := &room{place: p, layouts: loc.layouts}
	b.places[p] = r
	known := b.targets[p.target]
	b.targets[p.target] = append(known, r)
	if len(known) == 0 {
		b.newTargets = append(b.newTargets, turn{p.target, true})
	}
	for svc, s := range b.services {
		if s.imported != nil && svc == p.target.Service(svc.Name) {
			b.furnish(svc, s.imported, r, change{fresh: s.imported.list})
		}
	}
}

// turn is a target that there is now, or is no more.
type turn struct {
	target Target
	there  bool
}

// close leaves a root that a pattern resolved to and whose directory is deleted,
// unless something is known of it that is only not shown. The last root of a
// target takes what was imported for it along.
func (b *Book) close(path string) {
	loc := b.cfg.Spaces.Locate(path)
	p := loc.place()
	r := b.places[p]
	if r == nil || loc.Root != path || !strings.Contains(loc.Pattern, "{") {
		return
	}
	var listed []registryclient.Service
	for svc, s := range b.services {
		if s.imported == nil || svc != p.target.Service(svc.Name) {
			continue
		}
		if len(s.imported.rooms[r]) > 0 {
			return
		}
		listed = append(listed, svc)
	}
	delete(b.places, p)
	left := slices.DeleteFunc(b.targets[p.target], func(o *room) bool { return o == r })
	for _, svc := range listed {
		delete(b.services[svc].imported.rooms, r)
	}
	if len(left) > 0 {
		b.targets[p.target] = left
		return
	}
	delete(b.targets, p.target)
	for _, svc := range listed {
		b.services[svc].imported = nil
		b.forget(svc)
	}
	b.newTargets = append(b.newTargets, turn{p.target, false})
}

// settle makes the imported nodes in the tree what Shown says of the addresses
// that were touched.
func (b *Book) settle(x *znode.Tx) {
	for _, g := range b.touched {
		g.touched = false
		var show *Claim
		for _, c := range Shown(b.around(g)) {
			if !c.Local() && c.Address.Address == g.address {
				show = c
			}
		}
		b.stand(x, g, show)
		if len(g.claims) == 0 {
			delete(b.groups, g.spot)
		}
	}
	b.touched = b.touched[:0]
}

// around gives the claims that decide what is shown of g: its own, and whoever
// of ZooKeeper's side has the name of one of its registry claims.
func (b *Book) around(g *group) []*Claim {
	claims := g.claims
	for _, c := range g.claims {
		if c.Local() {
			continue
		}
		if other := b.byPath[c.Path()]; other != nil && other.Address.Address != g.address {
			claims = append(slices.Clip(claims), other)
		}
	}
	return claims
}

// stand makes show the imported node of g, or none if it is nil.
func (b *Book) stand(x *znode.Tx, g *group, show *Claim) {
	old := g.path
	delete(b.blocked, g)
	if show == nil {
		if old != "" {
			b.fallen(g)
			x.Remove(old)
		}
		return
	}
	path := show.Path()
	if old == path && string(g.data) == string(show.Data) {
		return
	}
	if old != "" {
		b.fallen(g)
		x.Swap(old, path, show.Data)
	} else {
		x.Put(path, show.Data)
	}
	if x.View().Owner(path) != b.cfg.Reserved { // an ephemeral parent stands in the way
		b.blocked[g] = struct{}{}
		return
	}
	g.path, g.data = path, show.Data
	b.standing[path] = g
}
