package zkproto

// ReconfigRequest changes an ensemble's members (16). A nil string is null:
// nothing of that kind is asked for.
type ReconfigRequest struct {
	Joining       *string
	Leaving       *string
	NewMembers    *string
	CurrentConfig int64 // id that the change is based on; -1 for any
}

// Decode reads a reconfig request.
func (m *ReconfigRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Joining = r.optional()
	m.Leaving = r.optional()
	m.NewMembers = r.optional()
	m.CurrentConfig = r.int64()
	return r.done("reconfig")
}

// AppendTo appends the request.
func (m *ReconfigRequest) AppendTo(dst []byte) []byte {
	dst = appendOptional(dst, m.Joining)
	dst = appendOptional(dst, m.Leaving)
	dst = appendOptional(dst, m.NewMembers)
	return appendInt64(dst, m.CurrentConfig)
}

// ReconfigResponse answers reconfig with the new configuration, as the data of
// /zookeeper/config.
type ReconfigResponse struct {
	Config []byte
	Stat   Stat
}

// Decode reads the response.
func (m *ReconfigResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Config = r.buffer()
	r.stat(&m.Stat)
	return r.done("reconfig response")
}

// AppendTo appends the response.
func (m *ReconfigResponse) AppendTo(dst []byte) []byte {
	dst = appendBuffer(dst, m.Config)
	return m.Stat.AppendTo(dst)
}
