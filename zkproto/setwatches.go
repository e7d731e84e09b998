package zkproto

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
