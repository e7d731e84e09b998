package zkproto

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
