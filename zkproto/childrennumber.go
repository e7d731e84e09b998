package zkproto

// GetAllChildrenNumberRequest counts the nodes below a node (104).
type GetAllChildrenNumberRequest struct {
	Path string
}

// Decode reads a getAllChildrenNumber request.
func (m *GetAllChildrenNumberRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	return r.done("getAllChildrenNumber")
}

// AppendTo appends the request.
func (m *GetAllChildrenNumberRequest) AppendTo(dst []byte) []byte { return appendString(dst, m.Path) }

// GetAllChildrenNumberResponse answers getAllChildrenNumber. The node itself is
// not counted.
type GetAllChildrenNumberResponse struct {
	Count int32
}

// Decode reads the response.
func (m *GetAllChildrenNumberResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Count = r.int32()
	return r.done("getAllChildrenNumber response")
}

// AppendTo appends the response.
func (m *GetAllChildrenNumberResponse) AppendTo(dst []byte) []byte { return appendInt32(dst, m.Count) }
