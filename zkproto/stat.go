package zkproto

// StatSize is the length of a Stat on the wire, in bytes.
const StatSize = 68

// Stat is what a server tells about a node (org.apache.zookeeper.data.Stat).
// Zxids are those of the transactions, times milliseconds since 1970.
type Stat struct {
	Czxid          int64 // transaction that created the node
	Mzxid          int64 // last setData, creation at first
	Ctime          int64
	Mtime          int64
	Version        int32 // +1 for each setData
	Cversion       int32 // +1 for each child created and each child deleted
	Aversion       int32 // +1 for each setACL
	EphemeralOwner int64 // session id; 0 for persistent, container and TTL nodes
	DataLength     int32 // bytes; 0 for null data
	NumChildren    int32
	Pzxid          int64 // last create or delete of a child, creation at first
}

// Decode reads a Stat at the start of body.
func (s *Stat) Decode(body []byte) error {
	r := reader{src: body}
	r.stat(s)
	return r.done("stat")
}

// AppendTo appends the 68 bytes of s.
func (s *Stat) AppendTo(dst []byte) []byte {
	dst = appendInt64(dst, s.Czxid)
	dst = appendInt64(dst, s.Mzxid)
	dst = appendInt64(dst, s.Ctime)
	dst = appendInt64(dst, s.Mtime)
	dst = appendInt32(dst, s.Version)
	dst = appendInt32(dst, s.Cversion)
	dst = appendInt32(dst, s.Aversion)
	dst = appendInt64(dst, s.EphemeralOwner)
	dst = appendInt32(dst, s.DataLength)
	dst = appendInt32(dst, s.NumChildren)
	return appendInt64(dst, s.Pzxid)
}

func (r *reader) stat(s *Stat) {
	b := r.take(StatSize)
	if b == nil {
		*s = Stat{}
		return
	}
	t := reader{src: b}
	s.Czxid = t.int64()
	s.Mzxid = t.int64()
	s.Ctime = t.int64()
	s.Mtime = t.int64()
	s.Version = t.int32()
	s.Cversion = t.int32()
	s.Aversion = t.int32()
	s.EphemeralOwner = t.int64()
	s.DataLength = t.int32()
	s.NumChildren = t.int32()
	s.Pzxid = t.int64()
}
