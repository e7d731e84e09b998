package znode

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

// storeFile is the one file; the other is it while it is being made.
const (
	storeFile    = "tree.log"
	storeFileNew = "tree.log.new"
)

// StoreConfig is where a Store stands and what it uses.
type StoreConfig struct {
	Dir     string    // data directory, for messages and, without Disk, the place
	Disk    Disk      // nil: the directory Dir
	Rand    io.Reader // nil: crypto/rand
	Reserve int64     // zxids reserved at a time; 0: about a million
}

// Store keeps what must outlive the process in one append-only file of the data
// directory: persistent nodes, the clock's reservation, the cluster id, the
// incarnation, the password key.
type Store struct {
	// set when it is opened
	dir         string
	disk        Disk
	lock        io.Closer
	reserve     int64
	nonce       [8]byte
	clusterID   string
	keyID       byte
	secret      []byte
	incarnation uint32
	start       int64 // no zxid above this one was ever shown before
	sealed      bool  // the file's first part was read to its end

	durable atomic.Int64
	limit   atomic.Int64 // zxids up to here are reserved on disk
	last    atomic.Int64 // the tree's clock

	// owned by Run, then by Close
	file    File
	offset  int64
	written int64 // reservation last written
	spare   []byte
	broken  error

	mu sync.Mutex

	// guarded by mu
	image   *Tree  // as loaded, until a Tree takes it
	pending []byte // a frame being filled: its header's room, then records
	upTo    int64  // highest zxid that pending makes durable
	clock   int64  // reservation wanted on disk
	waiting waiters
	wake    chan struct{} // holds one token when there is something to write
}

// OpenStore opens or makes the data directory, locks it, cuts a torn tail,
// rewrites the file without what is out of date, and takes the next incarnation
// (synced before it returns). It refuses a directory that another process holds,
// a file of a newer format and one that is damaged before its end.
func OpenStore(dir string) (*Store, error) { return StoreConfig{Dir: dir}.Open() }

// Open is OpenStore with everything handed in.
func (c StoreConfig) Open() (*Store, error) {
	s := &Store{dir: c.Dir, disk: c.Disk, reserve: c.Reserve, wake: make(chan struct{}, 1)}
	if s.reserve == 0 {
		s.reserve = 1 << 20
	}
	random := c.Rand
	if random == nil {
		random = rand.Reader
	}
	if s.disk == nil {
		d, err := openDirectory(c.Dir)
		if err != nil {
			return nil, err
		}
		s.disk = d
	}
	lock, err := s.disk.Lock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", c.Dir, err)
	}
	s.lock = lock
	if err := s.open(random); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (s *Store) open(random io.Reader) error {
	s.image = bare()
	old, err := s.disk.Read(storeFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		id := make([]byte, 4)
		s.secret = make([]byte, 32)
		s.keyID = 1
		if _, err := io.ReadFull(random, id); err != nil {
			return fmt.Errorf("make a cluster id: %w", err)
		}
		if _, err := io.ReadFull(random, s.secret); err != nil {
			return fmt.Errorf("make a password key: %w", err)
		}
		s.clusterID = hex.EncodeToString(id)
	case err != nil:
		return fmt.Errorf("read %s/%s: %w", s.dir, storeFile, err)
	default:
		if err := s.load(old); err != nil {
			return fmt.Errorf("read %s/%s: %w", s.dir, storeFile, err)
		}
	}
	s.start = max(s.start, s.image.zxid)
	s.incarnation++
	if _, err := io.ReadFull(random, s.nonce[:]); err != nil {
		return fmt.Errorf("make a nonce: %w", err)
	}
	if err := s.rewrite(); err != nil {
		return fmt.Errorf("write %s/%s: %w; the old file is untouched", s.dir, storeFile, err)
	}
	return nil
}

