package adminserver

import (
	"encoding/json"
	"strconv"
	"strings"
)

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	key   string
	value any // object, list, double, nil, or what encoding/json writes on one line
}

// list is a JSON array.
type list []any

// double is a number that is written with decimals even where it is whole, as
// Java writes a double.
type double float64

// render writes v in the form that ZooKeeper's JSON has: two blanks for each
// level, a blank on both sides of colons, arrays on one line.
func render(b *strings.Builder, v any, indent string) {
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			b.WriteString("{ }")
			return
		}
		b.WriteString("{")
		for i, m := range v {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n" + indent + "  " + quote(m.key) + " : ")
			render(b, m.value, indent+"  ")
		}
		b.WriteString("\n" + indent + "}")
	case list:
		if len(v) == 0 {
			b.WriteString("[ ]")
			return
		}
		b.WriteString("[ ")
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			render(b, e, indent)
		}
		b.WriteString(" ]")
	case string:
		b.WriteString(quote(v))
	case double:
		text := strconv.FormatFloat(float64(v), 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		b.WriteString(text)
	default:
		text, err := json.Marshal(v)
		if err != nil { // a value that no command makes
			text = []byte("null")
		}
		b.Write(text)
	}
}

// quote is encoding/json's, without its escapes for HTML.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
