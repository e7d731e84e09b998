package zkproto

// DeleteRequest removes a node (2). The reply has no body.
type DeleteRequest struct {
	Path    string
	Version int32 // of the data; -1 for any
}

// Decode reads a delete request.
func (m *DeleteRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.nullable()
	m.Version = r.int32()
	return r.done("delete")
}

// AppendTo appends the request.
func (m *DeleteRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendInt32(dst, m.Version)
}

// DeleteContainerRequest is the server's own removal of an empty container
// (20). ZooKeeper takes it from clients too, without any check; it is here so
// that a server can name what it refuses. The path travels as a buffer.
type DeleteContainerRequest struct {
	Path []byte
}

// Decode reads a deleteContainer request.
func (m *DeleteContainerRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.buffer()
	return r.done("deleteContainer")
}

// AppendTo appends the request.
func (m *DeleteContainerRequest) AppendTo(dst []byte) []byte { return appendBuffer(dst, m.Path) }
