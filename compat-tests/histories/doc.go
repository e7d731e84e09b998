// Package histories plays random histories of several clients against a real
// ZooKeeper and against the bridge, and compares all that the clients see.
//
// A [History] is a list of steps: a client sends one request or a burst of them,
// cuts its connection, resumes its session, has it taken over, closes it or lets
// it expire. [Player.Play] plays it on one server below a node of its own and
// returns the transcript of package wire: every reply with header and record,
// every event, in the order in which each connection got them, and in the end
// the whole tree. [Compare] says where two transcripts differ.
//
// A step ends when its requests are answered, so that no two connections race
// and one history has one right transcript. What is ordered by nothing but a
// server's hash tables is put in order before the comparison, see [Normalise].
// What the bridge is meant to answer otherwise is never sent, see [Avoided], nor
// what a real server answers by chance. Nothing else is tolerated, with one
// exception: if the control gives the bridge's transcript when the history is
// played again, it has raced with itself; that is counted and printed.
//
// Histories are drawn by rapid, which makes one that shows a difference as short
// as it can. The failure is a script to read and the number to play it again:
//
//	make histories OPS=1000000
//	make histories SEED=1234
package histories
