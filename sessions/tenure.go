package sessions

import (
	"cmp"
	"fmt"
)

// Tenure says under which ownership a session acts: which bridge holds it, and
// for the how-manieth time it changed hands. Two statements about one session
// are merged by it: the later tenure is right.
type Tenure struct {
	Epoch       uint32 // 1 at birth, +1 whenever another bridge takes the session over
	Zxid        int64  // of the transaction that began this tenure; 0 until it ran
	Bridge      uint8  // the bridge that holds the session
	Incarnation uint32 // of that bridge
}

// Compare orders tenures of one session: -1 if t is the earlier one, +1 if it
// is the later one, 0 if they are the same. Epochs decide; the other fields only
// make the order total.
func (t Tenure) Compare(o Tenure) int {
	return cmp.Or(
		cmp.Compare(t.Epoch, o.Epoch),
		cmp.Compare(t.Zxid, o.Zxid),
		cmp.Compare(t.Bridge, o.Bridge),
		cmp.Compare(t.Incarnation, o.Incarnation),
	)
}

// String shows a tenure for logs, as epoch/zxid@bridge.incarnation.
func (t Tenure) String() string {
	return fmt.Sprintf("%d/0x%x@%d.%d", t.Epoch, t.Zxid, t.Bridge, t.Incarnation)
}
