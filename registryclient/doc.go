// Package registryclient says what the bridge needs of a service registry: the
// words (service, instance, owner, publication, snapshot), the small interfaces
// that a backend implements, its capabilities and its errors.
//
// A backend lives in a folder of its own below this one (embedded, nacos) and
// proves itself with the conformance suite in registrytest. The obligations in
// the comments of the interfaces are what that suite checks; the bridge relies
// on them and on nothing else.
//
// A Client is one registry as seen by one owner, that is by one bridge. The
// interfaces are made so that a backend whose records die with a connection,
// which holds one list per service and connection, and which cannot say which
// records are ours, fits as well as one with leases.
package registryclient
