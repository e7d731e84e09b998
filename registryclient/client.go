package registryclient

import "context"

// Publisher writes to the registry.
type Publisher interface {
	// Publish makes p.Instances the whole list of p.Owner under p.Service: set
	// semantics, idempotent, and all or nothing (one bad instance refuses the
	// list and the old one stays). An empty list withdraws. Records of other
	// owners and of native applications are never touched.
	//
	// Within one incarnation a generation below the last accepted one of that
	// service is refused with ErrStale, also after a withdrawal; the same
	// generation again is accepted. A lower incarnation than the registry knows
	// is refused with ErrStale too.
	//
	// p.Owner is the owner that the client was made for, else the error is of
	// kind Invalid. nil means that the registry has accepted the list; from then on the
	// client keeps it alive by itself, over reconnects and restarts of the
	// registry, until the next Publish of that service or the end of Run. After
	// an error of kind Unavailable the outcome is not known: the caller
	// publishes the same or something newer again. Safe for concurrent use;
	// calls for one service take effect one after another.
	Publish(ctx context.Context, p Publication) error
}

// Subscriber follows services.
type Subscriber interface {
	// Subscribe calls fn with the list of s until ctx ends, then returns nil
	// once the last call of fn has returned. An error other than nil is final:
	// Invalid or Denied.
	//
	// Calls are serial. The first one is the first complete picture that the
	// registry gave, which may be empty; there is none before that. Later calls
	// are latest-wins: steps may be left out, the newest state is always
	// delivered, and a list equal to the one before may be repeated. A slow fn
	// delays its own subscription only.
	//
	// Lost connections are repaired inside, without end. A lost link never makes
	// fn see an empty or shorter list: it sees nothing until the registry has spoken
	// again. A service that does not exist is an empty list.
	Subscribe(ctx context.Context, s Service, fn func(Snapshot)) error
}

// Names follows the names of the services of a group.
type Names interface {
	// WatchNames calls fn with the sorted names of the services that exist in
	// the group, under the obligations of Subscribe. A name appears with its
	// first instance at the latest; it may outlive its last one. The slice is not
	// changed by the receiver: it may be shared.
	WatchNames(ctx context.Context, namespace, group string, fn func(names []string)) error
}

// OwnServices asks what the registry still holds of an owner.
type OwnServices interface {
	// OwnServices lists, in the order of Service.Compare, the services under
	// which the registry has records of o, of whichever incarnation. It is how a
	// bridge finds what an earlier life of it left behind. A backend whose records die with the
	// connection answers what it holds on the present one.
	OwnServices(ctx context.Context, o Owner) ([]Service, error)
}

// Link tells how the way to the registry is.
type Link interface {
	// LinkState gives the present state at once.
	LinkState() LinkState

	// WatchLink calls fn with the present state and then with every newer one
	// (latest-wins, serial) until ctx ends, and returns nil.
	//
	// Up means: the registry answers, everything that Publish accepted has been
	// published again if the registry may have lost it, and subscriptions are
	// current or about to be. So the change to up is the moment to compare
	// OwnServices with what should be there.
	WatchLink(ctx context.Context, fn func(LinkState)) error
}

// Client is a registry as seen by one owner.
type Client interface {
	Publisher
	Subscriber
	Names
	OwnServices
	Link

	// Capabilities says what the registry can do. It never changes in the life
	// of a client.
	Capabilities() Capabilities

	// Run keeps the client's connections, leases and publications until ctx ends
	// and then returns nil; any other return is a failure that will not repair
	// itself. It is called once. Without it nothing is renewed and
	// subscriptions may stay silent. It does not withdraw at its end: what is
	// published then ends with the lease or the connection.
	Run(ctx context.Context) error
}
