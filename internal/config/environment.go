package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// linked are the variables that Kubernetes sets for a service, which may be
// called zkbridge-server.
var linked = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)?$`)

// checkEnvironment finds variables that look like a key of ours and are none.
// Others that begin like ours belong to somebody else.
func checkEnvironment(environ []string) error {
	known := make(map[string]bool)
	sections := make(map[string]bool)
	for _, k := range keys() {
		section, _, _ := strings.Cut(k.name, ".")
		sections[strings.ToUpper(section)] = true
		known[variable(k.name)] = true
	}
	var problems []error
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(name, EnvPrefix+"_")
		section, _, _ := strings.Cut(rest, "_")
		if ours && sections[section] && !known[name] && !linked.MatchString(name) {
			problems = append(problems, fmt.Errorf("  environment variable %s: no key has this name (`zkbridge config sample` lists all)", name))
		}
	}
	return errors.Join(problems...)
}

// variable names the environment variable of a key.
func variable(key string) string {
	return EnvPrefix + "_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
