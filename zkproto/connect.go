package zkproto

// PasswdSize is the length of every session password, in bytes. The C client
// reads exactly this many.
const PasswdSize = 16

// ConnectRequest is the first frame of a connection. It has no header.
type ConnectRequest struct {
	ProtocolVersion int32 // 0; ignored
	LastZxidSeen    int64
	Timeout         int32 // asked for, in ms
	SessionID       int64 // 0 for a new session
	Passwd          []byte
	HasReadOnly     bool // whether the last byte is there: go-zookeeper leaves it out
	ReadOnly        bool // the client accepts a read-only server
}

// Decode reads a handshake request.
func (m *ConnectRequest) Decode(frame []byte) error {
	r := reader{src: frame}
	m.ProtocolVersion = r.int32()
	m.LastZxidSeen = r.int64()
	m.Timeout = r.int32()
	m.SessionID = r.int64()
	m.Passwd = r.buffer()
	m.HasReadOnly = len(r.src) > 0
	m.ReadOnly = m.HasReadOnly && r.bool()
	return r.done("connect request")
}

// AppendTo appends the request: 44 bytes with a password of 16 bytes, 45 with
// the read-only byte.
func (m *ConnectRequest) AppendTo(dst []byte) []byte {
	dst = appendInt32(dst, m.ProtocolVersion)
	dst = appendInt64(dst, m.LastZxidSeen)
	dst = appendInt32(dst, m.Timeout)
	dst = appendInt64(dst, m.SessionID)
	dst = appendBuffer(dst, m.Passwd)
	if m.HasReadOnly {
		dst = appendBool(dst, m.ReadOnly)
	}
	return dst
}

// ConnectResponse answers a ConnectRequest. It has no header. Timeout 0,
// SessionID 0 and a password of zeros mean that the session is over.
type ConnectResponse struct {
	ProtocolVersion int32 // always 0
	Timeout         int32 // granted, in ms
	SessionID       int64
	Passwd          []byte
	HasReadOnly     bool // as in the request
	ReadOnly        bool // the server is read-only
}

// Decode reads a handshake response.
func (m *ConnectResponse) Decode(frame []byte) error {
	r := reader{src: frame}
	m.ProtocolVersion = r.int32()
	m.Timeout = r.int32()
	m.SessionID = r.int64()
	m.Passwd = r.buffer()
	m.HasReadOnly = len(r.src) > 0
	m.ReadOnly = m.HasReadOnly && r.bool()
	return r.done("connect response")
}

// AppendTo appends the response: 36 bytes with a password of 16 bytes, 37 with
// the read-only byte.
func (m *ConnectResponse) AppendTo(dst []byte) []byte {
	dst = appendInt32(dst, m.ProtocolVersion)
	dst = appendInt32(dst, m.Timeout)
	dst = appendInt64(dst, m.SessionID)
	dst = appendBuffer(dst, m.Passwd)
	if m.HasReadOnly {
		dst = appendBool(dst, m.ReadOnly)
	}
	return dst
}
