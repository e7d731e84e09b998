// Package dubbogo runs unmodified dubbo-go 3.3.1 applications (registration by
// interface, protocol tri, Go with Go) through every kind of target. The
// application is the module in app, kept apart so that its dependencies are not
// the bridge's.
package dubbogo
