package embedded

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"time"

	rc "zkbridge/registryclient"
)

// The snapshot is one line of header (what it is, format, checksum of the
// rest) and one JSON document. Format 1 is the only one so far.
const (
	snapshotMagic  = "zkbridge-registry"
	snapshotFormat = 1
)

// revisionGap is added to the revision at every load, so that revisions given
// out after the last snapshot are not given out again for something else.
const revisionGap = 1 << 20

type savedState struct {
	Saved    time.Time      `json:"saved"`
	Revision uint64         `json:"revision"`
	Journal  uint64         `json:"journal,omitempty"` // the first part of the journal that is not in it
	Owners   []savedOwner   `json:"owners"`
	Services []savedService `json:"services"`
}

// savedOwner is one lease; an owner may have several, of several incarnations.
type savedOwner struct {
	Cluster     string        `json:"cluster"`
	Bridge      uint8         `json:"bridge"`
	Incarnation uint32        `json:"incarnation"`
	TTL         time.Duration `json:"ttl"`
}

type savedService struct {
	Namespace string        `json:"namespace"`
	Group     string        `json:"group"`
	Name      string        `json:"name"`
	Native    []savedNative `json:"native,omitempty"`
	Owned     []savedOwned  `json:"owned,omitempty"`
}

type savedNative struct {
	Instance rc.Instance   `json:"instance"`
	TTL      time.Duration `json:"ttl"`
}

type savedOwned struct {
	Cluster     string        `json:"cluster"`
	Bridge      uint8         `json:"bridge"`
	Incarnation uint32        `json:"incarnation"`
	Generation  uint64        `json:"generation"`
	Instances   []rc.Instance `json:"instances,omitempty"`
}

// keepSaved writes a snapshot a while after every change until ctx ends. A
// failed write is logged once and tried again; the registry goes on without.
func (r *Registry) keepSaved(ctx context.Context) {
	if r.cfg.Disk == nil {
		<-ctx.Done()
		return
	}
	pause, broken := r.cfg.SaveEvery, false
	for {
		select {
		case <-r.unsaved:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		began := time.Now()
		err := r.save()
		pause = max(r.cfg.SaveEvery, 10*time.Since(began))
		switch {
		case err != nil:
			if !broken {
				r.log.Error("the registry's snapshot cannot be written; it is served from memory and tried again: look at the data directory's disk", "err", err)
			}
			pause = max(pause, 5*time.Second)
			r.changedNow()
		case broken:
			r.log.Info("the registry's snapshot is written again")
		}
		broken = err != nil
	}
}

func (r *Registry) changedNow() {
	r.mu.Lock()
	r.changedLocked()
	r.mu.Unlock()
}

// save writes the present state.
func (r *Registry) save() error {
	if r.cfg.Disk == nil {
		return nil
	}
	r.mu.Lock()
	state := r.stateLocked()
	if r.journal != nil {
		part, err := r.journal.Begin()
		if err != nil {
			r.count.saveErrors++
			r.mu.Unlock()
			return fmt.Errorf("beginning the registry's journal: %w", err)
		}
		state.Journal, r.journalBroken = part, false
	}
	r.mu.Unlock()
	began := time.Now()
	err := func() error {
		body, err := json.Marshal(state)
		if err != nil {
			return err
		}
		return r.cfg.Disk.Save(sealed(body))
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.count.saveErrors++
		return fmt.Errorf("writing the registry's snapshot: %w", err)
	}
	if r.journal != nil {
		r.journal.Forget(state.Journal)
	}
	r.count.saves++
	r.count.savedAt, r.count.saveTook = began, time.Since(began)
	return nil
}

// sealed puts the header before a body.
func sealed(body []byte) []byte {
	return append(fmt.Appendf(nil, "%s %d %08x\n", snapshotMagic, snapshotFormat, crc32.ChecksumIEEE(body)), body...)
}

// stateLocked collects what the snapshot has; instances are shared, for they
// never change.
func (r *Registry) stateLocked() savedState {
	st := savedState{Saved: time.Now(), Revision: r.revision}
	leases := make(map[*lease]bool)
	for _, sv := range r.services {
		if len(sv.native) == 0 && len(sv.owned) == 0 {
			continue
		}
		ss := savedService{Namespace: sv.key.Namespace, Group: sv.key.Group, Name: sv.key.Name}
		for _, n := range sv.native {
			ss.Native = append(ss.Native, savedNative{n.instance, n.ttl})
		}
		for k, o := range sv.owned {
			leases[o.lease] = true
			ss.Owned = append(ss.Owned, savedOwned{k.cluster, k.bridge, o.lease.incarnation, o.generation, o.instances})
		}
		st.Services = append(st.Services, ss)
	}
	saveOwner := func(l *lease) {
		st.Owners = append(st.Owners, savedLease(l))
	}
	for l := range leases {
		if l != l.owner.lease {
			saveOwner(l)
		}
	}
	for _, ow := range r.owners {
		saveOwner(ow.lease)
	}
	return st
}

// load reads the snapshot, if there is one. It runs before the registry is shared.
func (r *Registry) load() error {
	if r.cfg.Disk == nil {
		return nil
	}
	file, err := r.cfg.Disk.Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r.openJournal(0)
	case err != nil:
		return fmt.Errorf("reading the registry's snapshot: %w", err)
	}
	st, err := parseSnapshot(file)
	var newer *newerFormatError
	switch {
	case errors.As(err, &newer):
		return err
	case err != nil:
		where, moveErr := r.cfg.Disk.SetAside()
		if moveErr != nil {
			return fmt.Errorf("the registry's snapshot is damaged (%w) and cannot be moved away: %w", err, moveErr)
		}
		r.log.Error("the registry's snapshot is damaged and was set aside; starting with what has changed since, heart-beats and renewals bring everything back", "err", err, "file", where)
		r.damaged = true
		return r.openJournal(0)
	}
	r.mu.Lock()
	r.restoreLocked(st)
	r.log.Info("snapshot loaded", "saved", st.Saved, "services", len(r.services), "owners", len(r.owners))
	r.mu.Unlock()
	return r.openJournal(st.Journal)
}

