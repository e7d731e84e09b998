package znode

// Put shows an imported node: ephemeral, owned by Config.Reserved, world:anyone
// may do all, missing parents made persistent and empty. If it is imported
// already its data changes in place (version+1, NodeDataChanged), or nothing
// happens when the data is the same. A node that somebody else owns, an
// ephemeral parent and an illegal path are left alone.
func (x *Tx) Put(path string, data []byte) {
	t := x.tree
	if t.reserved == 0 {
		panic("znode: Put needs Config.Reserved")
	}
	if !validPath(path) {
		return
	}
	if n := t.nodes[path]; n != nil {
		if t.imported(n) && !sameData(n.data, data) {
			x.write(n, data)
		}
		return
	}
	if parent := x.makeDirectory(parentPath(path)); parent != nil {
		x.add(&Effect{Kind: EffectCreate, Node: Ephemeral, Path: path, Data: data, ACL: t.open.list, Owner: t.reserved}, parent, t.open, false, true)
	}
}

// makeDirectory finds or makes the directory path for an imported node; nil if
// an ephemeral stands in the way.
func (x *Tx) makeDirectory(path string) *node {
	t := x.tree
	if n := t.nodes[path]; n != nil {
		if n.kind == Ephemeral {
			return nil
		}
		return n
	}
	parent := x.makeDirectory(parentPath(path))
	if parent == nil {
		return nil
	}
	return x.add(&Effect{Kind: EffectCreate, Path: path, Data: []byte{}, ACL: t.open.list}, parent, t.open, false, true)
}

// Remove takes an imported or held node away. Anybody else's node is left alone.
func (x *Tx) Remove(path string) {
	if n := x.tree.nodes[path]; n != nil && x.tree.reserves(n) {
		x.remove(n, true)
	}
}

// Swap is Remove(old) and Put(new, data) with one NodeChildrenChanged.
func (x *Tx) Swap(old, new string, data []byte) {
	if old != new {
		x.Remove(old)
	}
	x.Put(new, data)
}
