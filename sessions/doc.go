// Package sessions keeps the sessions of a bridge: who they are, which
// connection carries each of them, and when one is over.
//
// A session is open, then closing, then ended, and never goes back. While it is
// closing its ephemeral nodes are being removed; a client that comes back for it
// then waits, and is told that it expired once they are gone. That is why
// [Manager.Attach] may wait, and why nothing else waits with it.
//
// Sessions are passive: no goroutine and no timer belongs to one. A sign of life
// is one atomic store ([Session.Touch]); [Manager.Run] looks at a session again
// only when the deadline it knew of comes round. A session falls due at exactly
// its negotiated timeout after the last sign of life, where ZooKeeper rounds up
// to its next tick. Being due does not end it: the [Authority] over the session
// is asked, and any sign of life before the answer cancels the question.
//
// Nothing here knows the tree. The order in which a session ends is
//
//	BeginEnd   no write of the session is accepted any more
//	Expire     (or the server's closeSession) its nodes go, in the tree
//	Finish     waiting clients are told, the connection is closed
//
// and a write by a session asks [Session.Closing] under the tree's lock, so that
// no node can appear behind the transaction that removes them.
package sessions
