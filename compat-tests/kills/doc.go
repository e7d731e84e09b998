// Package kills kills the bridge, and the registry's process, time and again, while
// clients register, deregister, die and are born again on both sides. The observer
// watches every list; what it is compared with is what the clients were told.
//
// The moments are drawn from a seed, which a failure names. Beside it stands what a
// stall of the server, cut links and true deaths do to the lists.
package kills
