package translate

import "zkbridge/registryclient"

// Dubbo is the layout of Dubbo's interface-level registration. It is immutable
// and safe for concurrent use.
type Dubbo struct {
	cluster string
}

var _ Layout = (*Dubbo)(nil)

// NewDubbo gives the layout for a bridge of the given cluster, whose id goes
// into the marker of what is published.
func NewDubbo(clusterID string) *Dubbo { return &Dubbo{cluster: clusterID} }

// Name is "dubbo".
func (d *Dubbo) Name() string { return "dubbo" }

// Classify implements Layout.
func (d *Dubbo) Classify(rel string) Place { return Place{} }

// FromZnode implements Layout. The data of a provider's znode means nothing.
func (d *Dubbo) FromZnode(rel string, data []byte) (Entry, error) { return Entry{}, &Refusal{} }

// ToZnode implements Layout.
func (d *Dubbo) ToZnode(service string, in registryclient.Instance) (Znode, error) {
	return Znode{}, &Refusal{}
}

// Wants implements Layout.
func (d *Dubbo) Wants(serviceName string) bool { return false }
