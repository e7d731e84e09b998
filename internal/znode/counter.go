package znode

import "math"

// counterBlock is how many creates are reserved at a time for a directory in
// which sequential ephemerals come and go: those need not be on disk when they are
// told, but even after the end of the machine no sequence number may come twice.
const counterBlock = 64

// reserveCounter makes sure that the next create under parent is covered, and
// returns the gate of a name that shows the counter.
func (x *Tx) reserveCounter(parent *node) int64 {
	if x.tree.store == nil {
		return 0
	}
	if next := int64(parent.creates) + 1; next > int64(parent.reserved) {
		upTo := int32(min(next+counterBlock-1, math.MaxInt32))
		if upTo > parent.reserved {
			x.counter(&Effect{Kind: EffectCounter, Node: parent.kind, Path: parent.path, Reserved: upTo}, parent)
		}
	}
	return parent.counterGate
}
