package nacos

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	rc "zkbridge/registryclient"
)

// How a document becomes a configuration. What Nacos can keep is kept as it is, so
// that native applications read and write the same; what it cannot is escaped.

const (
	// nothing is the content of a configuration whose document does not exist:
	// before it is created and after it was deleted. Nacos tells several that create a
	// configuration at once that they did, but of several that change one it
	// lets one win; so documents are created and deleted by changes.
	nothing = "zkb:none"
	// escaped begins the content of a document that Nacos would refuse (blank) or
	// change (not UTF-8), or that would be read as one of these two: base64 follows.
	escaped = "zkb:b64:"
)

// contentOf gives the content that stands for data.
func contentOf(data []byte) string {
	s := string(data)
	if strings.TrimFunc(s, unicode.IsSpace) == "" || !utf8.ValidString(s) || strings.HasPrefix(s, "zkb:") {
		return escaped + base64.StdEncoding.EncodeToString(data)
	}
	return s
}

// dataOf gives the data for which content stands; false: there is no document.
func dataOf(content string) ([]byte, bool) {
	if content == nothing {
		return nil, false
	}
	if text, ok := strings.CutPrefix(content, escaped); ok {
		if data, err := base64.StdEncoding.DecodeString(text); err == nil {
			return data, true
		}
	}
	return []byte(content), true
}

// marker begins the two hexadecimal digits of an escaped byte in a data id.
const marker = "_-"

// dataIDOf gives the data id for a name: letters, digits and - _ : . stand for
// themselves, any other byte is _-XX. So is the _ of a name that would read like that.
func dataIDOf(name string) (string, error) {
	var b strings.Builder
	for n := range len(name) {
		c := name[n]
		if letterOrDigit(rune(c)) || strings.IndexByte("-_:.", c) >= 0 && !isEscape(name[n:]) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%s%02X", marker, c)
		}
	}
	if b.Len() == 0 || b.Len() > maxDataID {
		return "", fmt.Errorf("the name %.80q makes a data id of %d characters, and Nacos keeps 1 to %d", name, b.Len(), maxDataID)
	}
	return b.String(), nil
}

// isEscape tells whether s begins with an escaped byte.
func isEscape(s string) bool {
	return len(s) >= 4 && s[:2] == marker && upperHex(s[2]) >= 0 && upperHex(s[3]) >= 0
}

func upperHex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// nameOf gives the name for which a data id stands.
func nameOf(id string) string {
	var b strings.Builder
	for n := 0; n < len(id); n++ {
		if isEscape(id[n:]) {
			b.WriteByte(byte(upperHex(id[n+2])<<4 | upperHex(id[n+3])))
			n += 3
		} else {
			b.WriteByte(id[n])
		}
	}
	return b.String()
}

// configKey is a key as Nacos's configuration service has it.
type configKey struct{ tenant, group, dataID string }

func (c configKey) fields() configFields {
	return configFields{DataID: c.dataID, Group: c.group, Tenant: c.tenant, Module: moduleConfig}
}

// tenantOf gives the name of a namespace there: the default one has none.
func tenantOf(namespace string) string {
	if namespace == "public" {
		return ""
	}
	return namespace
}

// configKeyOf gives the configuration of k.
func configKeyOf(k rc.Key) (configKey, error) {
	if why := checkGroup(k.Namespace, k.Group); why != "" {
		return configKey{}, fmt.Errorf("%s", why)
	}
	id, err := dataIDOf(k.Name)
	return configKey{tenantOf(k.Namespace), k.Group, id}, err
}
