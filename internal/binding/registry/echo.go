package registry

import (
	"time"

	"zkbridge/internal/claims"
	"zkbridge/registryclient"
	"zkbridge/translate"
)

// echo tells our own instances from those of others in what the registry
// lists. What we published is never a registry claim, else the two sides would
// keep each other's copies alive.
type echo struct {
	table   *Table
	cluster string
}

// foreign gives the instances of a list that are not ours, how many are, and
// when to ask again because something is taken for ours only for now; zero: not.
//
// Where the registry says whose an instance is, that counts. Else it is ours if
// it has the marker of our cluster, or if we publish that ip and port, or did
// less than five minutes ago: registries lose metadata. But not if a second one
// of that ip and port stands beside it with our marker: then it is somebody
// else's, and stays that for as long as it is there. And what comes back without
// a marker, after the registry has shown that ours was gone, is somebody else's:
// the provider has moved to the registry.
func (e *echo) foreign(s registryclient.Snapshot) (list []registryclient.Instance, own int, again time.Time) {
	var unknown map[string][]registryclient.Instance
	asked := false
	for _, o := range s.Instances {
		switch o.Own {
		case registryclient.Yes:
			own++
		case registryclient.No:
			list = append(list, o.Instance)
		default:
			if unknown == nil {
				unknown = make(map[string][]registryclient.Instance)
			}
			at := claims.Endpoint(o.Instance)
			unknown[at] = append(unknown[at], o.Instance)
		}
		asked = asked || o.Own != registryclient.Unknown
	}
	if asked && unknown == nil {
		return list, own, again
	}
	more, ours, again := e.table.sort(s.Service, unknown, e.marked, time.Now())
	return append(list, more...), own + ours, again
}

// marked tells whether an instance has the marker of our cluster.
func (e *echo) marked(in registryclient.Instance) bool {
	m, ok := translate.ParseMarker(in.Metadata)
	return ok && m.Cluster == e.cluster
}

// sort gives the instances of a whole list, by endpoint, that are somebody
// else's, and remembers what the list shows.
func (t *Table) sort(svc registryclient.Service, byEndpoint map[string][]registryclient.Instance, marked func(registryclient.Instance) bool, now time.Time) (foreign []registryclient.Instance, own int, again time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at, list := range byEndpoint {
		var plain []registryclient.Instance
		for _, in := range list {
			if marked(in) {
				own++
			} else {
				plain = append(plain, in)
			}
		}
		e := t.entries[svc][at]
		s := e.State
		if (s == withdrawn || s == seenGone) && now.Sub(e.When) >= rememberWithdrawn {
			t.setLocked(svc, at, entry{})
			s = ""
		}
		if s == published {
			e.seen, e.absent = true, false
			t.entries[svc][at] = e
		}
		switch {
		case len(plain) == 0:
			if s == native {
				t.setLocked(svc, at, entry{State: published})
			}
		case s == "":
			foreign = append(foreign, plain...)
		case len(plain) < len(list), s == native, s == seenGone:
			foreign = append(foreign, plain...)
			t.setLocked(svc, at, entry{State: native})
		default: // one of them is ours, stripped of its marker
			own++
			if len(plain) > 1 {
				foreign = append(foreign, plain[1:]...)
				t.setLocked(svc, at, entry{State: native})
				break
			}
			until := now.Add(rememberWithdrawn)
			if s == withdrawn {
				until = e.When.Add(rememberWithdrawn)
			}
			if again.IsZero() || until.Before(again) {
				again = until
			}
		}
	}
	for at, e := range t.entries[svc] {
		if len(byEndpoint[at]) > 0 {
			continue
		}
		switch e.State {
		case published:
			e.absent = e.seen
			t.entries[svc][at] = e
		case native:
			t.setLocked(svc, at, entry{})
		case withdrawn:
			t.setLocked(svc, at, entry{State: seenGone, When: e.When})
		}
	}
	return foreign, own, again
}
