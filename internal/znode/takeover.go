package znode

// Nodes of sessions that nobody carries any more, taken over by a create of their
// name (Config.Abandoned): an application that was restarted registers again while
// the session of its last life has not expired yet.

// takeover is one such node.
type takeover struct {
	path     string
	from, to int64
}

// abandoned reports whether the create c may have n of another session.
func (x *Tx) abandoned(n *node, c *Create) bool {
	t := x.tree
	return t.forsaken != nil && x.origin.Kind == Operation &&
		n.kind == Ephemeral && c.Kind == Ephemeral && !c.Sequential &&
		n.owner != c.Owner && n.owner != t.reserved && t.forsaken(n.path, n.owner)
}

// inherit puts what e creates in the place of n.
func (x *Tx) inherit(e *Effect, n *node, acl *access) {
	e.Kind = EffectAdopt
	x.fresh(e)
	e.Pzxid = x.zxid
	x.adopt(e, n, acl)
}

// takeOver is inherit, from a session. The log keeps that it was robbed: in the
// next life it must not be resumed either.
func (x *Tx) takeOver(e *Effect, n *node, acl *access) {
	from := n.owner
	x.inherit(e, n, acl)
	x.taken = append(x.taken, takeover{path: n.path, from: from, to: e.Owner})
	if s, open := x.tree.sessions[from]; open && s.timeout > 0 {
		s.timeout = -s.timeout
		x.session(s.effect(from))
	}
}

// tellTakeovers is for a transaction that stands.
func (x *Tx) tellTakeovers() {
	for _, o := range x.taken {
		x.tree.takeovers++
		if x.tree.taken != nil {
			x.tree.taken(o.path, o.from, o.to)
		}
	}
}
