// Package observer watches, from outside, every list of providers that a server
// shows to either side, and judges whether one was ever wrong.
//
// It has connections of its own and shares nothing with the bridge but the wire
// codec (zkproto). [ZooKeeper] follows the provider directories below a root the
// way clients do, by watches and lists; [Registry] follows the service lists of
// the registry's HTTP API. What clients did themselves is known from [Tap],
// which reads what passes through a relay, and from what the test says it did to
// processes and servers. All of it is one history of [Event] values, and [Judge]
// reads the history when it is over:
//
//   - a list lacks a provider whose process lives and whose client has neither
//     deleted it nor lost its session;
//   - a list shows a provider twice;
//   - a list shows a provider that is dead: it came back, or it stayed too long.
//
// Times that a provider was away because its own client deleted and created it
// are no fault; they are counted, to be compared with the control's.
//
// The program in program runs the two followers as a process of its own and
// prints the history as one JSON object a line; given a history it judges it.
package observer
