package server

import (
	"encoding/asn1"
	"encoding/hex"
	"slices"
	"strings"
)

// attribute is one part of a distinguished name.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// attributeNames are the types that RFC 2253 has words for.
var attributeNames = map[string]string{
	"2.5.4.3":                    "CN",
	"2.5.4.6":                    "C",
	"2.5.4.7":                    "L",
	"2.5.4.8":                    "ST",
	"2.5.4.9":                    "STREET",
	"2.5.4.10":                   "O",
	"2.5.4.11":                   "OU",
	"0.9.2342.19200300.100.1.1":  "UID",
	"0.9.2342.19200300.100.1.25": "DC",
}

// distinguishedName writes a subject as ZooKeeper's x509 scheme has it: RFC 2253 as
// Java's X500Principal.getName() does, the last part first. A subject that cannot
// be read is "".
func distinguishedName(subject []byte) string {
	type set []attribute
	var rdns []asn1.RawValue
	if rest, err := asn1.Unmarshal(subject, &rdns); err != nil || len(rest) > 0 {
		return ""
	}
	parts := make([]string, 0, len(rdns))
	for _, rdn := range rdns {
		var attributes set
		if _, err := asn1.UnmarshalWithParams(rdn.FullBytes, (*[]attribute)(&attributes), "set"); err != nil {
			return ""
		}
		texts := make([]string, len(attributes))
		for i, a := range attributes {
			texts[i] = a.text()
		}
		parts = append(parts, strings.Join(texts, "+"))
	}
	slices.Reverse(parts)
	return strings.Join(parts, ",")
}

// text is type=value. Types without a word, and values that are not text, are
// written as numbers.
func (a attribute) text() string {
	name, known := attributeNames[a.Type.String()]
	if !known || a.Value.Class != asn1.ClassUniversal || !slices.Contains([]int{
		asn1.TagPrintableString, asn1.TagT61String, asn1.TagIA5String, asn1.TagGeneralString, asn1.TagBMPString, asn1.TagUTF8String,
	}, a.Value.Tag) {
		if !known {
			name = a.Type.String()
		}
		return name + "=#" + hex.EncodeToString(a.Value.FullBytes)
	}
	return name + "=" + escaped(strings.ToValidUTF8(string(a.Value.Bytes), "\uFFFD"))
}

// escaped is a value with what has a meaning in names escaped, and blanks at its
// ends.
func escaped(value string) string {
	runes := []rune(value)
	blank := func(r rune) bool { return r == ' ' || r == '\r' }
	lead, trail := 0, len(runes)-1
	for lead < len(runes) && blank(runes[lead]) {
		lead++
	}
	for trail >= 0 && blank(runes[trail]) {
		trail--
	}
	var b strings.Builder
	for i, r := range runes {
		switch {
		case r == 0:
			b.WriteString(`\00`)
			continue
		case i < lead, i > trail, strings.ContainsRune(`,=+<>#;"\`, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
