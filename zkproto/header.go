package zkproto

// RequestHeaderSize and ReplyHeaderSize are the lengths of the headers, in
// bytes, without the frame's length.
const (
	RequestHeaderSize = 8
	ReplyHeaderSize   = 16
)

// RequestHeader opens every request but the handshake.
type RequestHeader struct {
	Xid int32 // echoed in the reply, never checked
	Op  OpCode
}

// Decode reads the header at the start of frame.
func (m *RequestHeader) Decode(frame []byte) error {
	r := reader{src: frame}
	m.Xid = r.int32()
	m.Op = OpCode(r.int32())
	return r.done("request header")
}

// AppendTo appends the header.
func (m *RequestHeader) AppendTo(dst []byte) []byte {
	dst = appendInt32(dst, m.Xid)
	return appendInt32(dst, int32(m.Op))
}

// ReplyHeader opens every reply and every notification.
type ReplyHeader struct {
	Xid  int32
	Zxid int64 // of the write, or the last one processed; 0 and -1 in special cases
	Err  Code
}

// Decode reads the header at the start of frame.
func (m *ReplyHeader) Decode(frame []byte) error {
	r := reader{src: frame}
	m.Xid = r.int32()
	m.Zxid = r.int64()
	m.Err = Code(r.int32())
	return r.done("reply header")
}

// AppendTo appends the header.
func (m *ReplyHeader) AppendTo(dst []byte) []byte {
	dst = appendInt32(dst, m.Xid)
	dst = appendInt64(dst, m.Zxid)
	return appendInt32(dst, int32(m.Err))
}

// DecodeHeader splits a request frame, without its length, into header and
// body. The body is part of frame. A frame too short for the header makes
// ZooKeeper close the connection.
func DecodeHeader(frame []byte) (RequestHeader, []byte, error) {
	var h RequestHeader
	if err := h.Decode(frame); err != nil {
		return RequestHeader{}, nil, err
	}
	return h, frame[RequestHeaderSize:], nil
}

// DecodeReply splits a reply frame, without its length, into header and body.
func DecodeReply(frame []byte) (ReplyHeader, []byte, error) {
	var h ReplyHeader
	if err := h.Decode(frame); err != nil {
		return ReplyHeader{}, nil, err
	}
	return h, frame[ReplyHeaderSize:], nil
}
