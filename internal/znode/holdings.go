package znode

// Holdings and watches as a whole, for four-letter words (dump, wchc, wchp) and
// their like. They look at everything under the lock: they are for operators, not
// for clients.

// EachOwner calls fn for each session that owns ephemerals, in no order. paths is
// fn's to keep.
func (v *View) EachOwner(fn func(session int64, paths []string)) {
	for session, nodes := range v.tree.owners {
		paths := make([]string, len(nodes))
		for i, n := range nodes {
			paths[i] = n.path
		}
		fn(session, paths)
	}
}

// EachDataWatch calls fn for each pair of path and watcher in the data table, in
// no order: that is the table which ZooKeeper shows.
func (v *View) EachDataWatch(fn func(path string, w Watcher)) {
	for path, at := range v.tree.watches.spots {
		for _, held := range at.held {
			if held.modes[dataTable] != 0 {
				fn(path, held.by.watcher)
			}
		}
	}
}
