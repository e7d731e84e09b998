package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MarkerKey is the metadata key under which a bridge marks what it published.
// Dubbo 3 cuts parameters that end in "pid" or "timestamp" out of names; this
// one is safe, and never part of a name that this package makes.
const MarkerKey = "zkb"

// Marker is what a bridge writes into the metadata of each instance that it
// publishes: "1.<flags>.<cluster>.<fingerprint>". It says nothing about the
// bridge itself, so two bridges of a cluster publish equal records.
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

	FlagDubbo   = 'd' // x-discovery: an instance of Dubbo's application level
	FlagSpring  = 's' // x-discovery: of Spring Cloud
	FlagCurator = 'o' // x-discovery: of somebody else
	FlagEnabled = 'e' // x-discovery: with the field "enabled", which only Curator 2.12 writes
	FlagURISpec = 'u' // x-discovery: not the URI specification that is usual in the family (Dubbo: none)
)

const (
	markerVersion     = "1."
	fingerprintLength = 12
)

// ParseMarker gives the marker in an instance's metadata. It is false where
// there is none or none that this version understands.
func ParseMarker(metadata map[string]string) (Marker, bool) {
	rest, ok := strings.CutPrefix(metadata[MarkerKey], markerVersion)
	if !ok {
		return Marker{}, false
	}
	flags, rest, ok := strings.Cut(rest, ".")
	i := strings.LastIndexByte(rest, '.') // the cluster id may hold dots
	if !ok || flags == "" || i < 1 || len(rest)-i-1 != fingerprintLength {
		return Marker{}, false
	}
	for _, c := range flags {
		if c < 'a' || 'z' < c {
			return Marker{}, false
		}
	}
	m := Marker{Flags: flags, Cluster: rest[:i], Fingerprint: rest[i+1:]}
	if strings.Trim(m.Fingerprint, "0123456789abcdef") != "" {
		return Marker{}, false
	}
	return m, true
}

// String gives the marker's text.
func (m Marker) String() string {
	return markerVersion + m.Flags + "." + m.Cluster + "." + m.Fingerprint
}

// Has tells whether the flag is set.
func (m Marker) Has(flag byte) bool { return strings.IndexByte(m.Flags, flag) >= 0 }

// Fingerprint is the digest of a znode's name, without its directory, that
// stands in a marker.
func Fingerprint(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:fingerprintLength/2])
}
