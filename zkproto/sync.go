package zkproto

// SyncRequest waits for earlier writes (9). The path is neither checked nor
// needed.
type SyncRequest struct {
	Path string
}

// Decode reads a sync request.
func (m *SyncRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.nullable()
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
