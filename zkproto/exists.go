package zkproto

// ExistsRequest asks for the Stat of a node, and optionally for one event when
// the node next changes, or appears (3).
type ExistsRequest struct {
	Path  string
	Watch bool
}

// Decode reads an exists request.
func (m *ExistsRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	m.Watch = r.bool()
	return r.done("exists")
}

// AppendTo appends the request.
func (m *ExistsRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendBool(dst, m.Watch)
}

// ExistsResponse answers exists.
type ExistsResponse struct {
	Stat Stat
}

// Decode reads the response.
func (m *ExistsResponse) Decode(body []byte) error {
	r := reader{src: body}
	r.stat(&m.Stat)
	return r.done("exists response")
}

// AppendTo appends the response.
func (m *ExistsResponse) AppendTo(dst []byte) []byte { return m.Stat.AppendTo(dst) }

// GetDataRequest reads a node's data, and optionally asks for one event when it
// next changes (4).
type GetDataRequest struct {
	Path  string
	Watch bool
}

// Decode reads a getData request.
func (m *GetDataRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	m.Watch = r.bool()
	return r.done("getData")
}

// AppendTo appends the request.
func (m *GetDataRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendBool(dst, m.Watch)
}
