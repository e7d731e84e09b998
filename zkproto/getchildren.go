package zkproto

// GetChildrenRequest lists a node's children, and optionally asks for one event
// when one is created or deleted next (8).
type GetChildrenRequest struct {
	Path  string
	Watch bool
}

// Decode reads a getChildren request.
func (m *GetChildrenRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	m.Watch = r.bool()
	return r.done("getChildren")
}

// AppendTo appends the request.
func (m *GetChildrenRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendBool(dst, m.Watch)
}

// GetChildrenResponse answers getChildren with names, not paths, in no order.
// A server sends an empty list, never null.
type GetChildrenResponse struct {
	Children []string
}

// Decode reads the response.
func (m *GetChildrenResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Children = r.strings()
	return r.done("getChildren response")
}

// AppendTo appends the response.
func (m *GetChildrenResponse) AppendTo(dst []byte) []byte { return AppendStrings(dst, m.Children) }

// GetChildren2Request is getChildren with the node's Stat in the answer (12).
type GetChildren2Request struct {
	Path  string
	Watch bool
}

// Decode reads a getChildren2 request.
func (m *GetChildren2Request) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	m.Watch = r.bool()
	return r.done("getChildren2")
}

// AppendTo appends the request.
func (m *GetChildren2Request) AppendTo(dst []byte) []byte {
	dst = appendString(dst, m.Path)
	return appendBool(dst, m.Watch)
}

// GetChildren2Response answers getChildren2.
type GetChildren2Response struct {
	Children []string
	Stat     Stat
}

// Decode reads the response.
func (m *GetChildren2Response) Decode(body []byte) error {
	r := reader{src: body}
	m.Children = r.strings()
	r.stat(&m.Stat)
	return r.done("getChildren2 response")
}

// AppendTo appends the response.
func (m *GetChildren2Response) AppendTo(dst []byte) []byte {
	dst = AppendStrings(dst, m.Children)
	return m.Stat.AppendTo(dst)
}
