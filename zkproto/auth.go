package zkproto

// AuthRequest adds an identity to the connection (100). The reply has no body;
// the connection is closed behind AuthFailed.
type AuthRequest struct {
	Type   int32 // 0; ignored
	Scheme string
	Auth   []byte
}

// Decode reads an auth packet.
func (m *AuthRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Type = r.int32()
	m.Scheme = r.string()
	m.Auth = r.buffer()
	return r.done("auth")
}

// AppendTo appends the request.
func (m *AuthRequest) AppendTo(dst []byte) []byte {
	dst = appendInt32(dst, m.Type)
	dst = appendString(dst, m.Scheme)
	return appendBuffer(dst, m.Auth)
}

// SASLRequest carries a client's SASL token (102).
type SASLRequest struct {
	Token []byte
}

// Decode reads a sasl request.
func (m *SASLRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Token = r.buffer()
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

// ClientInfo is one identity of a connection.
type ClientInfo struct {
	Scheme string
	User   string // "" where the scheme has no users
}

// WhoAmIResponse answers whoAmI (107) with the connection's identities, in no
// order. The request has no body.
type WhoAmIResponse struct {
	Identities []ClientInfo // never nil from a server
}

// Decode reads the response.
func (m *WhoAmIResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Identities = nil
	if n, null := r.count(8); !null && r.err == nil {
		m.Identities = make([]ClientInfo, n)
		for i := range m.Identities {
			m.Identities[i] = ClientInfo{Scheme: r.string(), User: r.string()}
		}
	}
	return r.done("whoAmI response")
}

// AppendTo appends the response.
func (m *WhoAmIResponse) AppendTo(dst []byte) []byte {
	if m.Identities == nil {
		return appendInt32(dst, -1)
	}
	dst = appendInt32(dst, int32(len(m.Identities)))
	for i := range m.Identities {
		dst = appendString(dst, m.Identities[i].Scheme)
		dst = appendString(dst, m.Identities[i].User)
	}
	return dst
}
