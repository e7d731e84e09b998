package translate

// Reason is the cause of a refusal: a word from a closed set, fit to be the
// label of a counter.
type Reason string

const (
	ReasonName        Reason = "name"         // not a URL, or broken escapes
	ReasonOverEncoded Reason = "over-encoded" // escaped more than once: somebody's copying tool
	ReasonNotProvider Reason = "not-provider" // consumer://, override://, route://, another category
	ReasonInterface   Reason = "interface"    // no legal interface name, or not that of the directory or service
	ReasonServiceKey  Reason = "service-key"  // version or group that no service name can hold
	ReasonHost        Reason = "host"         // no host, or not one that a URL can hold
	ReasonZone        Reason = "ipv6-zone"    // an IPv6 zone id, which means something on one machine only
	ReasonPort        Reason = "port"         // missing or out of range
	ReasonPath        Reason = "path"         // a path that cannot stand in a URL
	ReasonPayload     Reason = "payload"      // the node's data are not the JSON of an instance
	ReasonFamily      Reason = "family"       // an instance of another family of applications, whose class readers of the layout cannot read
	ReasonService     Reason = "service"      // no name that an application of the registry can have
	ReasonDisabled    Reason = "disabled"     // the instance is disabled or has weight 0: not shown, nothing is wrong
)

// Refusal says why a znode is not published or an instance is not shown.
type Refusal struct {
	Reason Reason
	Text   string // for people: what is wrong, and with what
}

// Error gives the text.
func (r *Refusal) Error() string { return r.Text }
