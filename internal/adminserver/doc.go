// Package adminserver answers the commands of ZooKeeper's AdminServer, the JSON
// that scripts and agents read from /commands/<name> (org.apache.zookeeper.server
// .admin.Commands, JsonOutputter): the same names and aliases, the same keys in the
// same order, and 200 also for errors, which stand under "error".
//
// Like the original it asks nobody who they are.
package adminserver
