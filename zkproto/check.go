package zkproto

// CheckRequest is the version check of a multi (13). It is not an operation of
// its own: outside multi it is answered Unimplemented.
type CheckRequest struct {
	Path    string
	Version int32 // of the data; -1 asks only that the node exists
}

// Decode reads a check request.
func (m *CheckRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	m.Version = r.int32()
	return r.done("check")
}

// AppendTo appends the request.
func (m *CheckRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendInt32(dst, m.Version)
}
