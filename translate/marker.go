package translate

// MarkerKey is the metadata key under which a bridge marks what it published.
const MarkerKey = "zkb"

// Marker is what a bridge writes into the metadata of each instance that it
// publishes: "1.<flags>.<cluster>.<fingerprint>".
type Marker struct {
	Flags       string // one letter each, see the Flag constants
	Cluster     string // id of the bridge cluster that published it
	Fingerprint string // first 12 hex digits of the SHA-256 of the znode's name
}

// The flags of a marker.
const (
	FlagJava       = 'j' // the name is escaped as Java does
	FlagGo         = 'g' // the name is escaped as Go does
	FlagPersistent = 'p' // the provider asked for a persistent node (dynamic=false)
	FlagStored     = 'x' // the name cannot be rebuilt from the instance: only the stored one is exact
)

// ParseMarker gives the marker in an instance's metadata. It is false where
// there is none or none that this version understands.
func ParseMarker(metadata map[string]string) (Marker, bool) { return Marker{}, false }

// String gives the marker's text.
func (m Marker) String() string { return "" }
