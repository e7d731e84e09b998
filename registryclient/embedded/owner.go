package embedded

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	rc "zkbridge/registryclient"
)

// owner is a bridge as the registry knows it: its newest incarnation and that
// one's lease. Guarded by Registry.mu.
type owner struct {
	key         ownerKey
	incarnation uint32
	lease       *lease
}

// lease keeps the records of one incarnation of an owner. When a newer
// incarnation comes, the lease runs on to its end without being renewed, so that
// what a bridge published before its restart stays until it has been published anew
// or one time to live is over. Guarded by Registry.mu.
type lease struct {
	owner       *owner
	incarnation uint32
	id          string // another one each time it is opened
	ttl         time.Duration
	lapsed      bool
	records     map[rc.Service]*owned
	end         *deadline // when it lapses, or, lapsed, is forgotten
}

// owned is the list of one owner under one service.
type owned struct {
	lease      *lease
	generation uint64
	instances  []rc.Instance // sorted, no two equal
}

// Lease is what an owner is told about its lease.
type Lease struct {
	// ID changes whenever the lease was opened anew, so also after a restart of
	// the registry: an owner that sees another one publishes everything again.
	ID  string
	TTL time.Duration // until it lapses, if it is not renewed
}

// Renew opens or renews the lease of an owner for ttl. A lower incarnation
// than the registry knows is Stale, until the lease of the newer one has lapsed.
func (r *Registry) Renew(o rc.Owner, ttl time.Duration) (Lease, error) {
	const op = "renew"
	for _, p := range []*Problem{r.limits.checkOwner(o), r.limits.checkTTL(ttl)} {
		if p != nil {
			return Lease{}, r.refused(failed(op, rc.Service{}, p))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.openLocked(); p != nil {
		return Lease{}, failed(op, rc.Service{}, p)
	}
	l, p := r.leaseLocked(o, ttl)
	if p != nil {
		return Lease{}, failed(op, rc.Service{}, p)
	}
	r.count.renewals++
	return Lease{ID: l.id, TTL: l.ttl}, nil
}

// Publish makes p.Instances the list of p.Owner under p.Service, as
// registryclient.Publisher promises, and renews the owner's lease for ttl.
func (r *Registry) Publish(p rc.Publication, ttl time.Duration) (Lease, error) {
	return r.publish(clonePublication(p), ttl)
}

// publish is Publish for a publication whose instances nobody changes any more.
func (r *Registry) publish(p rc.Publication, ttl time.Duration) (Lease, error) {
	const op = "publish"
	problems := []*Problem{r.limits.checkService(p.Service), r.limits.checkOwner(p.Owner), r.limits.checkTTL(ttl)}
	for _, i := range p.Instances {
		problems = append(problems, r.limits.checkInstance(i))
	}
	for _, pr := range problems {
		if pr != nil {
			return Lease{}, r.refused(failed(op, p.Service, pr))
		}
	}
	list := slices.Clone(p.Instances) // the order is ours
	slices.SortFunc(list, rc.Instance.Compare)
	list = slices.CompactFunc(list, rc.Instance.Equal)

	r.mu.Lock()
	defer r.mu.Unlock()
	if pr := r.openLocked(); pr != nil {
		return Lease{}, failed(op, p.Service, pr)
	}
	l, pr := r.leaseLocked(p.Owner, ttl)
	if pr != nil {
		return Lease{}, failed(op, p.Service, pr)
	}
	sv := r.serviceLocked(p.Service)
	defer r.tidyLocked(sv)
	old := sv.owned[l.owner.key]
	if old != nil && old.lease == l && p.Generation < old.generation {
		r.count.stale++
		return Lease{}, failed(op, p.Service, problem(codeStale, "publish the newer list instead",
			"generation %d came after %d", p.Generation, old.generation))
	}
	var had []rc.Instance
	if old != nil {
		had = old.instances
	}
	if pr := r.roomLocked(sv, len(list)-len(had)); pr != nil {
		r.count.refused++
		return Lease{}, failed(op, p.Service, pr)
	}
	r.count.published++
	if old != nil && old.lease != l {
		delete(old.lease.records, p.Service)
	}
	changed := !slices.EqualFunc(had, list, rc.Instance.Equal)
	rec := &owned{lease: l, generation: p.Generation, instances: list}
	if changed || old != nil && old.lease != l {
		r.journalOwnedLocked(p.Service, had, rec)
	}
	r.putOwnedLocked(sv, l, rec)
	if changed {
		r.listChangedLocked(sv)
	} else {
		r.changedLocked()
	}
	return Lease{ID: l.id, TTL: l.ttl}, nil
}

// putOwnedLocked stores the list of a lease's owner under a service.
func (r *Registry) putOwnedLocked(sv *service, l *lease, rec *owned) {
	if old := sv.owned[l.owner.key]; old != nil {
		sv.count -= len(old.instances)
	}
	sv.owned[l.owner.key] = rec
	l.records[sv.key] = rec
	sv.count += len(rec.instances)
}

// leaseLocked finds the lease of o and renews it, opening it if need be.
func (r *Registry) leaseLocked(o rc.Owner, ttl time.Duration) (*lease, *Problem) {
	k := keyOf(o)
	ow := r.owners[k]
	if ow == nil {
		ow = &owner{key: k}
		r.owners[k] = ow
	}
	switch {
	case o.Incarnation < ow.incarnation && ow.lease.lapsed:
		// Nothing of the newer one is left and nobody speaks for it: the bridge has
		// been set up again, or from a backup.
		r.forgetLocked(ow.lease)
		r.owners[k] = ow
		ow.incarnation, ow.lease = o.Incarnation, nil
	case o.Incarnation < ow.incarnation:
		r.count.stale++
		return nil, problem(codeStale, "if two bridges run with the same id, give one of them another id and its own data directory",
			"incarnation %d of bridge %s was replaced by incarnation %d", o.Incarnation, k, ow.incarnation)
	case o.Incarnation > ow.incarnation:
		if old := ow.lease; old != nil && old.lapsed {
			r.forgetLocked(old)
			r.owners[k] = ow
		}
		ow.incarnation, ow.lease = o.Incarnation, nil
	}
	switch l := ow.lease; {
	case l == nil:
		r.openLeaseLocked(ow, ttl)
		r.log.Info("lease opened", "owner", o.String(), "ttl", ttl)
		r.changedLocked()
	case l.lapsed:
		l.lapsed, l.ttl, l.id = false, ttl, r.leaseIDLocked()
		r.postponeLocked(l.end, ttl)
		r.log.Info("lease opened again", "owner", o.String(), "ttl", ttl)
	default:
		if l.ttl != ttl {
			l.ttl = ttl
			r.changedLocked()
		}
		r.postponeLocked(l.end, ttl)
	}
	return ow.lease, nil
}

// openLeaseLocked makes the lease of the owner's present incarnation.
func (r *Registry) openLeaseLocked(ow *owner, ttl time.Duration) *lease {
	l := &lease{owner: ow, incarnation: ow.incarnation, id: r.leaseIDLocked(), ttl: ttl, records: make(map[rc.Service]*owned)}
	l.end = r.dueLocked(ttl, func() { r.leaseOverLocked(l) })
	ow.lease = l
	return l
}

func (r *Registry) leaseIDLocked() string {
	r.leaseSeq++
	return r.epoch + "." + strconv.FormatUint(r.leaseSeq, 36)
}

// leaseOverLocked withdraws what the lease held. The generations of the newest
// incarnation are kept for a while, so that a late message of it is still refused.
func (r *Registry) leaseOverLocked(l *lease) {
	if l.lapsed || l != l.owner.lease {
		r.forgetLocked(l)
		return
	}
	n := 0
	r.journalLocked(rc.Service{}, entry{Ended: new(savedLease(l))})
	for s, rec := range l.records {
		n += len(rec.instances)
		if len(rec.instances) > 0 {
			sv := r.services[s]
			r.putOwnedLocked(sv, l, &owned{lease: l, generation: rec.generation})
			r.listChangedLocked(sv)
		}
	}
	r.count.expired += uint64(n)
	r.log.Warn("lease lapsed; its records are withdrawn", "owner", l.owner.key.String(), "incarnation", l.incarnation, "ttl", l.ttl, "instances", n)
	l.lapsed = true
	r.postponeLocked(l.end, forgetOwner)
}

// forgetLocked removes every record of a lease and, if it is its owner's last,
// the owner.
func (r *Registry) forgetLocked(l *lease) {
	r.deadlines.remove(l.end)
	if !l.lapsed {
		r.journalLocked(rc.Service{}, entry{Ended: new(savedLease(l))})
	}
	n := 0
	for s, rec := range l.records {
		sv := r.services[s]
		delete(sv.owned, l.owner.key)
		if len(rec.instances) > 0 {
			n += len(rec.instances)
			sv.count -= len(rec.instances)
			r.listChangedLocked(sv)
		}
		r.tidyLocked(sv)
	}
	l.records = nil
	r.count.expired += uint64(n)
	if n > 0 {
		r.log.Warn("lease of a replaced incarnation ended; what was not published anew is withdrawn",
			"owner", l.owner.key.String(), "incarnation", l.incarnation, "instances", n)
	}
	if l.owner.lease == l {
		delete(r.owners, l.owner.key)
	}
	r.changedLocked()
}

// OwnServices lists the services under which o, in whichever incarnation, has
// instances.
func (r *Registry) OwnServices(o rc.Owner) ([]rc.Service, error) {
	if p := r.limits.checkOwner(o); p != nil {
		return nil, failed("own services", rc.Service{}, p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.openLocked(); p != nil {
		return nil, failed("own services", rc.Service{}, p)
	}
	var list []rc.Service
	for s, sv := range r.services {
		if rec := sv.owned[keyOf(o)]; rec != nil && len(rec.instances) > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, rc.Service.Compare)
	return list, nil
}

// OwnerInfo describes an owner for operators.
type OwnerInfo struct {
	Owner       string `json:"owner"` // "cluster/bridge"
	Incarnation uint32 `json:"incarnation"`
	TTL         string `json:"ttl"`
	Lapsed      bool   `json:"lapsed,omitempty"` // it was not renewed in time; nothing of it is left
	Services    int    `json:"services"`
	Instances   int    `json:"instances"`
}

// Owners lists the owners that the registry knows.
func (r *Registry) Owners() []OwnerInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]OwnerInfo, 0, len(r.owners))
	for _, k := range slices.SortedFunc(maps.Keys(r.owners), func(a, b ownerKey) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.bridge, b.bridge))
	}) {
		ow := r.owners[k]
		i := OwnerInfo{Owner: k.String(), Incarnation: ow.incarnation, TTL: ow.lease.ttl.String(), Lapsed: ow.lease.lapsed}
		for _, sv := range r.services {
			if rec := sv.owned[k]; rec != nil && len(rec.instances) > 0 {
				i.Services++
				i.Instances += len(rec.instances)
			}
		}
		list = append(list, i)
	}
	return list
}
