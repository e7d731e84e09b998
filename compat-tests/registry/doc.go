// Package registry is about a registry that fails the bridge: it is away, comes
// back without anything it knew, or says what is not so. Real Dubbo consumers of
// two versions look on: no list of theirs may become shorter than the cap allows,
// and a provider that is truly dead is gone in time all the same.
package registry
