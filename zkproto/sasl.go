package zkproto

// SASLRequest carries a client's SASL token (102).
type SASLRequest struct {
	Token []byte
}

// Decode reads a sasl request. A null token is an error: ZooKeeper closes.
func (m *SASLRequest) Decode(body []byte) error {
	r := reader{src: body}
	if m.Token = r.buffer(); m.Token == nil {
		r.fail("null token")
	}
	return r.done("sasl")
}

// AppendTo appends the request.
func (m *SASLRequest) AppendTo(dst []byte) []byte { return appendBuffer(dst, m.Token) }

// SASLResponse carries the server's SASL token: nil from a server without SASL,
// with which every client is content.
type SASLResponse struct {
	Token []byte
}

// Decode reads the response.
func (m *SASLResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Token = r.buffer()
	return r.done("sasl response")
}

// AppendTo appends the response.
func (m *SASLResponse) AppendTo(dst []byte) []byte { return appendBuffer(dst, m.Token) }
