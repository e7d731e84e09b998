package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// EnvPrefix begins the environment variable of every key.
const EnvPrefix = "ZKBRIDGE"

// Load reads path (none if empty), the environment and the flags that were
// changed, and returns a checked configuration. It keeps nothing: viper is made
// for this one call. Flags may be nil.
func Load(path string, flags *pflag.FlagSet) (Config, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter("."))
	v.SetEnvPrefix(EnvPrefix)
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	for _, k := range keys() {
		v.SetDefault(k.name, k.value)
		if err := v.BindEnv(k.name); err != nil {
			return Config{}, fmt.Errorf("bind %s to the environment: %w", k.name, err)
		}
		if flags == nil {
			continue
		}
		if f := flags.Lookup(k.name); f != nil {
			if err := v.BindPFlag(k.name, f); err != nil {
				return Config{}, fmt.Errorf("bind %s to its flag: %w", k.name, err)
			}
		}
	}
	v.SetDefault("spaces", nil)
	if path != "" {
		v.SetConfigFile(path)
		v.SetConfigType("yaml")
		if err := v.ReadInConfig(); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return Config{}, fmt.Errorf("configuration file %s does not exist; `zkbridge config sample` prints one", path)
			}
			return Config{}, fmt.Errorf("configuration file %s: %w", path, err)
		}
	}
	if err := checkEnvironment(os.Environ()); err != nil {
		return Config{}, fmt.Errorf("configuration:\n%w", err)
	}
	c := Config{}
	if err := v.UnmarshalExact(&c); err != nil {
		return Config{}, fmt.Errorf("configuration%s: %w", from(path), explainUnknown(err))
	}
	if !v.IsSet("spaces") || len(c.Spaces) == 0 && v.Get("spaces") == nil {
		c.Spaces = Default().Spaces
	}
	for i := range c.Spaces {
		if c.Spaces[i].Phase == "" {
			c.Spaces[i].Phase = "native"
		}
		for j := range c.Spaces[i].Roots {
			if c.Spaces[i].Roots[j].Layouts == nil {
				c.Spaces[i].Roots[j].Layouts = []string{"dubbo"}
			}
			if c.Spaces[i].Roots[j].ACL == "" {
				c.Spaces[i].Roots[j].ACL = "enforce"
			}
		}
	}
	if err := c.Validate(); err != nil {
		return Config{}, fmt.Errorf("configuration%s:\n%w", from(path), err)
	}
	return c, nil
}

func from(path string) string {
	if path == "" {
		return ""
	}
	return " " + path
}

// explainUnknown turns the decoder's words for a misspelt key into ours.
func explainUnknown(err error) error {
	if strings.Contains(err.Error(), "invalid keys") {
		return fmt.Errorf("a key that does not exist (`zkbridge config sample` lists all): %w", err)
	}
	return err
}

// key is one scalar (or list of scalars) that file, flag and environment share.
type key struct {
	name  string // server.listen
	doc   string
	value any // the default
}

// keys walks Config once and lists what can be set from outside the file.
func keys() []key {
	var out []key
	walk("", reflect.ValueOf(Default()), func(name, doc string, v reflect.Value) {
		out = append(out, key{name, doc, v.Interface()})
	})
	return out
}

// walk calls leaf for each field that is not a structure or a list of them.
func walk(prefix string, v reflect.Value, leaf func(name, doc string, v reflect.Value)) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := prefix + f.Tag.Get("mapstructure")
		switch {
		case f.Type.Kind() == reflect.Struct:
			walk(name+".", v.Field(i), leaf)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			// lists of structures have no flag and no variable: file only
		default:
			leaf(name, f.Tag.Get("doc"), v.Field(i))
		}
	}
}

// AddFlags gives flags one flag for each key, with its default and sentence.
func AddFlags(flags *pflag.FlagSet) {
	for _, k := range keys() {
		doc := strings.ReplaceAll(k.doc, "\n", " ")
		switch d := k.value.(type) {
		case string:
			flags.String(k.name, d, doc)
		case int:
			flags.Int(k.name, d, doc)
		case bool:
			flags.Bool(k.name, d, doc)
		case time.Duration:
			flags.Duration(k.name, d, doc)
		case float64:
			flags.Float64(k.name, d, doc)
		case []string:
			flags.StringSlice(k.name, d, doc)
		default:
			panic("config: a key of this type has no flag: " + k.name)
		}
	}
}
