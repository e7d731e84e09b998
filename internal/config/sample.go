package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Sample is the whole configuration as YAML: every key, its default, its
// sentence. Loading it gives Default().
func Sample() string { return sampleHeader + YAML(Default(), true) }

const sampleHeader = `# zkbridge: every key with its default. A file needs only what differs.
# Flags (--server.listen) and the environment (ZKBRIDGE_SERVER_LISTEN) win over it.
`

// YAML renders c, with the documentation of every key if documented.
func YAML(c Config, documented bool) string {
	var b strings.Builder
	writeStruct(&b, reflect.ValueOf(c), "", documented)
	return b.String()
}

func writeStruct(b *strings.Builder, v reflect.Value, indent string, documented bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, value := f.Tag.Get("mapstructure"), v.Field(i)
		if documented {
			if indent == "" {
				b.WriteString("\n")
			}
			for _, line := range strings.Split(f.Tag.Get("doc"), "\n") {
				fmt.Fprintf(b, "%s# %s\n", indent, line)
			}
		}
		switch {
		case f.Type.Kind() == reflect.Struct:
			fmt.Fprintf(b, "%s%s:\n", indent, name)
			writeStruct(b, value, indent+"  ", documented)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			fmt.Fprintf(b, "%s%s:\n", indent, name)
			for j := range value.Len() {
				var item strings.Builder
				writeStruct(&item, value.Index(j), indent+"    ", documented && j == 0)
				fmt.Fprintf(b, "%s  -\n%s", indent, item.String())
			}
		default:
			fmt.Fprintf(b, "%s%s: %s\n", indent, name, scalar(value))
		}
	}
}

func scalar(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case string:
		return fmt.Sprintf("%q", x)
	case time.Duration:
		return x.String()
	case []string:
		quoted := make([]string, len(x))
		for i, s := range x {
			quoted[i] = fmt.Sprintf("%q", s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	default:
		return fmt.Sprint(x)
	}
}
