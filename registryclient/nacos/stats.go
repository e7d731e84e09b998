package nacos

import "sync/atomic"

// Stats is a snapshot of a Client's numbers. Counters rise for ever.
type Stats struct {
	Connections      int    // open and in use
	ConnectionsWant  int    // that there should be
	Services         int    // that we publish
	Instances        int    // that we publish
	Subscriptions    int    // services
	Unsettled        int    // of these, services for which instances are shown that the server does not list now
	Connects         uint64 // connections made
	ConnectFailures  uint64 // attempts that failed
	Losses           uint64 // connections lost
	Resets           uint64 // moves that a server asked for
	HealthFailures   uint64 // connections given up because the server did not answer
	Publishes        uint64 // lists sent
	Unchanged        uint64 // lists that were not sent because they were the same
	Refusals         uint64 // lists that a server refused
	Redone           uint64 // lists published again after a connection was lost
	Pushes           uint64 // lists received
	NamesLists       uint64 // lists of names received
	Kept             uint64 // times that a list was shown with instances that the server did not list
	Verified         uint64 // services compared with what the server has
	Mended           uint64 // of these, published or subscribed again because it differed
	MetadataDropped  uint64 // instances published without some of their metadata
	Logins           uint64
	LoginFailures    uint64
	RequestsTotal    uint64
	RequestsFailed   uint64
	RequestsTimedOut uint64
}

// counters are the counters of Stats.
type counters struct {
	connects, connectFailures, losses, resets, healthFailures        atomic.Uint64
	publishes, unchanged, refusals, redone, pushes, namesLists, kept atomic.Uint64
	verified, mended, metadataDropped, logins, loginFailures         atomic.Uint64
	requestsTotal, requestsFailed, requestsTimedOut                  atomic.Uint64
}
