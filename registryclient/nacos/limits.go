package nacos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	rc "zkbridge/registryclient"
)

// Limits of the server's parameter check (nacos.core.param.check.enabled, on
// from 2.3.0). They are kept towards older servers too: a name that a newer one refuses
// would be in the way of an upgrade.
const (
	maxNamespace = 64
	maxGroup     = 128
	maxName      = 512
	maxCluster   = 64
	maxIP        = 128
	maxWeight    = 10000
	maxDataID    = 255 // the check says 256, but the row is then lost in the database
)

func letterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// madeOf tells whether s has letters, digits and the signs only.
func madeOf(s, signs string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !letterOrDigit(r) && !strings.ContainsRune(signs, r) })
}

// checkGroup tells what is wrong with a namespace or a group, "" if nothing is.
func checkGroup(namespace, group string) string {
	switch {
	case namespace == "":
		return "the namespace is empty; Nacos's default one is called public"
	case len(namespace) > maxNamespace || !madeOf(namespace, "-_"):
		return fmt.Sprintf("the namespace %q has more than %d characters or others than letters, digits, - and _", namespace, maxNamespace)
	case group == "":
		return "the group is empty; Nacos's default one is called DEFAULT_GROUP"
	case len(group) > maxGroup || !madeOf(group, "-_:."):
		return fmt.Sprintf("the group %q has more than %d characters or others than letters, digits, - _ : and .", group, maxGroup)
	}
	return ""
}

// checkService tells what is wrong with the names of a service.
func checkService(s rc.Service) string {
	if why := checkGroup(s.Namespace, s.Group); why != "" {
		return why
	}
	switch n := s.Name; {
	case n == "":
		return "the name of the service is empty"
	case len(utf16.Encode([]rune(n))) > maxName:
		return fmt.Sprintf("the name of the service has more than %d characters", maxName)
	case strings.ContainsFunc(n, func(r rune) bool { return unicode.IsSpace(r) || r < ' ' }):
		return fmt.Sprintf("the name of the service %q has white space in it", n)
	case strings.HasPrefix(n, "@") || strings.Contains(n, "@@"):
		return fmt.Sprintf("the name of the service %q begins with @ or has @@ in it", n)
	}
	return ""
}

// checkInstance tells what is wrong with an instance, metadata aside.
func checkInstance(i rc.Instance) string {
	switch {
	case i.IP == "" || len(i.IP) > maxIP || strings.ContainsFunc(i.IP, unicode.IsSpace):
		return fmt.Sprintf("the address %q is empty, has more than %d characters or white space in it", i.IP, maxIP)
	case i.Port < 0 || i.Port > 65535:
		return fmt.Sprintf("%s: the port is not between 0 and 65535", i.Address())
	case len(i.Cluster) > maxCluster || !madeOf(i.Cluster, "-"):
		return fmt.Sprintf("%s: the cluster %q has more than %d characters or others than letters, digits and -", i.Address(), i.Cluster, maxCluster)
	case math.IsNaN(i.Weight) || i.Weight < 0 || i.Weight > maxWeight:
		return fmt.Sprintf("%s: the weight %v is not between 0 and %d", i.Address(), i.Weight, maxWeight)
	}
	return ""
}

// metadataSize is the number of characters that the server counts: UTF-16 units
// of keys and values.
func metadataSize(m map[string]string) (n int) {
	for k, v := range m {
		n += len(utf16.Encode([]rune(k))) + len(utf16.Encode([]rune(v)))
	}
	return n
}

// fit leaves out of the metadata of i, which it may change, what may be left out,
// until it is within the limit. It tells whether it did, and what is wrong if that was not enough.
func (c Config) fit(i rc.Instance) (dropped bool, why string) {
	if c.MetadataLimit < 0 {
		return false, ""
	}
	size := metadataSize(i.Metadata)
	for _, key := range c.DropMetadata {
		if size <= c.MetadataLimit {
			break
		}
		if v, ok := i.Metadata[key]; ok {
			size -= metadataSize(map[string]string{key: v})
			delete(i.Metadata, key)
			dropped = true
		}
	}
	if size > c.MetadataLimit {
		return dropped, fmt.Sprintf("%s: its metadata has %d characters and Nacos takes %d; raise nacos.naming.service.metadata.length (from 2.5 on), or let keys be dropped (registry.nacos.dropMetadata)",
			i.Address(), size, c.MetadataLimit)
	}
	return dropped, ""
}

// prepare gives the list of a publication as it is sent: a copy, sorted, each
// instance once. An error names the first instance that Nacos would refuse.
func (c *Client) prepare(p rc.Publication) ([]rc.Instance, error) {
	invalid := func(why string) error {
		return &rc.Error{Op: "publish", Service: p.Service, Kind: rc.Invalid, Err: fmt.Errorf("%s", why)}
	}
	if p.Owner != c.cfg.Owner {
		return nil, invalid(fmt.Sprintf("the publication is owned by %s and the client by %s", p.Owner, c.cfg.Owner))
	}
	if why := checkService(p.Service); why != "" {
		return nil, invalid(why)
	}
	list := make([]rc.Instance, len(p.Instances))
	for n, i := range p.Instances {
		if why := checkInstance(i); why != "" {
			return nil, invalid(why)
		}
		i = i.Clone()
		dropped, why := c.cfg.fit(i)
		if why != "" {
			return nil, invalid(why)
		}
		if dropped {
			c.counters.metadataDropped.Add(1)
		}
		list[n] = i
	}
	slices.SortFunc(list, rc.Instance.Compare)
	return slices.CompactFunc(list, rc.Instance.Equal), nil
}
