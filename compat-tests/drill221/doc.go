// Package drill221 is the 2-2-1 drill.
//
// Five ZooKeeper nodes over three data centres stand two, two and one. When the
// third is cut off from the others, its one node has no quorum: in it no provider
// can start, restart or be scaled, for a reason that has nothing to do with what
// runs there. The drill cuts a data centre off from the others, applications and
// all, with a bridge in each and one registry that all of them use, and shows
// that inside it everything goes on, that outside nothing is lost before its
// time, and that all agree again once it is healed.
package drill221
