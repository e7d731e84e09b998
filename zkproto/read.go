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

// GetDataResponse answers getData.
type GetDataResponse struct {
	Data []byte
	Stat Stat
}

// Decode reads the response.
func (m *GetDataResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Data = r.buffer()
	r.stat(&m.Stat)
	return r.done("getData response")
}

// AppendTo appends the response.
func (m *GetDataResponse) AppendTo(dst []byte) []byte {
	dst = appendBuffer(dst, m.Data)
	return m.Stat.AppendTo(dst)
}

// SyncRequest waits for earlier writes (9). The path is neither checked nor
// needed.
type SyncRequest struct {
	Path string
}

// Decode reads a sync request.
func (m *SyncRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	return r.done("sync")
}

// AppendTo appends the request.
func (m *SyncRequest) AppendTo(dst []byte) []byte { return appendString(dst, m.Path) }

// SyncResponse echoes the path of a sync.
type SyncResponse struct {
	Path string
}

// Decode reads the response.
func (m *SyncResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	return r.done("sync response")
}

// AppendTo appends the response.
func (m *SyncResponse) AppendTo(dst []byte) []byte { return appendString(dst, m.Path) }
