package zkproto

// GetEphemeralsRequest lists the ephemeral nodes of the calling session (103).
type GetEphemeralsRequest struct {
	Prefix string // of the whole path, with no regard to slashes; null is read as ""
}

// Decode reads a getEphemerals request.
func (m *GetEphemeralsRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Prefix = r.lax()
	return r.done("getEphemerals")
}

// AppendTo appends the request.
func (m *GetEphemeralsRequest) AppendTo(dst []byte) []byte { return appendString(dst, m.Prefix) }

// GetEphemeralsResponse answers getEphemerals with whole paths, in no order.
type GetEphemeralsResponse struct {
	Paths []string
}

// Decode reads the response.
func (m *GetEphemeralsResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Paths = r.strings()
	return r.done("getEphemerals response")
}

// AppendTo appends the response.
func (m *GetEphemeralsResponse) AppendTo(dst []byte) []byte { return AppendStrings(dst, m.Paths) }
