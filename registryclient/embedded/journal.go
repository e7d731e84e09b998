package embedded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	rc "zkbridge/registryclient"
)

// Journal is what a Disk may be beside: it keeps what has changed since the
// snapshot, so that a registry whose process is killed knows all that it has
// said. It consists of numbered parts. None of it is synced: a crash of the machine may cut it.
type Journal interface {
	// Append adds an entry to the last part.
	Append(entry []byte) error
	// Begin begins a new part and gives its number.
	Begin() (part uint64, err error)
	// Replay calls fn with the entries of part from and later ones, in order. An
	// entry that is cut ends its part.
	Replay(from uint64, fn func(entry []byte)) error
	// Forget removes the parts before one.
	Forget(before uint64)
}

// entry is one change. Its effect is absolute, so to replay it once more does no harm.
type entry struct {
	Namespace string `json:"ns,omitempty"`
	Group     string `json:"group,omitempty"`
	Name      string `json:"name,omitempty"`

	Native  *savedNative `json:"native,omitempty"`  // registered, or changed
	Removed string       `json:"removed,omitempty"` // the address of a native one
	Owned   *ownedChange `json:"owned,omitempty"`
	Ended   *savedOwner  `json:"ended,omitempty"` // a lease
}

// ownedChange is what a publication changes.
type ownedChange struct {
	Owner      savedOwner    `json:"owner"`
	Generation uint64        `json:"generation"`
	Added      []rc.Instance `json:"added,omitempty"`
	Removed    []rc.Instance `json:"removed,omitempty"`
}

// journalLocked writes a change before anybody sees it. If that fails, it is
// left to the snapshot.
func (r *Registry) journalLocked(s rc.Service, e entry) {
	if r.journal == nil || r.journalBroken {
		return
	}
	e.Namespace, e.Group, e.Name = s.Namespace, s.Group, s.Name
	text, err := json.Marshal(e)
	if err == nil {
		err = r.journal.Append(text)
	}
	if err != nil {
		r.journalBroken = true // it may end in the middle of an entry
		r.count.saveErrors++
		r.log.Error("the registry's journal cannot be written; what changes is kept by the next snapshot only: look at the data directory's disk", "err", err)
	}
}

func savedLease(l *lease) savedOwner {
	return savedOwner{l.owner.key.cluster, l.owner.key.bridge, l.incarnation, l.ttl}
}

// journalOwnedLocked is journalLocked for the list of an owner, which was had.
func (r *Registry) journalOwnedLocked(s rc.Service, had []rc.Instance, now *owned) {
	if r.journal == nil || r.journalBroken {
		return
	}
	c := &ownedChange{Owner: savedLease(now.lease), Generation: now.generation}
	c.Added, c.Removed = difference(had, now.instances)
	r.journalLocked(s, entry{Owned: c})
}

// difference compares two sorted lists.
func difference(had, has []rc.Instance) (added, removed []rc.Instance) {
	for len(had) > 0 || len(has) > 0 {
		switch {
		case len(had) > 0 && len(has) > 0 && had[0].Equal(has[0]):
			had, has = had[1:], has[1:]
		case len(has) == 0 || len(had) > 0 && had[0].Compare(has[0]) < 0:
			removed, had = append(removed, had[0]), had[1:]
		default:
			added, has = append(added, has[0]), has[1:]
		}
	}
	return added, removed
}

// replayLocked applies the entry of a life before.
func (r *Registry) replayLocked(text []byte) {
	var e entry
	if json.Unmarshal(text, &e) != nil {
		return // of another version
	}
	if e.Ended != nil {
		r.replayEndLocked(*e.Ended)
		return
	}
	key := rc.Service{Namespace: e.Namespace, Group: e.Group, Name: e.Name}
	if r.limits.checkService(key) != nil {
		return
	}
	sv := r.serviceLocked(key)
	defer r.tidyLocked(sv)
	switch {
	case e.Native != nil:
		n := e.Native
		if r.limits.checkInstance(n.Instance) != nil || r.limits.checkTTL(n.TTL) != nil {
			return
		}
		if old := sv.native[n.Instance.Address()]; old != nil {
			old.instance, old.ttl = n.Instance, n.TTL
			r.postponeLocked(old.end, n.TTL)
		} else {
			r.addNativeLocked(sv, &native{instance: n.Instance, ttl: n.TTL})
		}
		r.listChangedLocked(sv)
	case e.Removed != "":
		if n := sv.native[e.Removed]; n != nil {
			r.deadlines.remove(n.end)
			r.removeNativeLocked(sv, e.Removed)
		}
	case e.Owned != nil:
		r.replayOwnedLocked(sv, e.Owned)
	}
}

func (r *Registry) replayOwnedLocked(sv *service, c *ownedChange) {
	o := rc.Owner{Cluster: c.Owner.Cluster, Bridge: c.Owner.Bridge, Incarnation: c.Owner.Incarnation}
	if r.limits.checkOwner(o) != nil || r.limits.checkTTL(c.Owner.TTL) != nil {
		return
	}
	l, p := r.leaseLocked(o, c.Owner.TTL)
	if p != nil {
		return // a newer incarnation has been seen since
	}
	var list []rc.Instance
	if old := sv.owned[l.owner.key]; old != nil {
		list = slices.Clone(old.instances)
		if old.lease != l {
			delete(old.lease.records, sv.key)
		}
	}
	list = slices.DeleteFunc(list, func(i rc.Instance) bool {
		_, gone := slices.BinarySearchFunc(c.Removed, i, rc.Instance.Compare)
		return gone
	})
	list = r.possible(append(list, c.Added...))
	r.putOwnedLocked(sv, l, &owned{lease: l, generation: c.Generation, instances: list})
	r.listChangedLocked(sv)
}

func (r *Registry) replayEndLocked(o savedOwner) {
	for _, sv := range r.services {
		rec := sv.owned[ownerKey{o.Cluster, o.Bridge}]
		if rec == nil || rec.lease.incarnation != o.Incarnation || len(rec.instances) == 0 {
			continue
		}
		r.putOwnedLocked(sv, rec.lease, &owned{lease: rec.lease, generation: rec.generation})
		r.listChangedLocked(sv)
	}
}

// openJournal replays what a life before has written since its snapshot, and
// begins a part of its own.
func (r *Registry) openJournal(from uint64) error {
	j, ok := r.cfg.Disk.(Journal)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	count, began := 0, time.Now()
	err := j.Replay(from, func(text []byte) {
		count++
		r.replayLocked(text)
	})
	if err != nil {
		return fmt.Errorf("reading the registry's journal: %w", err)
	}
	if count > 0 {
		r.log.Info("journal replayed: the registry did not end in good order", "changes", count, "took", time.Since(began))
	}
	if _, err := j.Begin(); err != nil {
		return fmt.Errorf("beginning the registry's journal: %w", err)
	}
	r.journal = j
	return nil
}

// sealedEntry is the line of an entry: a checksum and the entry.
func sealedEntry(text []byte) []byte {
	return append(append(fmt.Appendf(nil, "%08x ", crc32.ChecksumIEEE(text)), text...), '\n')
}

// eachEntry calls fn with the entries of a part up to the first that is not whole.
func eachEntry(part []byte, fn func([]byte)) {
	for len(part) > 0 {
		line, rest, whole := bytes.Cut(part, []byte("\n"))
		var sum uint32
		if !whole || len(line) < 9 {
			return
		}
		if _, err := fmt.Sscanf(string(line[:8]), "%08x", &sum); err != nil || sum != crc32.ChecksumIEEE(line[9:]) {
			return
		}
		fn(line[9:])
		part = rest
	}
}
