package znode

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// nameTypes are the words for parts of a distinguished name that Java's
// X500Principal knows.
var nameTypes = []string{
	"CN", "C", "L", "S", "ST", "O", "OU", "T", "IP", "STREET", "DC", "DNQUALIFIER", "DNQ", "SURNAME", "GIVENNAME", "INITIALS",
	"GENERATION", "EMAIL", "EMAILADDRESS", "UID", "SERIALNUMBER",
}

// validName wants a distinguished name that X500Principal can read
// (X509AuthenticationProvider.isValid): type=value joined by commas, semicolons or
// plus signs. The empty name is one.
func validName(name string) bool {
	if strings.TrimSpace(name) == "" {
		return true
	}
	parts, ok := nameParts(name)
	if !ok {
		return false
	}
	for _, part := range parts {
		kind, value, found := strings.Cut(part, "=")
		if !found || !validNameType(strings.TrimSpace(kind)) || !validNameValue(strings.TrimSpace(value)) {
			return false
		}
	}
	return true
}

// nameParts splits at what separates parts, not within quotes or behind a
// backslash.
func nameParts(name string) (parts []string, ok bool) {
	start, quoted := 0, false
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '\\':
			i++ // the next belongs to the value
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ';' || c == '+'):
			parts = append(parts, name[start:i])
			start = i + 1
		}
	}
	return append(parts, name[start:]), !quoted
}

// validNameType wants a known word or an object identifier.
func validNameType(kind string) bool {
	upper := strings.ToUpper(kind)
	if slices.Contains(nameTypes, upper) {
		return true
	}
	numbers := strings.Split(strings.TrimPrefix(upper, "OID."), ".")
	if len(numbers) < 2 {
		return false
	}
	for i, text := range numbers {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || i == 0 && n > 2 || i == 1 && n > 39 && numbers[0] != "2" {
			return false
		}
	}
	return true
}

// validNameValue wants a quoted value, # and hexadecimal, or text in which what
// has a meaning is escaped.
func validNameValue(value string) bool {
	if rest, ok := strings.CutPrefix(value, "#"); ok {
		b, err := hex.DecodeString(rest)
		return err == nil && len(b) > 0
	}
	if strings.HasPrefix(value, `"`) {
		return strings.HasSuffix(value, `"`) && len(value) > 1
	}
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\':
			if i++; i == len(value) {
				return false
			}
			if strings.IndexByte(`,=+<>#;"\ `, value[i]) >= 0 {
				continue
			}
			if i++; i == len(value) { // a byte in hexadecimal
				return false
			}
			if _, err := hex.DecodeString(value[i-1 : i+1]); err != nil {
				return false
			}
		case strings.IndexByte(`<>"`, c) >= 0:
			return false
		}
	}
	return true
}
