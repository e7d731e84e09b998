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

// GetAllChildrenNumberRequest counts the nodes below a node (104).
type GetAllChildrenNumberRequest struct {
	Path string
}

// Decode reads a getAllChildrenNumber request.
func (m *GetAllChildrenNumberRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Path = r.string()
	return r.done("getAllChildrenNumber")
}

// AppendTo appends the request.
func (m *GetAllChildrenNumberRequest) AppendTo(dst []byte) []byte { return appendString(dst, m.Path) }

// GetAllChildrenNumberResponse answers getAllChildrenNumber. The node itself is
// not counted.
type GetAllChildrenNumberResponse struct {
	Count int32
}

// Decode reads the response.
func (m *GetAllChildrenNumberResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Count = r.int32()
	return r.done("getAllChildrenNumber response")
}

// AppendTo appends the response.
func (m *GetAllChildrenNumberResponse) AppendTo(dst []byte) []byte { return appendInt32(dst, m.Count) }

// GetEphemeralsRequest lists the ephemeral nodes of the calling session (103).
type GetEphemeralsRequest struct {
	Prefix string // of the whole path, with no regard to slashes; null is read as ""
}

// Decode reads a getEphemerals request.
func (m *GetEphemeralsRequest) Decode(body []byte) error {
	r := reader{src: body}
	m.Prefix = r.lax()
	return r.done("getEphemerals")
}

// AppendTo appends the request.
func (m *GetEphemeralsRequest) AppendTo(dst []byte) []byte { return appendString(dst, m.Prefix) }

// GetEphemeralsResponse answers getEphemerals with whole paths, in no order.
type GetEphemeralsResponse struct {
	Paths []string
}

// Decode reads the response.
func (m *GetEphemeralsResponse) Decode(body []byte) error {
	r := reader{src: body}
	m.Paths = r.strings()
	return r.done("getEphemerals response")
}

// AppendTo appends the response.
func (m *GetEphemeralsResponse) AppendTo(dst []byte) []byte { return AppendStrings(dst, m.Paths) }
