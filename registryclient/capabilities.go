package registryclient

import "time"

// Capabilities is what a registry can do, said by its backend. The zero value
// is the most modest registry.
type Capabilities struct {
	// SaysOwn: Observed.Own is Yes or No, never Unknown.
	SaysOwn bool
	// Leases: records outlive a lost connection, for LeaseTTL at most.
	Leases bool
	// LeaseTTL is how long records stay after the last renewal; 0 without leases.
	LeaseTTL time.Duration
	// DiesWithConnection: records end when the client's connection does, and the
	// client publishes them again on the next one.
	DiesWithConnection bool
	// MergesEqual: records of several publishers that are equal in every field
	// are shown as one. Where SaysOwn is true, our record and an equal one of
	// somebody else are two all the same, one Yes and one No.
	MergesEqual bool
	// ConditionalWithdraw: the registry itself refuses stale generations and
	// incarnations, so that a late withdrawal cannot hit a newer registration.
	// Without it the client orders its own calls, which covers one process.
	ConditionalWithdraw bool
	// Native: applications register there without a bridge.
	Native bool
	// HidesDisabled: instances with Enabled false are not shown.
	HidesDisabled bool
	// MetadataLimit is the largest sum of characters of an instance's keys and
	// values; 0 means that the registry sets none.
	MetadataLimit int
	// Staleness is how old a snapshot may be at most when it is delivered over a
	// link that is up; 0 means that changes are pushed at once.
	Staleness time.Duration
}
