package translate

import "zkbridge/registryclient"

// Kind is what a path below a root is to a layout.
type Kind uint8

const (
	KindElsewhere  Kind = iota // nothing of this layout: metadata, configuration, mapping, junk
	KindRoot                   // the root itself
	KindServiceDir             // the directory of one service
	KindBoundDir               // a directory whose children are addresses
	KindAddress                // a child of a bound directory
	KindCategory               // directories and nodes of a service that stay local: consumers, configurators, routers

	// Documents: they have one home and versions, and are never instances. See DocumentAt.
	KindConfig     // a key of the configuration centre
	KindMapping    // the applications that offer an interface; also the directory of its 2.7 form
	KindDefinition // the definition of a service
	KindMetadata   // what one revision of an application offers
)

// Document tells whether a node of the kind is a document.
func (k Kind) Document() bool { return k >= KindConfig }

// String gives the kind as words for people.
func (k Kind) String() string {
	switch k {
	case KindElsewhere:
		return "elsewhere"
	case KindRoot:
		return "root"
	case KindServiceDir:
		return "service directory"
	case KindBoundDir:
		return "bound directory"
	case KindAddress:
		return "address"
	case KindCategory:
		return "local category"
	case KindConfig:
		return "configuration"
	case KindMapping:
		return "mapping"
	case KindDefinition:
		return "service definition"
	case KindMetadata:
		return "application metadata"
	}
	return "unknown kind"
}

// Place is a path below a root, classified by its form alone: by depth and
// names, never by data. Where several layouts share a root the data decide
// between them: see Among.
type Place struct {
	Kind    Kind
	Service string // interface, unescaped; empty at the root, elsewhere, and where Why says that the name is none
	Dir     string // bound directory, address: the bound directory below the root, byte for byte, such as "com.acme.Foo/providers"
	Name    string // address: the last segment, byte for byte
	Why     string // elsewhere, category, or a directory whose name is no interface: what it is and why it is not translated
}

// Layout translates between the znodes below a root and the registry.
type Layout interface {
	// Name is the word by which the configuration asks for the layout.
	Name() string
	// Classify says what the path rel is. It is the part below the root without
	// a leading slash; "" is the root itself.
	Classify(rel string) Place
	// FromZnode gives the registry entry for a znode that Classify calls an
	// address. The error, always a *Refusal, says why it is not published; the
	// znode itself works on.
	FromZnode(rel string, data []byte) (Entry, error)
	// ToZnode gives the znode for an instance found under the registry's service
	// name. For an instance that carries the marker of a bridge it is the name
	// which the client wrote whenever the metadata still tells it; for any other
	// it is made up, and always the same. The error, always a *Refusal, says why the
	// instance is not shown.
	ToZnode(service string, in registryclient.Instance) (Znode, error)
	// Wants tells whether the registry's service name belongs to this layout.
	Wants(serviceName string) bool
}

// Address is what discovery is about, without the space: who is reached where.
// Two registrations with equal addresses are the same provider, whichever side
// they come from and however they are spelt. It is comparable.
type Address struct {
	Service  string // service key: "interface:version:group", colons kept
	Protocol string
	Host     string // lower case; an IPv6 address in its shortest form without brackets
	Port     int    // 1 to 65535
	Path     string // without a leading slash; the interface where nothing is given
}

// Entry is a znode as the registry sees it.
type Entry struct {
	Service  string // the registry's service name, "providers:interface:version:group"
	Address  Address
	Instance registryclient.Instance
	// Exact: ToZnode gives the same directory and name from Instance, byte for
	// byte. Otherwise only the stored name is exact.
	Exact bool
}

// Znode is an instance as ZooKeeper's clients see it.
type Znode struct {
	Dir     string // below the root, such as "com.acme.Foo/providers"
	Name    string
	Data    []byte // the instance's address, as Dubbo's own clients write it
	Address Address
	// Dropped lists the metadata keys, sorted, that cannot stand in a URL and
	// are missing from Name.
	Dropped []string
}
