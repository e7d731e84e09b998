package embedded

import (
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	rc "zkbridge/registryclient"
)

// Limits bound what the registry accepts. A zero field means its default.
type Limits struct {
	Namespace int // characters of a namespace; 64
	Group     int // characters of a group; 128
	Service   int // characters of a service name; 512
	Services  int // services that have instances; 100,000
	Instances int // instances of one service, all publishers together; 10,000
	Watches   int // subscriptions at one time, over HTTP and in process; 10,000
	Body      int // bytes of a native registration; 256 KiB
	OwnerBody int // bytes of an owner's list; 16 MiB
	// Metadata is the sum of characters of an instance's keys and values; 0, the
	// default, means no limit of its own. Nacos refuses more than 1024: set that to find
	// out early what would not fit there.
	Metadata int

	MinTTL     time.Duration // shortest time to live; 1 s
	DefaultTTL time.Duration // of a native instance that names none; 30 s
	MaxTTL     time.Duration // longest time to live; 24 h
}

func (l Limits) withDefaults() Limits {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&l.Namespace, 64)
	def(&l.Group, 128)
	def(&l.Service, 512)
	def(&l.Services, 100_000)
	def(&l.Instances, 10_000)
	def(&l.Watches, 10_000)
	def(&l.Body, 256<<10)
	def(&l.OwnerBody, 16<<20)
	for p, v := range map[*time.Duration]time.Duration{&l.MinTTL: time.Second, &l.DefaultTTL: 30 * time.Second, &l.MaxTTL: 24 * time.Hour} {
		if *p <= 0 {
			*p = v
		}
	}
	return l
}

// checkGroup validates a namespace and a group: the alphabets are those that
// Nacos 2.3.2 accepts, so that whatever is accepted here can move there.
func (l Limits) checkGroup(namespace, group string) *Problem {
	if p := checkWord("namespace", namespace, "-_", l.Namespace); p != nil {
		return p
	}
	return checkWord("group", group, "-_:.", l.Group)
}

func checkWord(what, s, extra string, limit int) *Problem {
	if s == "" {
		return problem(codeInvalid, "name the "+what, "the %s is empty", what)
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return problem(codeLimit, "choose a shorter "+what, "the %s has %d characters, the limit is %d", what, n, limit)
	}
	for _, c := range s {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune(extra, c)) {
			return problem(codeInvalid, "use A-Z a-z 0-9 and "+strings.Join(strings.Split(extra, ""), " "), "the %s %q has the character %q", what, s, c)
		}
	}
	return nil
}

// checkService validates all three parts of a service.
func (l Limits) checkService(s rc.Service) *Problem {
	if p := l.checkGroup(s.Namespace, s.Group); p != nil {
		return p
	}
	const remedy = "use a name without white space and control characters, not \".\" or \"..\", without \"@@\" and not starting with \"@\""
	switch n := utf8.RuneCountInString(s.Name); {
	case s.Name == "":
		return problem(codeInvalid, "name the service", "the service name is empty")
	case n > l.Service:
		return problem(codeLimit, "choose a shorter service name", "the service name has %d characters, the limit is %d", n, l.Service)
	case !utf8.ValidString(s.Name), s.Name == ".", s.Name == "..", s.Name[0] == '@', strings.Contains(s.Name, "@@"),
		strings.ContainsFunc(s.Name, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }):
		return problem(codeInvalid, remedy, "the service name %q is not allowed", s.Name)
	}
	return nil
}

// checkInstance validates one instance.
func (l Limits) checkInstance(i rc.Instance) *Problem {
	switch {
	case i.IP == "", utf8.RuneCountInString(i.IP) > 128, !utf8.ValidString(i.IP),
		strings.ContainsFunc(i.IP, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("/[]", c) }):
		return problem(codeInvalid, "give an IP address or a host name of at most 128 characters", "the address %q is not allowed", i.IP)
	case i.Port < 0 || i.Port > 65535:
		return problem(codeInvalid, "give a port from 0 to 65535", "the port of %s is %d", i.IP, i.Port)
	case math.IsNaN(i.Weight) || i.Weight < 0 || i.Weight > 10_000:
		return problem(codeInvalid, "give a weight from 0 to 10000", "the weight of %s is %v", i.Address(), i.Weight)
	}
	if i.Cluster != "" {
		if p := checkWord("cluster", i.Cluster, "-", 64); p != nil {
			return p
		}
	}
	if n := metadataChars(i.Metadata); l.Metadata > 0 && n > l.Metadata {
		return problem(codeLimit, "publish fewer parameters, or raise the registry's metadata limit",
			"the metadata of %s has %d characters in keys and values, the limit is %d", i.Address(), n, l.Metadata)
	}
	for k, v := range i.Metadata {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return problem(codeInvalid, "send metadata as UTF-8 text", "the metadata entry %q of %s is not UTF-8", k, i.Address())
		}
	}
	return nil
}

func metadataChars(m map[string]string) (n int) {
	for k, v := range m {
		n += utf8.RuneCountInString(k) + utf8.RuneCountInString(v)
	}
	return n
}

// checkTTL validates a time to live.
func (l Limits) checkTTL(ttl time.Duration) *Problem {
	if ttl < l.MinTTL || ttl > l.MaxTTL {
		return problem(codeInvalid, "choose a ttl from "+l.MinTTL.String()+" to "+l.MaxTTL.String(), "the ttl %v is out of range", ttl)
	}
	return nil
}

// checkOwner validates the name of an owner.
func (l Limits) checkOwner(o rc.Owner) *Problem {
	if p := checkWord("owner's cluster", o.Cluster, "-_.", 64); p != nil {
		return p
	}
	if o.Cluster == "." || o.Cluster == ".." {
		return problem(codeInvalid, "choose another cluster id", "the owner's cluster %q is not allowed", o.Cluster)
	}
	if o.Bridge == 0 || o.Bridge == 255 {
		return problem(codeInvalid, "choose a bridge id from 1 to 254", "the owner's bridge id is %d", o.Bridge)
	}
	if o.Incarnation == 0 {
		return problem(codeInvalid, "count incarnations from 1", "the owner's incarnation is 0")
	}
	return nil
}
