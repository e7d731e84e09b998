// Package bridge builds the parts of a bridge, runs them and stops them in
// order. It is the only room that knows them all.
package bridge
