package registryclient

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
)

// Service names one service of a registry. Its fields are exact strings: no
// backend fills in defaults, folds case or trims. It is comparable.
type Service struct {
	Namespace string
	Group     string
	Name      string
}

// String gives "namespace/group/name", for messages only.
func (s Service) String() string { return s.Namespace + "/" + s.Group + "/" + s.Name }

// Compare orders services by namespace, group and name.
func (s Service) Compare(o Service) int {
	return cmp.Or(cmp.Compare(s.Namespace, o.Namespace), cmp.Compare(s.Group, o.Group), cmp.Compare(s.Name, o.Name))
}

// Instance is one provider of a service, with the fields and the meaning that
// Nacos gives them. The zero value is a disabled, unhealthy instance of weight
// 0: whoever makes one sets Weight 1, Enabled and Healthy.
type Instance struct {
	IP       string  // textual address or host name, without brackets; not empty
	Port     int     // 0 to 65535
	Cluster  string  // part of a service, "" or "DEFAULT" where nobody cares
	Weight   float64 // share of the traffic, 0 to 10000; 0 means no traffic
	Enabled  bool    // false: the operator took it out
	Healthy  bool    // false: its check fails
	Metadata map[string]string
}

// Address gives "ip:port", with an IPv6 address in brackets.
func (i Instance) Address() string { return net.JoinHostPort(i.IP, strconv.Itoa(i.Port)) }

// Equal tells whether all fields are the same, metadata included; a nil map
// equals an empty one.
func (i Instance) Equal(o Instance) bool {
	return i.IP == o.IP && i.Port == o.Port && i.Cluster == o.Cluster && i.Weight == o.Weight &&
		i.Enabled == o.Enabled && i.Healthy == o.Healthy && maps.Equal(i.Metadata, o.Metadata)
}

// Clone gives a copy that shares no metadata with i.
func (i Instance) Clone() Instance {
	i.Metadata = maps.Clone(i.Metadata)
	return i
}

// Compare is a total order over instances that agrees with Equal: by address
// first, then by the other fields, metadata last in key order.
func (i Instance) Compare(o Instance) int {
	if c := cmp.Or(cmp.Compare(i.IP, o.IP), cmp.Compare(i.Port, o.Port), cmp.Compare(i.Cluster, o.Cluster),
		cmp.Compare(i.Weight, o.Weight), compareBool(i.Enabled, o.Enabled), compareBool(i.Healthy, o.Healthy)); c != 0 {
		return c
	}
	if len(i.Metadata) == 0 && len(o.Metadata) == 0 {
		return 0
	}
	a, b := slices.Sorted(maps.Keys(i.Metadata)), slices.Sorted(maps.Keys(o.Metadata))
	if c := slices.Compare(a, b); c != 0 {
		return c
	}
	for _, k := range a {
		if c := cmp.Compare(i.Metadata[k], o.Metadata[k]); c != 0 {
			return c
		}
	}
	return 0
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Owner names one publisher. (Cluster, Bridge) is its name; Incarnation counts
// its starts, and a higher one replaces a lower one: what the lower one left
// behind is overwritten service by service, and what is not overwritten ends
// with the lower one's lease or connection.
type Owner struct {
	Cluster     string // id of the bridge cluster, 1 to 64 of A-Z a-z 0-9 - _ .
	Bridge      uint8  // 1 to 254
	Incarnation uint32 // from 1
}

// Same tells whether both are the same publisher, whatever their incarnation.
func (o Owner) Same(p Owner) bool { return o.Cluster == p.Cluster && o.Bridge == p.Bridge }

// String gives "cluster/bridge#incarnation", for messages only.
func (o Owner) String() string {
	return o.Cluster + "/" + strconv.Itoa(int(o.Bridge)) + "#" + strconv.FormatUint(uint64(o.Incarnation), 10)
}

// Publication is everything that one owner publishes under one service. It
// replaces what that owner published there before; an empty list withdraws it.
type Publication struct {
	Owner
	Service
	Generation uint64 // rises with every change of the list, within one incarnation
	Instances  []Instance
}

// Ownership is what a registry says about whose record an instance is.
type Ownership uint8

const (
	Unknown Ownership = iota // the registry cannot say
	Yes                      // published by this client's owner, in whichever incarnation
	No                       // published by somebody else, another bridge included
)

// String gives "unknown", "yes" or "no".
func (o Ownership) String() string {
	switch o {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// Observed is an instance as the registry shows it. Unless the registry merges
// equal records, several may have the same address.
type Observed struct {
	Instance
	Own Ownership
}

// Snapshot is the whole list of a service at one moment, sorted by
// Instance.Compare, own records included. Receivers do not change it: it may
// be shared.
type Snapshot struct {
	Service
	Revision  uint64 // rises with changes where the registry counts, else 0; for logs, never a reason to drop a snapshot
	Instances []Observed
}

// Key names one document of a registry's key-value store. Its fields are exact
// strings, as those of Service; it is comparable. A name may hold any characters,
// slashes too; how long it may be is the backend's.
type Key struct {
	Namespace string
	Group     string
	Name      string
}

// String gives "namespace/group/name", for messages only.
func (k Key) String() string { return k.Namespace + "/" + k.Group + "/" + k.Name }

// Compare orders keys by namespace, group and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Group, o.Group), cmp.Compare(k.Name, o.Name))
}
