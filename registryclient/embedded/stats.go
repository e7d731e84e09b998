package embedded

import "time"

// counters are the parts of Stats that only count. Guarded by Registry.mu.
type counters struct {
	listed                                       int
	registered, deregistered, heartbeats         uint64
	published, renewals, expired, stale, refused uint64
	saves, saveErrors, stalls                    uint64
	savedAt                                      time.Time
	saveTook                                     time.Duration
}

// Stats is what a registry holds and has done since its start.
type Stats struct {
	Epoch    string
	Revision uint64
	Settled  bool // those known before the start have had the time to come back

	Services        int // with a name that is shown
	NativeInstances int
	OwnedInstances  int
	Owners          int // with a lease that has not lapsed
	Watches         int // subscriptions, to services and to groups

	Registered   uint64 // native instances that were new
	Deregistered uint64
	Heartbeats   uint64
	Published    uint64 // lists accepted from owners
	Renewals     uint64 // of owners' leases
	Expired      uint64 // instances whose time to live or lease ended
	Stale        uint64 // calls refused because a newer generation or incarnation is known
	Refused      uint64 // calls refused as invalid or over a limit
	Saves        uint64
	SaveErrors   uint64
	SavedAt      time.Time     // begin of the last good snapshot, zero if none
	SaveTook     time.Duration // what it took
	Stalls       uint64        // times that this process was found to have stood still
}

// Stats gives a snapshot of the registry's numbers.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.count
	s := Stats{
		Epoch: r.epoch, Revision: r.revision, Settled: r.settledLocked(), Services: c.listed, Watches: r.watches,
		Registered: c.registered, Deregistered: c.deregistered, Heartbeats: c.heartbeats, Published: c.published, Renewals: c.renewals,
		Expired: c.expired, Stale: c.stale, Refused: c.refused, Saves: c.saves, SaveErrors: c.saveErrors, SavedAt: c.savedAt, SaveTook: c.saveTook, Stalls: c.stalls,
	}
	for _, sv := range r.services {
		s.NativeInstances += len(sv.native)
		s.OwnedInstances += sv.count - len(sv.native)
	}
	for _, ow := range r.owners {
		if !ow.lease.lapsed {
			s.Owners++
		}
	}
	return s
}
