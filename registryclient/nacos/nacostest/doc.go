// Package nacostest is a Nacos server in the test's process, for what a real
// one cannot be made to do: to ask for a move, to answer slowly or not at all,
// to forget what it has accepted, to start with nothing, to refuse one instance.
//
// It has the manners of Nacos 2.3 that matter to a client, as measured: one
// list a connection and service, gone with the connection; pushes after a delay,
// again and again until they are acknowledged, without a namespace in them;
// queries that are as old as the last push; names that outlive their last
// instance. With Options.FuzzyWatch it tells of names that come and go, as 3.x does.
package nacostest
