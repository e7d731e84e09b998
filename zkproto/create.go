package zkproto

// CreateRequest asks for a new node. It is the body of create (1), create2 (15)
// and createContainer (19).
type CreateRequest struct {
	Path  string
	Data  []byte
	ACL   []ACL // nil is null; a server refuses that and an empty list with InvalidACL
	Flags CreateFlags
}

// Decode reads a create, create2 or createContainer request.
func (m *CreateRequest) Decode(body []byte) error {
	r := reader{src: body}
	r.create(m)
	return r.done("create")
}

// AppendTo appends the request.
func (m *CreateRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	dst = appendBuffer(dst, m.Data)
	dst = appendACL(dst, m.ACL)
	return appendInt32(dst, int32(m.Flags))
}

func (r *reader) create(m *CreateRequest) {
	m.Path = r.nullable()
	m.Data = r.buffer()
	m.ACL = r.acl()
	m.Flags = CreateFlags(r.int32())
}

// CreateTTLRequest asks for a new node that is removed after a time without
// change: createTTL (21).
type CreateTTLRequest struct {
	Path  string
	Data  []byte
	ACL   []ACL
	Flags CreateFlags // FlagTTL or FlagTTLSequential
	TTL   int64       // ms, 1 to 2^40-1
}

// Decode reads a createTTL request.
func (m *CreateTTLRequest) Decode(body []byte) error {
	r := reader{src: body}
	r.createTTL(m)
	return r.done("createTTL")
}

// AppendTo appends the request.
func (m *CreateTTLRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	dst = appendBuffer(dst, m.Data)
	dst = appendACL(dst, m.ACL)
	dst = appendInt32(dst, int32(m.Flags))
	return appendInt64(dst, m.TTL)
}

func (r *reader) createTTL(m *CreateTTLRequest) {
	m.Path = r.nullable()
	m.Data = r.buffer()
	m.ACL = r.acl()
	m.Flags = CreateFlags(r.int32())
	m.TTL = r.int64()
}

// CreateResponse answers create (1) with the path of the new node, its number
// included if it is sequential.
type CreateResponse struct {
	Path string
}

// Decode reads the response.
func (m *CreateResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	return r.done("create response")
}

// AppendTo appends the response.
func (m *CreateResponse) AppendTo(dst []byte) []byte { return appendString(dst, m.Path) }

// Create2Response answers create2 (15), createContainer (19) and createTTL (21).
type Create2Response struct {
	Path string
	Stat Stat
}

// Decode reads the response.
func (m *Create2Response) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	r.stat(&m.Stat)
	return r.done("create2 response")
}

// AppendTo appends the response.
func (m *Create2Response) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return m.Stat.AppendTo(dst)
}