// load replays a file as far as it is whole.
func (s *Store) load(file []byte) error {
	if len(file) < headerSize || string(file[:len(fileMagic)]) != fileMagic ||
		binary.BigEndian.Uint32(file[headerSize-4:]) != crc32.Checksum(file[:headerSize-4], castagnoli) {
		return errors.New("it is damaged or not a zkbridge file; put back a copy, or move it away to start with an empty tree and a new identity")
	}
	if format := binary.BigEndian.Uint32(file[8:]); format > fileFormat {
		return fmt.Errorf("it has format %d and this version knows %d; start the newer version that wrote it", format, fileFormat)
	}
	var nonce [8]byte
	copy(nonce[:], file[12:])
	offset := int64(headerSize)
	for offset < int64(len(file)) {
		frame := frameAt(file, nonce, offset)
		if frame == nil {
			break
		}
		if err := s.replay(s.image, frame); err != nil {
			return fmt.Errorf("at byte %d: %w", offset, err)
		}
		offset += int64(len(frame))
	}
	for later := offset + 1; later < int64(len(file)); later++ {
		if frameAt(file, nonce, later) != nil {
			return fmt.Errorf("it is damaged at byte %d, before its end; put back a copy", offset)
		}
	}
	if !s.sealed {
		return fmt.Errorf("it is cut off at byte %d, in the part that was complete when the file was made; put back a copy", offset)
	}
	return nil
}

