package zkproto

// GetACLRequest reads a node's access control list (6).
type GetACLRequest struct {
	Path string
}

// Decode reads a getACL request.
func (m *GetACLRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	return r.done("getACL")
}

// AppendTo appends the request.
func (m *GetACLRequest) AppendTo(dst []byte) []byte { return appendString(dst, m.Path) }

// GetACLResponse answers getACL.
type GetACLResponse struct {
	ACL  []ACL
	Stat Stat
}

// Decode reads the response.
func (m *GetACLResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.ACL = r.acl()
	r.stat(&m.Stat)
	return r.done("getACL response")
}

// AppendTo appends the response.
func (m *GetACLResponse) AppendTo(dst []byte) []byte {
	dst = appendACL(dst, m.ACL)
	return m.Stat.AppendTo(dst)
}

// SetACLRequest replaces a node's access control list (7).
type SetACLRequest struct {
	Path    string
	ACL     []ACL // nil is null; a server refuses that and an empty list with InvalidACL
	Version int32 // the aversion that the node must have; -1 for any
}

// Decode reads a setACL request.
func (m *SetACLRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.nullable()
	m.ACL = r.acl()
	m.Version = r.int32()
	return r.done("setACL")
}

// AppendTo appends the request.
func (m *SetACLRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	dst = appendACL(dst, m.ACL)
	return appendInt32(dst, m.Version)
}

// SetACLResponse answers setACL with the Stat after the change.
type SetACLResponse struct {
	Stat Stat
}

// Decode reads the response.
func (m *SetACLResponse) Decode(body []byte) error {
	r := reader{src: body}
	r.stat(&m.Stat)
	return r.done("setACL response")
}

// AppendTo appends the response.
func (m *SetACLResponse) AppendTo(dst []byte) []byte { return m.Stat.AppendTo(dst) }
