package zkproto

// AddWatchRequest sets a watch that stays (106). The node need not exist.
type AddWatchRequest struct {
	Path string
	Mode AddWatchMode
}

// Decode reads an addWatch request.
func (m *AddWatchRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.nullable()
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
