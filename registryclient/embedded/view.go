package embedded

import (
	"cmp"
	"encoding/json"
	"sync"
	"time"

	rc "zkbridge/registryclient"
)

// record is an instance with whose it is: a native one has a ttl and no owner.
type record struct {
	rc.Instance
	owner ownerKey
	ttl   time.Duration
}

// compare orders records by instance, natives before owners' ones.
func (a record) compare(b record) int {
	return cmp.Or(a.Instance.Compare(b.Instance), cmp.Compare(a.owner.cluster, b.owner.cluster), cmp.Compare(a.owner.bridge, b.owner.bridge))
}

// view is the list of a service at one revision. It is shared by all readers
// and never changes; each of its encoded forms is made once, by the first who
// needs it.
type view struct {
	service  rc.Service
	revision uint64
	records  []record

	allOnce, listOnce sync.Once
	all, list         []byte
}

// snapshot gives the list as the client of owner sees it: all records, equal
// ones of others merged.
func (v *view) snapshot(owner ownerKey) rc.Snapshot {
	s := rc.Snapshot{Service: v.service, Revision: v.revision, Instances: make([]rc.Observed, 0, len(v.records))}
	for _, r := range v.records {
		s.Instances = appendObserved(s.Instances, r.Instance, r.owner, owner)
	}
	return s
}

// appendObserved adds an instance that comes in the order of record.compare,
// unless an equal one of the same side is there already.
func appendObserved(list []rc.Observed, i rc.Instance, holder, reader ownerKey) []rc.Observed {
	o := rc.Observed{Instance: i, Own: rc.No}
	if holder == reader {
		o.Own = rc.Yes
	}
	for k := len(list) - 1; k >= 0 && list[k].Instance.Equal(i); k-- {
		if list[k].Own == o.Own {
			return list
		}
	}
	return append(list, o)
}

// merged gives the list for native readers: one record an address, an
// application's own before any that a bridge published for it.
func (v *view) merged() []record {
	best := make(map[string]int, len(v.records))
	list := make([]record, 0, len(v.records))
	for _, r := range v.records {
		at, double := best[r.Address()]
		switch {
		case !double:
			best[r.Address()] = len(list)
			list = append(list, r)
		case r.owner == (ownerKey{}) && list[at].owner != (ownerKey{}):
			list[at] = r
		}
	}
	return list
}

// body gives the encoded InstanceList: of all records, or merged.
func (v *view) body(all bool) []byte {
	if all {
		v.allOnce.Do(func() { v.all = v.encode(v.records) })
		return v.all
	}
	v.listOnce.Do(func() { v.list = v.encode(v.merged()) })
	return v.list
}

func (v *view) encode(records []record) []byte {
	l := InstanceList{Namespace: v.service.Namespace, Group: v.service.Group, Service: v.service.Name, Revision: v.revision, Instances: make([]Record, 0, len(records))}
	for _, r := range records {
		l.Instances = append(l.Instances, wireRecord(r))
	}
	b, err := json.Marshal(l)
	if err != nil { // strings, numbers and maps of strings: weights are checked to be finite
		panic("encoding an instance list: " + err.Error())
	}
	return b
}
