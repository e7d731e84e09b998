// Package wire says what a ZooKeeper server does, byte for byte, as scripts that
// run against an address.
//
// A [Script] drives one or several raw connections and writes down what comes
// back, in the order in which it comes: replies with header and record,
// notifications, and how a connection ends. [Play] runs it and returns the
// [Transcript], in which everything that differs between two runs of the same
// server is replaced by what it means: zxids are counted from the start of the
// script, session ids are named after the connection that got them, times are
// compared with each other and with now.
//
// The transcripts of a real ZooKeeper 3.9.5, the control, are in testdata. The
// tests play every script against the control and compare it with the file
// (-update rewrites it), then against the bridge, which must give the same
// lines. Where it is meant to give others, [Differences] has both sides and the
// reason; differences.md tells them to operators.
package wire
