// Package guard decides what may take an address away. That a session ends is
// exact and none of its business; that its addresses go with it is, and so is what
// a registry takes back.
//
// What a client deletes or closes goes at once, and so do the addresses of a
// single session that expires, and of what the registry reports as much as its cap
// allows. The silence of many sessions at once, or of most of a service, or after
// we ourselves stood still, is our fault until shown otherwise: the deadline is
// extended once, and then the session ends but its addresses are *held*: shown and
// published as before, in the name of the bridge. The same becomes of instances
// that the registry loses beyond the cap, or right after its link came back.
//
// Two words of the registry wait a moment for what else it says: that the last
// address of a service is gone, and that something of another bridge's is. If more
// than half of what that bridge published goes, the bridge is unreachable.
//
// What is held ends when the address is claimed anew, when somebody deletes it,
// when nobody listens there any more (a probe refused twice), when its time is
// over, within the cap, or by an operator. An answered probe renews the time up to
// a maximum. Time alone ends the last address of a service at that maximum only.
//
// docs/guard.md has the tables: what is held, how it ends, and how long a dead
// provider can stay.
package guard
