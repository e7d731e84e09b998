// Package config is the configuration of a bridge: one typed structure, its
// defaults, and the one way it is loaded (file, environment, flags).
//
// It is the only package that knows viper. Every scalar key can be given in the
// YAML file, as a flag (--server.listen) and in the environment
// (ZKBRIDGE_SERVER_LISTEN); a flag wins over the environment, the environment over
// the file, the file over the default. A key that does not exist is an error,
// wherever it stands.
package config
