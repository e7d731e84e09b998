package embedded

import (
	"time"

	rc "zkbridge/registryclient"
)

// Register puts a native instance under s for ttl (0 means Limits.DefaultTTL),
// counted anew at every call and at every Heartbeat, or replaces the one of
// the same address. It tells whether there was none.
func (r *Registry) Register(s rc.Service, i rc.Instance, ttl time.Duration) (created bool, err error) {
	const op = "register"
	if ttl == 0 {
		ttl = r.limits.DefaultTTL
	}
	for _, p := range []*Problem{r.limits.checkService(s), r.limits.checkInstance(i), r.limits.checkTTL(ttl)} {
		if p != nil {
			return false, r.refused(failed(op, s, p))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.openLocked(); p != nil {
		return false, failed(op, s, p)
	}
	sv := r.serviceLocked(s)
	n := sv.native[i.Address()]
	if n == nil {
		if p := r.roomLocked(sv, 1); p != nil {
			r.tidyLocked(sv)
			r.count.refused++
			return false, failed(op, s, p)
		}
		created = true
		r.journalLocked(s, entry{Native: &savedNative{i, ttl}})
		r.addNativeLocked(sv, &native{instance: i.Clone(), ttl: ttl})
		r.count.registered++
		r.listChangedLocked(sv)
		return created, nil
	}
	if !n.instance.Equal(i) || n.ttl != ttl {
		r.journalLocked(s, entry{Native: &savedNative{i, ttl}})
		n.instance, n.ttl = i.Clone(), ttl
		r.listChangedLocked(sv)
	}
	r.count.heartbeats++
	r.postponeLocked(n.end, ttl)
	return created, nil
}

// addNativeLocked stores a new native instance and queues its end.
func (r *Registry) addNativeLocked(sv *service, n *native) {
	address := n.instance.Address()
	n.end = r.dueLocked(n.ttl, func() {
		r.log.Info("instance expired", "service", sv.key.String(), "instance", address, "ttl", n.ttl)
		r.count.expired++
		r.removeNativeLocked(sv, address)
	})
	sv.native[address] = n
	sv.count++
}

func (r *Registry) removeNativeLocked(sv *service, address string) {
	r.journalLocked(sv.key, entry{Removed: address})
	delete(sv.native, address)
	sv.count--
	r.listChangedLocked(sv)
}

// Heartbeat keeps the native instance of that address ("ip:port") alive for
// another time to live, which it returns. NotFound: it has to be registered again.
func (r *Registry) Heartbeat(s rc.Service, address string) (ttl time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.openLocked(); p != nil {
		return 0, failed("heartbeat", s, p)
	}
	n, p := r.nativeLocked(s, address, "register it again with PUT")
	if p != nil {
		return 0, failed("heartbeat", s, p)
	}
	r.count.heartbeats++
	r.postponeLocked(n.end, n.ttl)
	return n.ttl, nil
}

// Deregister removes the native instance of that address; NotFound if there is none.
func (r *Registry) Deregister(s rc.Service, address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.openLocked(); p != nil {
		return failed("deregister", s, p)
	}
	n, p := r.nativeLocked(s, address, "look at the list of the service; what a bridge published is removed by the bridge")
	if p != nil {
		return failed("deregister", s, p)
	}
	r.deadlines.remove(n.end)
	r.count.deregistered++
	r.removeNativeLocked(r.services[s], address)
	return nil
}

// nativeLocked finds a native instance.
func (r *Registry) nativeLocked(s rc.Service, address, remedy string) (*native, *Problem) {
	if sv := r.services[s]; sv != nil {
		if n := sv.native[address]; n != nil {
			return n, nil
		}
	}
	return nil, problem(codeNotFound, remedy, "no application registered %s under %s", address, s)
}

// roomLocked refuses more instances than the limits allow.
func (r *Registry) roomLocked(sv *service, more int) *Problem {
	if n := sv.count + more; more > 0 && n > r.limits.Instances {
		return problem(codeLimit, "split the service, or raise the registry's limit of instances",
			"%s would have %d instances, the limit is %d", sv.key, n, r.limits.Instances)
	}
	if more > 0 && !sv.listed && r.count.listed >= r.limits.Services {
		return problem(codeLimit, "raise the registry's limit of services", "there are %d services, which is the limit", r.count.listed)
	}
	return nil
}

// refused counts an error on its way out.
func (r *Registry) refused(err error) error {
	r.mu.Lock()
	r.count.refused++
	r.mu.Unlock()
	return err
}
