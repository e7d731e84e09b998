// Package claims binds the tree to other systems. An address is what discovery
// is about; a claim says who vouches for it. What a directory of addresses
// shows, what is published to the registry and what is exported to an ensemble
// are pure functions of the claims (Shown, Published, Exported), and nothing else
// computes them. Each leaves out the side it goes to, so nothing can go round in
// a circle.
//
// Spaces says which paths are discovery and where in the registry they belong.
// Book is the table of all claims. It lives under the tree's lock, as its
// znode.Hook: a claim is born and dies in the very transaction that makes or
// deletes its node, and a node that stands for a registry instance comes and
// goes in that transaction too.
package claims
