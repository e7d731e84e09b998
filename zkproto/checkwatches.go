package zkproto

// CheckWatchesRequest asks whether this connection has such a watch (17). The
// reply has no body; NoWatcher if it has none.
type CheckWatchesRequest struct {
	Path string
	Type WatcherType
}

// Decode reads a checkWatches request.
func (m *CheckWatchesRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.nullable()
	m.Type = WatcherType(r.int32())
	return r.done("checkWatches")
}

// AppendTo appends the request.
func (m *CheckWatchesRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendInt32(dst, int32(m.Type))
}

// RemoveWatchesRequest removes such watches of this connection (18). The reply
// has no body; NoWatcher if there were none.
type RemoveWatchesRequest struct {
	Path string
	Type WatcherType
}

// Decode reads a removeWatches request.
func (m *RemoveWatchesRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.nullable()
	m.Type = WatcherType(r.int32())
	return r.done("removeWatches")
}

// AppendTo appends the request.
func (m *RemoveWatchesRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendInt32(dst, int32(m.Type))
}
