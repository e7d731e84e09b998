package znode

// Watcher is a connection that wants events. It is the key of its watches: it
// must be comparable, and the same value in every call.
type Watcher interface {
	// Notify queues e. It is called under the tree's lock: it must not block
	// and must not call the Tree.
	Notify(e *Event)
}

// Identified is a Watcher whose identities are asked for at delivery: events of
// nodes it may not read are dropped (ZOOKEEPER-4799). It is called under the
// tree's lock, and only for nodes that the world cannot read. Watchers that do
// not implement it count as having no identity.
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
