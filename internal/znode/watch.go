package znode

import "zkbridge/zkproto"

// Watcher is a connection that wants events. It is the key of its watches: it
// must be comparable, and the same value in every call.
type Watcher interface {
	// Notify queues e. It is called under the tree's lock: it must not block
	// and must not call the Tree.
	Notify(e *Event)
}

// Identified is a Watcher whose identities are asked for at delivery: events of
// nodes that it may not read are dropped, as since 3.8.4 and 3.9.2. It is called
// under the tree's lock, and only for nodes that the world cannot read. Watchers
// that do not implement it count as having no identity.
type Identified interface {
	Identities() []Identity
}

// WatchKind is what a watch waits for.
type WatchKind uint8

// The kinds of watches, by the request that sets them.
const (
	WatchData       WatchKind = iota // getData; one-shot
	WatchExist                       // exists, also of a missing node; one-shot
	WatchChild                       // getChildren; one-shot
	WatchPersistent                  // addWatch 0
	WatchRecursive                   // addWatch 1
)

// WatchLists are the paths of a setWatches or setWatches2 request.
type WatchLists struct {
	Data, Exist, Child    []string
	Persistent, Recursive []string
}

// mode is how a watch stands in a table. Modes on one (connection, path) are
// independent of each other, as in 3.9.
type mode uint8

const (
	standard mode = 1 << iota // spent by its first event
	persistent
	recursive // data table only: it never hears of children as such
)

// tableID tells ZooKeeper's two watch tables apart.
type tableID uint8

const (
	dataTable tableID = iota
	childTable
)

// watchTable holds all watches, by path and by connection. A connection that
// has set none does not stand in it.
type watchTable struct {
	spots     map[string]*spot
	holders   map[Watcher]*holder
	recursive int    // watches in recursive mode: without any, nobody looks at ancestors
	round     uint64 // step being fired
	data      table
	child     table
}

// table counts one of the two tables.
type table struct {
	id      tableID
	watches int
	spots   int
	holders int
}

// spot is a path that somebody watches, whether or not it exists.
type spot struct {
	path      string
	held      []*watch
	recursive int
	count     [2]int // watches by table
}

// holder is a connection that has watches.
type holder struct {
	watcher    Watcher
	identified Identified // watcher, if it says who it is
	held       map[*spot]*watch
	count      [2]int
	round      uint64 // last step it heard of
}

// watch is all that one connection waits for at one path.
type watch struct {
	by    *holder
	at    *spot
	slot  int // place in at.held
	modes [2]mode
}

func newWatchTable() watchTable {
	return watchTable{
		spots:   make(map[string]*spot),
		holders: make(map[Watcher]*holder),
		data:    table{id: dataTable},
		child:   table{id: childTable},
	}
}

// set adds what k means.
func (w *watchTable) set(who Watcher, path string, k WatchKind) {
	switch k {
	case WatchData, WatchExist:
		w.add(who, path, &w.data, standard)
	case WatchChild:
		w.add(who, path, &w.child, standard)
	case WatchPersistent:
		w.add(who, path, &w.data, persistent)
		w.add(who, path, &w.child, persistent)
	case WatchRecursive:
		w.add(who, path, &w.data, recursive)
	}
}

func (w *watchTable) add(who Watcher, path string, in *table, m mode) {
	h := w.holders[who]
	if h == nil {
		h = &holder{watcher: who, held: make(map[*spot]*watch)}
		h.identified, _ = who.(Identified)
		w.holders[who] = h
	}
	at := w.spots[path]
	if at == nil {
		at = &spot{path: path}
		w.spots[path] = at
	}
	held := h.held[at]
	if held == nil {
		held = &watch{by: h, at: at, slot: len(at.held)}
		at.held = append(at.held, held)
		h.held[at] = held
	}
	w.change(held, in, held.modes[in.id]|m)
}

// change gives a watch other modes in one table and keeps the counts. A watch
// without any is removed by sweep.
func (w *watchTable) change(held *watch, in *table, m mode) {
	was := held.modes[in.id]
	held.modes[in.id] = m
	if d := int(m&recursive/recursive) - int(was&recursive/recursive); d != 0 {
		held.at.recursive += d
		w.recursive += d
	}
	if (m != 0) == (was != 0) {
		return
	}
	d := 1
	if m == 0 {
		d = -1
	}
	in.watches += d
	in.spots += count(&held.at.count[in.id], d)
	in.holders += count(&held.by.count[in.id], d)
}

// count adds d, which is 1 or -1, and returns it if the counter left or reached
// zero.
func count(n *int, d int) int {
	*n += d
	if d > 0 && *n == 1 || d < 0 && *n == 0 {
		return d
	}
	return 0
}

// sweep takes a watch without modes out of both maps.
func (w *watchTable) sweep(held *watch) {
	if held.modes != [2]mode{} {
		return
	}
	at := held.at
	last := len(at.held) - 1
	at.held[held.slot] = at.held[last]
	at.held[held.slot].slot = held.slot
	at.held[last] = nil
	at.held = at.held[:last]
	if last == 0 {
		delete(w.spots, at.path)
	}
	delete(held.by.held, at)
}

// trigger delivers to all who watch at in one table, and spends their one-shot
// watches.
func (w *watchTable) trigger(at *spot, in *table, deliver func(*holder)) {
	if at == nil || at.count[in.id] == 0 {
		return
	}
	for i := len(at.held) - 1; i >= 0; i-- { // backwards: sweep fills the gap from the end
		held := at.held[i]
		m := held.modes[in.id]
		if m == 0 {
			continue
		}
		if m&standard != 0 {
			w.change(held, in, m&^standard)
			w.sweep(held)
		}
		deliver(held.by)
	}
}

// find is the watch of who at exactly path, nil if there is none.
func (w *watchTable) find(who Watcher, path string) *watch {
	h := w.holders[who]
	if h == nil {
		return nil
	}
	at := w.spots[path]
	if at == nil {
		return nil
	}
	return h.held[at]
}

// meant is what a watcher type means in each table.
func meant(typ zkproto.WatcherType) [2]mode {
	switch typ {
	case zkproto.WatcherChildren:
		return [2]mode{childTable: standard}
	case zkproto.WatcherData:
		return [2]mode{dataTable: standard}
	case zkproto.WatcherPersistent:
		return [2]mode{persistent, persistent}
	case zkproto.WatcherPersistentRecursive:
		return [2]mode{dataTable: recursive}
	case zkproto.WatcherAny:
		return [2]mode{^mode(0), ^mode(0)}
	}
	return [2]mode{}
}

func (w *watchTable) has(who Watcher, path string, typ zkproto.WatcherType) bool {
	held, want := w.find(who, path), meant(typ)
	return held != nil && (held.modes[dataTable]&want[dataTable] != 0 || held.modes[childTable]&want[childTable] != 0)
}

func (w *watchTable) remove(who Watcher, path string, typ zkproto.WatcherType) bool {
	if !w.has(who, path, typ) {
		return false
	}
	held, want := w.find(who, path), meant(typ)
	w.change(held, &w.data, held.modes[dataTable]&^want[dataTable])
	w.change(held, &w.child, held.modes[childTable]&^want[childTable])
	w.sweep(held)
	return true
}

// drop removes up to max watches of who, and reports whether it has more.
func (w *watchTable) drop(who Watcher, max int) bool {
	h := w.holders[who]
	if h == nil {
		return false
	}
	for _, held := range h.held {
		if max == 0 {
			return true
		}
		max--
		w.change(held, &w.data, 0)
		w.change(held, &w.child, 0)
		w.sweep(held)
	}
	delete(w.holders, who)
	return false
}
