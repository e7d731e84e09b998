// Package demo shows in about ten seconds what the bridge does: a provider that
// registers through ZooKeeper and one that registers natively, and what each side
// sees as they come and go.
package demo
