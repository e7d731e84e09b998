package claims

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"zkbridge/registryclient"
	"zkbridge/translate"
)

// Address is what discovery is about: who is reached where, in which space and
// below which root. It is comparable.
type Address struct {
	Space string
	Root  string // whole path of the root, patterns resolved
	translate.Address
}

// String gives "protocol://host:port/path (service)".
func (a Address) String() string {
	host := a.Host
	if strings.IndexByte(host, ':') >= 0 {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s://%s:%d/%s (%s)", a.Protocol, host, a.Port, a.Path, a.Service)
}

// Source is the side that a claim was born on.
type Source uint8

const (
	Session  Source = iota + 1 // a client of the bridge made the node, ephemeral or persistent
	Ensemble                   // the existing ensemble shows it
	Registry                   // the registry lists it, and it is not ours
)

// String gives the source as a word.
func (s Source) String() string {
	switch s {
	case Session:
		return "session"
	case Ensemble:
		return "ensemble"
	case Registry:
		return "registry"
	}
	return "unknown source"
}

// Tenure says under which ownership a session acted when it made a claim. Its
// fields are those of sessions.Tenure, which converts into it.
type Tenure struct {
	Epoch       uint32
	Zxid        int64 // of the transaction that opened the session; 0 where that was not seen
	Bridge      uint8
	Incarnation uint32
}

// Compare orders tenures of one session.
func (t Tenure) Compare(o Tenure) int {
	return cmp.Or(cmp.Compare(t.Epoch, o.Epoch), cmp.Compare(t.Zxid, o.Zxid),
		cmp.Compare(t.Bridge, o.Bridge), cmp.Compare(t.Incarnation, o.Incarnation))
}

// Generation tells apart two claims of one path or address: a removal that
// belongs to an older generation cannot hit a newer one.
type Generation struct {
	Tenure Tenure // of the owner; zero for persistent nodes and registry claims
	Czxid  int64  // of the node; of a registry claim the zxid of the import that brought it
}

// Compare orders generations: the later made one is the greater.
func (g Generation) Compare(o Generation) int {
	return cmp.Or(cmp.Compare(g.Czxid, o.Czxid), g.Tenure.Compare(o.Tenure))
}

// String gives "czxid 0x..".
func (g Generation) String() string { return fmt.Sprintf("czxid 0x%x", g.Czxid) }

// Claim says that somebody vouches for an address. Once it is in a Book nothing
// of it changes but Deleted, which is the Book's own affair.
type Claim struct {
	Address    Address // without host and port where Refused says that the name is none
	Source     Source
	Owner      int64 // session that owns the node; 0: a persistent node; of a registry claim the bridge's reserved session
	Generation Generation
	Dir        string // whole path of the bound directory
	Name       string // exact, byte for byte
	Since      time.Time
	// First orders addresses by age: the zxid since which this address has been
	// claimed in its directory without a gap, by this claim or one before it.
	First int64
	// Held is the reason why the claim outlives its owner, or, of a registry claim,
	// why it stands although the registry lists it no more; "" if it does not.
	Held      string
	HeldSince time.Time

	Service  registryclient.Service  // where it is published, or where the registry lists it
	Instance registryclient.Instance // what is published, or what the registry lists; shared, read-only
	At       string                  // Endpoint of Instance
	// Refused says why the claim is not published or, for a registry claim, not
	// shown; "" if nothing is wrong with it.
	Refused string
	Reason  translate.Reason // of Refused, for counters

	path string // Path, where it is at hand; Dir and Name are parts of it then

	// For registry claims only.
	Data    []byte // of the node that stands for it
	Deleted bool   // a client deleted that node: not shown until the registry reports a change
}

// Path is the whole path of the claim's node; "" for a registry claim that has
// none.
func (c *Claim) Path() string {
	if c.path != "" {
		return c.path
	}
	if c.Name == "" {
		return ""
	}
	return c.Dir + "/" + c.Name
}

// Local tells whether the claim was born on ZooKeeper's side.
func (c *Claim) Local() bool { return c.Source != Registry }

// Endpoint gives an instance's ip and port in one spelling: a registry's service
// has room for one instance of each.
func Endpoint(in registryclient.Instance) string {
	in.IP = canonicalHost(in.IP)
	return in.Address()
}

func canonicalHost(host string) string {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.ToLower(host)
}
