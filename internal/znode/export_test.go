package znode

// Tap hands every committed transaction to fn.
func (t *Tree) Tap(fn func(Txn)) { t.tap = fn }

// Flush is one round of Run.
func (s *Store) Flush() error {
	s.sync()
	return s.Trouble()
}

// BeginSnapshot begins to make a new file, and EndSnapshot puts it in place.
func (s *Store) BeginSnapshot() { s.remake = s.begin() }

// EndSnapshot is what Run does when a new file is made.
func (s *Store) EndSnapshot() {
	made := <-s.remake
	s.remake = nil
	s.replace(made)
}

// Ask asks for more of the clock to be reserved.
func (s *Store) Ask() { s.extend(s.last.Load()) }

// WholeFile is the mark.
const WholeFile = wholeFile

// Reserved is the highest zxid reserved on disk.
func (s *Store) Reserved() int64 { return s.limit.Load() }

// Spent is the tree's create counter of a node.
func (t *Tree) Spent(path string) int32 { return t.nodes[path].creates }

// SetSpent moves a create counter.
func (t *Tree) SetSpent(path string, creates int32) { t.nodes[path].creates = creates }

// SetVersions moves the versions of a node.
func (t *Tree) SetVersions(path string, version int32) {
	t.nodes[path].version, t.nodes[path].aversion = version, version
}

// Watching is how many connections the watch tables know.
func (t *Tree) Watching() (spots, holders int) {
	return len(t.watches.spots), len(t.watches.holders)
}

// Room is how many children fit into a directory's memory.
func (t *Tree) Room(path string) int { return cap(t.nodes[path].dir.children) }

// Paths are all nodes.
func (t *Tree) Paths() []string {
	var paths []string
	for p := range t.nodes {
		paths = append(paths, p)
	}
	return paths
}

// FileHeader is the header of a file with nonce.
func FileHeader(nonce [8]byte) []byte { return appendHeader(nil, fileFormat, nonce) }

// HeaderSize and FrameHeader are the lengths of what comes before the records.
const (
	HeaderSize  = headerSize
	FrameHeader = frameHeader
)

// SealedFrame is a frame with records that stands at offset of a file with nonce.
func SealedFrame(records []byte, nonce [8]byte, offset int64) []byte {
	frame := append(make([]byte, frameHeader), records...)
	sealFrame(frame, nonce, offset)
	return frame
}

// CounterBlock and StoreFile are what the tests count with.
const (
	CounterBlock = counterBlock
	StoreFile    = storeFile
)

// Passing are the containers and TTL nodes, with the TTL in ms.
func (t *Tree) Passing() map[string]int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := map[string]int64{}
	for _, n := range t.passing {
		all[n.path] = n.owner
	}
	return all
}

// QuotaText reads a quota's text and writes it.
func QuotaText(data []byte) ([]byte, bool) {
	q, ok := readQuota(data)
	return q.appendTo(nil), ok
}
