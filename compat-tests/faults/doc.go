// Package faults has what networks and clients do to a server that no client
// library would: malformed frames and handshakes by the thousand beside a client that
// must not notice, connections reset between the moment a request is carried out and its
// reply, connections of which one side is gone without a word, and stalls.
//
// What a network does is played on a real ZooKeeper as well, which says what
// clients find afterwards.
package faults
