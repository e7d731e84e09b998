// Package zkproto is the ZooKeeper wire protocol as bytes and values: frames,
// headers, the records of every operation, operation and error codes, Stat and
// ACL, for clients and servers alike. It does no I/O beyond reading one frame
// and knows nothing of trees or sessions.
//
// Every record is a struct with Decode, which reads the body of a frame behind
// its header, and AppendTo, which appends that body. Operations without a body
// (ping, closeSession, the replies of delete, setWatches and others) have none
// here: their frame is the header.
//
// Rules that hold for all of them:
//
//   - A null buffer (length -1) is a nil slice and an empty one is a slice of
//     length 0 that is not nil, in both directions: ZooKeeper keeps them apart
//     from the client that wrote them to the client that reads them.
//   - A null string is an error where the server needs the string. Where null is
//     legal (reconfig) the field is a pointer.
//   - Decoded strings and buffers are copies: the body may be reused.
//   - Decoded strings are valid UTF-8: bad bytes are U+FFFD, as Java reads them.
//   - Bytes behind the end of a request record are ignored, as ZooKeeper does.
//   - Decode never allocates more than a small multiple of what the body holds.
//   - AppendTo allocates nothing but the growth of dst.
//
// The forms follow ZooKeeper 3.9.5 (zookeeper.jute and the classes under
// org.apache.zookeeper.proto).
package zkproto