type newerFormatError struct{ format int }

func (e *newerFormatError) Error() string {
	return fmt.Sprintf("the registry's snapshot has format %d and this program knows format %d: start the newer program, or move the snapshot away to start empty", e.format, snapshotFormat)
}

func parseSnapshot(file []byte) (st savedState, err error) {
	head, body, _ := bytes.Cut(file, []byte("\n"))
	var magic string
	var format int
	var sum uint32
	if n, _ := fmt.Sscanf(string(head), "%s %d %x", &magic, &format, &sum); n < 2 || magic != snapshotMagic {
		return st, errors.New("it does not begin as a snapshot does")
	}
	if format > snapshotFormat {
		return st, &newerFormatError{format}
	}
	if got := crc32.ChecksumIEEE(body); got != sum {
		return st, fmt.Errorf("its checksum is %08x and should be %08x", got, sum)
	}
	return st, json.Unmarshal(body, &st)
}

// restoreLocked puts a loaded state in place, every lease and instance with a
// full time to live. What is not possible, or against the limits of today, is
// left out.
func (r *Registry) restoreLocked(st savedState) {
	r.revision = st.Revision + revisionGap
	type leaseName struct {
		key         ownerKey
		incarnation uint32
	}
	leases := make(map[leaseName]*lease)
	slices.SortFunc(st.Owners, func(a, b savedOwner) int { return cmp.Compare(a.Incarnation, b.Incarnation) }) // the newest is the owner's
	for _, so := range st.Owners {
		k := ownerKey{so.Cluster, so.Bridge}
		ow := r.owners[k]
		if r.limits.checkOwner(rc.Owner{Cluster: so.Cluster, Bridge: so.Bridge, Incarnation: so.Incarnation}) != nil || r.limits.checkTTL(so.TTL) != nil || ow != nil && ow.incarnation >= so.Incarnation {
			continue
		}
		if ow == nil {
			ow = &owner{key: k}
			r.owners[k] = ow
		}
		ow.incarnation = so.Incarnation
		leases[leaseName{k, so.Incarnation}] = r.openLeaseLocked(ow, so.TTL)
	}
	for _, ss := range st.Services {
		key := rc.Service{Namespace: ss.Namespace, Group: ss.Group, Name: ss.Name}
		if r.limits.checkService(key) != nil {
			continue
		}
		sv := r.serviceLocked(key)
		for _, n := range ss.Native {
			if r.limits.checkInstance(n.Instance) == nil && r.limits.checkTTL(n.TTL) == nil && sv.native[n.Instance.Address()] == nil {
				r.addNativeLocked(sv, &native{instance: n.Instance, ttl: n.TTL})
			}
		}
		for _, o := range ss.Owned {
			k := ownerKey{o.Cluster, o.Bridge}
			if l := leases[leaseName{k, o.Incarnation}]; l != nil && sv.owned[k] == nil {
				r.putOwnedLocked(sv, l, &owned{lease: l, generation: o.Generation, instances: r.possible(o.Instances)})
			}
		}
		if sv.count > 0 {
			r.listChangedLocked(sv)
		}
		r.tidyLocked(sv)
	}
}

// possible gives the instances that pass the limits, sorted.
func (r *Registry) possible(list []rc.Instance) []rc.Instance {
	list = slices.DeleteFunc(list, func(i rc.Instance) bool { return r.limits.checkInstance(i) != nil })
	slices.SortFunc(list, rc.Instance.Compare)
	return slices.CompactFunc(list, rc.Instance.Equal)
}
