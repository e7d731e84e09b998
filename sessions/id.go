package sessions

import (
	"errors"
	"fmt"
)

// Limits of the parts of a session id.
const (
	MaxBridge      = 254       // 255 in the top byte marks TTL nodes in ZooKeeper
	MaxIncarnation = 1<<24 - 1 // 24 bits; at one start a minute, 31 years
)

// errNoIDs is returned by Create when this incarnation has used up its ids.
var errNoIDs = errors.New("all 4294967295 session ids of this incarnation are used up: restart the bridge")

// ReservedID is the id of the session that owns the nodes a bridge imports. No
// client ever gets it.
func ReservedID(bridge uint8) int64 { return int64(uint64(bridge) << 56) }

// sessionID puts an id together: the bridge in the top byte, as ZooKeeper puts
// its server id, then the incarnation, then a counter from 1. An id is
// never 0, never reserved, and never comes back after a restart.
func sessionID(bridge uint8, incarnation, counter uint32) int64 {
	return int64(uint64(bridge)<<56 | uint64(incarnation)<<32 | uint64(counter))
}

// bornAt takes bridge and incarnation from an id.
func bornAt(id int64) (bridge uint8, incarnation uint32) {
	return uint8(uint64(id) >> 56), uint32(uint64(id)>>32) & MaxIncarnation
}

// checkIdentity says what is wrong with a bridge id or incarnation.
func checkIdentity(bridge uint8, incarnation uint32) error {
	switch {
	case bridge == 0 || bridge > MaxBridge:
		return fmt.Errorf("bridge id %d is not in 1 to %d", bridge, MaxBridge)
	case bridge == 128:
		// 0x8000000000000000 as an owner means "container" to ZooKeeper's tools.
		return errors.New("bridge id 128 cannot be used: its reserved session id is ZooKeeper's mark of a container node")
	case incarnation > MaxIncarnation:
		return fmt.Errorf("incarnation %d is above %d: start with a fresh data directory", incarnation, MaxIncarnation)
	}
	return nil
}
