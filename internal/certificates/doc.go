// Package certificates keeps the TLS configuration of a listener in step with its
// files: they are read again when they change and when somebody asks for it, and
// what cannot be used leaves the last good ones in force.
package certificates
