package zkproto

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
