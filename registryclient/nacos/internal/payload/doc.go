// Package payload is the envelope in which everything travels between a Nacos
// server and its clients over gRPC: a type, some headers and a JSON body.
//
// The three small protobuf messages (Payload, Metadata and google.protobuf.Any)
// are written and read by hand. Generated code would register their names,
// which have no package, in the process's protobuf registry, and a program that
// links another Nacos client too would not start.
package payload
