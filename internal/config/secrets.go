package config

import (
	"reflect"
	"strings"
)

// hidden stands where a secret was.
const hidden = "(hidden)"

// WithoutSecrets is c as it may be shown: what a key holds whose name ends in
// token, digest, password or secret is replaced, if it is not empty.
func (c Config) WithoutSecrets() Config {
	hide(reflect.ValueOf(&c).Elem())
	return c
}

func hide(v reflect.Value) {
	for i := range v.NumField() {
		name, field := strings.ToLower(v.Type().Field(i).Name), v.Field(i)
		switch {
		case field.Kind() == reflect.Struct:
			hide(field)
		case field.Kind() != reflect.String || field.String() == "":
		case strings.HasSuffix(name, "token"), strings.HasSuffix(name, "digest"), strings.HasSuffix(name, "password"), strings.HasSuffix(name, "secret"):
			field.SetString(hidden)
		}
	}
}
