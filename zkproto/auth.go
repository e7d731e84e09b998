package zkproto

// AuthRequest adds an identity to the connection (100). The reply has no body;
// the connection is closed behind AuthFailed.
type AuthRequest struct {
	Type   int32  // 0; ignored
	Scheme string // or [Null]
	Auth   []byte
}

// Decode reads an auth packet.
func (m *AuthRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Type = r.int32()
	m.Scheme = r.nullable()
	m.Auth = r.buffer()
	return r.done("auth")
}

// AppendTo appends the request.
func (m *AuthRequest) AppendTo(dst []byte) []byte {
	dst = appendInt32(dst, m.Type)
	dst = appendString(dst, m.Scheme)
	return appendBuffer(dst, m.Auth)
}
