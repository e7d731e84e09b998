// Package registrytest proves that a backend keeps the obligations of
// registryclient, and gives the tests of others registries that misbehave.
//
// Run is the conformance suite: every backend's test calls it. Fake is a tiny
// registry in memory with the manners of Nacos: records die with the connection,
// equal ones are merged, nobody can say which are ours. Faulty wraps any
// client and cuts its link, delays it, lies, loses metadata or loses the knowledge of
// what is ours.
package registrytest
