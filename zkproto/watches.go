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
	m.Path = r.string()
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
	m.Path = r.string()
	m.Type = WatcherType(r.int32())
	return r.done("removeWatches")
}

// AppendTo appends the request.
func (m *RemoveWatchesRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendInt32(dst, int32(m.Type))
}

// AddWatchRequest sets a watch that stays (106). The node need not exist.
type AddWatchRequest struct {
	Path string
	Mode AddWatchMode
}

// Decode reads an addWatch request.
func (m *AddWatchRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	m.Mode = AddWatchMode(r.int32())
	return r.done("addWatch")
}

// AppendTo appends the request.
func (m *AddWatchRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendInt32(dst, int32(m.Mode))
}

// AddWatchResponse answers addWatch: an ErrorResponse record of four bytes,
// without which Java clients drop the connection.
type AddWatchResponse struct {
	Err Code // OK; an error has no body
}

// Decode reads the response.
func (m *AddWatchResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Err = Code(r.int32())
	return r.done("addWatch response")
}

// AppendTo appends the response.
func (m *AddWatchResponse) AppendTo(dst []byte) []byte { return appendInt32(dst, int32(m.Err)) }

// SetWatchesRequest restores a client's one-shot watches on a new connection
// (101). The reply has no body. Events that it missed are sent before it.
type SetWatchesRequest struct {
	RelativeZxid int64 // the last zxid that the client saw
	Data         []string
	Exist        []string
	Child        []string
}

// Decode reads a setWatches request. A null list is an error.
func (m *SetWatchesRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.RelativeZxid = r.int64()
	m.Data = r.paths()
	m.Exist = r.paths()
	m.Child = r.paths()
	return r.done("setWatches")
}

// AppendTo appends the request.
func (m *SetWatchesRequest) AppendTo(dst []byte) []byte {
	dst = appendInt64(dst, m.RelativeZxid)
	dst = AppendStrings(dst, m.Data)
	dst = AppendStrings(dst, m.Exist)
	return AppendStrings(dst, m.Child)
}

// SetWatches2Request is setWatches with the watches of addWatch (105).
type SetWatches2Request struct {
	RelativeZxid        int64
	Data                []string
	Exist               []string
	Child               []string
	Persistent          []string
	PersistentRecursive []string
}

// Decode reads a setWatches2 request. A null list is an error.
func (m *SetWatches2Request) Decode(body []byte) error {
	r := reader{src: body}
	m.RelativeZxid = r.int64()
	m.Data = r.paths()
	m.Exist = r.paths()
	m.Child = r.paths()
	m.Persistent = r.paths()
	m.PersistentRecursive = r.paths()
	return r.done("setWatches2")
}

// AppendTo appends the request.
func (m *SetWatches2Request) AppendTo(dst []byte) []byte {
	dst = appendInt64(dst, m.RelativeZxid)
	dst = AppendStrings(dst, m.Data)
	dst = AppendStrings(dst, m.Exist)
	dst = AppendStrings(dst, m.Child)
	dst = AppendStrings(dst, m.Persistent)
	return AppendStrings(dst, m.PersistentRecursive)
}

// paths reads a list that must not be null.
func (r *reader) paths() []string {
	list := r.strings()
	if list == nil {
		r.fail("null list")
	}
	return list
}