// rewrite makes the file anew from what was loaded.
func (s *Store) rewrite() error {
	f, err := s.disk.Create(storeFileNew)
	if err != nil {
		return err
	}
	if err := s.fill(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := s.disk.Rename(storeFileNew, storeFile); err != nil {
		return errors.Join(err, f.Close())
	}
	s.file = f
	return nil
}

// fill writes header and frames of a new file and syncs it.
func (s *Store) fill(f File) error {
	header := appendHeader(nil, fileFormat, s.nonce)
	if err := writeAll(f, header); err != nil {
		return err
	}
	s.offset = int64(len(header))

	limit := s.start + s.reserve
	buf := make([]byte, frameHeader)
	buf = append(buf, recordIdentity)
	buf = appendText(buf, s.clusterID)
	buf = append(buf, s.keyID)
	buf = appendText(buf, string(s.secret))
	buf = append(buf, recordIncarnation)
	buf = binary.AppendUvarint(buf, uint64(s.incarnation))
	buf = append(buf, recordClock)
	buf = binary.AppendVarint(buf, limit)
	flush := func() error {
		sealFrame(buf, s.nonce, s.offset)
		if err := writeAll(f, buf); err != nil {
			return err
		}
		s.offset += int64(len(buf))
		buf = buf[:frameHeader]
		return nil
	}
	err := s.image.walk(func(e *Effect) error {
		buf = appendTxn(buf, s.image.zxid, 0, []Effect{*e})
		if len(buf) < 1<<20 {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	buf = append(buf, recordSealed)
	if err := flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	s.written, s.clock = limit, limit
	s.limit.Store(limit)
	s.durable.Store(s.start)
	return nil
}

// walk calls fn with every node, parents first.
func (t *Tree) walk(fn func(*Effect) error) error {
	todo := []*node{t.root}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], n.children()...)
		err := fn(&Effect{
			Kind: EffectNode, Node: n.kind, Path: n.path, Data: n.data, ACL: n.acl.list, Owner: n.owner,
			Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
			Version: n.version, Aversion: n.aversion, Creates: n.creates, Reserved: n.reserved,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// take hands the loaded nodes to the one Tree that uses this Store.
func (s *Store) take() (*Tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.image
	s.image = nil
	if t == nil {
		return nil, errors.New("this store has a tree already")
	}
	return t, nil
}

// ClusterID is the id made for this data directory: eight hex digits.
func (s *Store) ClusterID() string { return s.clusterID }

// Incarnation counts the starts of this data directory, from 1.
func (s *Store) Incarnation() uint32 { return s.incarnation }

// Secret is the password key, 32 random bytes.
func (s *Store) Secret() []byte { return append([]byte(nil), s.secret...) }

// KeyID is the id of Secret.
func (s *Store) KeyID() byte { return s.keyID }

// append queues what a transaction wants kept. Under the tree's lock.
func (s *Store) append(x *Tx) {
	s.mu.Lock()
	s.pending = appendTxn(s.room(), x.zxid, x.time, x.effects)
	s.upTo = x.zxid
	s.mu.Unlock()
	s.poke()
}

// room is pending with the frame's header left free. s.mu is held.
func (s *Store) room() []byte {
	if len(s.pending) == 0 {
		return append(s.pending, make([]byte, frameHeader)...)
	}
	return s.pending
}

// extend asks for zxids to be reserved beyond zxid, and says at which one to
// ask again.
func (s *Store) extend(zxid int64) int64 {
	s.mu.Lock()
	s.clock = max(s.clock, zxid+s.reserve)
	s.mu.Unlock()
	s.poke()
	return zxid + s.reserve/2
}

// mark makes zxid durable with the next sync: it was spent before it could be
// reserved.
func (s *Store) mark(zxid int64) {
	s.mu.Lock()
	s.clock = max(s.clock, zxid)
	s.upTo = max(s.upTo, zxid)
	s.mu.Unlock()
	s.poke()
}

func (s *Store) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// whenDurable is Tree.WhenDurable.
func (s *Store) whenDurable(gate int64, fn func()) {
	s.mu.Lock()
	if gate > s.durable.Load() {
		s.waiting.push(waiter{gate, fn})
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	fn()
}

// Run writes until ctx ends: the only writer, all that waits in one write and
// one sync. What is queued when ctx ends is still written; what comes later
// never becomes durable, so ctx must outlive whoever waits for the gate. An
// error of the disk ends Run with an error that names file, reason and remedy;
// nothing becomes durable after that.
func (s *Store) Run(ctx context.Context) error {
	for {
		select {
		case <-s.wake:
			if err := s.flush(); err != nil {
				return err
			}
		case <-ctx.Done():
			return s.flush()
		}
	}
}

// flush writes and syncs what is pending, then lets go who waited for it.
func (s *Store) flush() error {
	if s.broken != nil {
		return s.broken
	}
	s.mu.Lock()
	clock, upTo := s.clock, s.upTo
	if clock > s.written {
		s.pending = append(s.room(), recordClock)
		s.pending = binary.AppendVarint(s.pending, clock)
	}
	frame := s.pending
	s.pending, s.spare = s.spare[:0], nil
	s.mu.Unlock()

	if len(frame) > 0 {
		sealFrame(frame, s.nonce, s.offset)
		if err := s.write(frame); err != nil {
			s.broken = fmt.Errorf("write %s/%s: %w; make room or repair the disk and start again: nothing that was acknowledged is lost", s.dir, storeFile, err)
			return s.broken
		}
		s.offset += int64(len(frame))
		if cap(frame) <= 1<<20 {
			s.spare = frame[:0]
		}
		if clock > s.written {
			s.written = clock
			s.limit.Store(clock)
		}
	}
	s.release(upTo)
	return nil
}

// write appends and syncs. After an error of either the file's end is not
// known, so nothing is written again.
func (s *Store) write(frame []byte) error {
	if err := writeAll(s.file, frame); err != nil {
		return err
	}
	return s.file.Sync()
}

func writeAll(w io.Writer, b []byte) error {
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		return io.ErrShortWrite
	}
	return err
}

// release moves Durable and calls those whose gate it has reached.
func (s *Store) release(upTo int64) {
	s.mu.Lock()
	if upTo > s.durable.Load() {
		s.durable.Store(upTo)
	}
	var free []func()
	for len(s.waiting) > 0 && s.waiting[0].gate <= upTo {
		free = append(free, s.waiting.pop().fn)
	}
	s.mu.Unlock()
	for _, fn := range free {
		fn()
	}
}

// Close writes the exact clock, so that the next start need not jump over the
// reservation, and releases the directory. Run must have returned, and nothing
// may use the Tree any more.
func (s *Store) Close() error {
	s.limit.Store(0) // what is spent from here on is never shown
	var err error
	if s.broken == nil { // else Run has told
		frame := append(make([]byte, frameHeader), recordClock)
		frame = binary.AppendVarint(frame, max(s.start, s.last.Load()))
		sealFrame(frame, s.nonce, s.offset)
		if err = s.write(frame); err != nil {
			err = fmt.Errorf("write %s/%s: %w", s.dir, storeFile, err)
		}
	}
	return errors.Join(err, s.file.Close(), s.lock.Close())
}
