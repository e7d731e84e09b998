package zkproto

// SetDataRequest replaces a node's data (5).
type SetDataRequest struct {
	Path    string
	Data    []byte
	Version int32 // that the node must have; -1 for any
}

// Decode reads a setData request.
func (m *SetDataRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.nullable()
	m.Data = r.buffer()
	m.Version = r.int32()
	return r.done("setData")
}

// AppendTo appends the request.
func (m *SetDataRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	dst = appendBuffer(dst, m.Data)
	return appendInt32(dst, m.Version)
}

// SetDataResponse answers setData with the Stat after the change.
type SetDataResponse struct {
	Stat Stat
}

// Decode reads the response.
func (m *SetDataResponse) Decode(body []byte) error {
	r := reader{src: body}
	r.stat(&m.Stat)
	return r.done("setData response")
}

// AppendTo appends the response.
func (m *SetDataResponse) AppendTo(dst []byte) []byte { return m.Stat.AppendTo(dst) }
