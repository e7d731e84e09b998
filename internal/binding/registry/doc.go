// Package registry keeps the claims and a service registry in step, both ways.
//
// Publishing: whenever the list of a service may have changed, the whole list
// is computed from the claims and, if it differs from what the registry accepted
// last, published. What is new leaves within 20 ms. What is gone leaves within a
// second, so that a provider which deletes and creates its node in between is
// not seen to vanish. The registry being away only delays: the newest list of each
// service leaves when it is back, and steps in between are left out.
//
// Importing: the names of the services of each target are watched, those that
// a layout wants are subscribed, and each list, without what is our own, goes
// into the book of claims. A lost link changes nothing there.
//
// The bridge does not serve clients before everything has been imported once:
// see Binding.Ready.
package registry
