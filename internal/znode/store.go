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
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The files of a data directory.
const (
	storeFile    = "tree.log"
	storeFileNew = "tree.log.new" // storeFile while it is being made
	wholeFile    = "tree.whole"   // is there while storeFile lacks nothing. Deleting it needs no room on a full disk
)

// StoreConfig is where a Store stands and what it uses.
type StoreConfig struct {
	Dir     string    // data directory, for messages and, without Disk, the place
	Disk    Disk      // nil: the directory Dir
	Rand    io.Reader // nil: crypto/rand
	Reserve int64     // zxids reserved at a time; 0: about 16 million
	Compact int64     // bytes of log above which a new snapshot is made; 0: 64 MB. It also takes twice the snapshot's size
	// Boot names the boot of the machine: what a process has written survives its
	// own end, but not the machine's. "": the kernel's boot id; without one
	// sessions are only resumed after an orderly end.
	Boot string
	// Trouble is told when the disk begins to fail, with the reason and what that
	// means, and with nil when it takes data again. It must not block. Nil: nobody
	// is told.
	Trouble func(error)
}

// Store is the log of a Tree: one file that begins with a snapshot and goes on
// with every transaction in zxid order. Beside nodes and sessions it keeps the
// clock's reservation, the cluster id, the incarnation and the password key. What
// imports made is not in it: whoever imports makes it again.
//
// A transaction is *written*, which survives the end of the process, before
// anything that shows it leaves (Tree.EnsureWritten), and *synced*, which survives
// the end of the machine, if it changes what outlives sessions (Tree.WhenDurable).
// When the log has outgrown its snapshot a new file takes its place.
//
// No package for write-ahead logs is used: what they do beyond this file's two
// hundred lines (segments, indexes to read from the middle) is not needed here,
// and what is needed (a frame that knows what was synced before it, a write that
// does not wait for a sync under way, going on while the disk is full) is not in
// them: tidwall/wal, etcd's wal and hashicorp's raft-wal sync under the lock that
// writing needs, and after a write that failed what they have in memory and what is
// in the file no longer agree; tidwall/wal has no checksums besides, and does not
// open a torn tail.
type Store struct {
	// set when it is opened
	dir         string
	disk        Disk
	lock        io.Closer
	reserve     int64
	compactFrom int64
	boot        string
	trouble     func(error)
	random      io.Reader
	clusterID   string
	keyID       byte
	secret      []byte
	incarnation uint32
	start       int64 // no zxid above this one was ever shown before
	whole       bool  // what was loaded lacks nothing
	tree        *Tree // set by New

	// while it is being opened
	sealed    bool // the file's first part was read to its end
	ended     bool // its last record says that the process ended in order
	lastBoot  string
	spentLast int64 // highest zxid in it
	format    uint32

	durable atomic.Int64
	limit   atomic.Int64  // zxids up to here are reserved on disk
	last    atomic.Int64  // the tree's clock
	done    atomic.Uint64 // counts what there was to write
	written atomic.Uint64 // done, as far as it is written
	synced  atomic.Int64  // bytes of the file that are on disk
	failing atomic.Bool
	reason  atomic.Pointer[error]
	stats   storeCounters

	// guarded by writing: the end of the file. Whoever writes holds it, and no sync
	// does. It comes before mu.
	writing sync.Mutex
	file    File
	nonce   [8]byte
	offset  int64
	told    int64 // clock's last value in the file
	clocked int64 // reservation last written
	putUpTo int64 // upTo, as far as it is written
	spare   []byte

	// of Run
	snapshot int64 // bytes of the file that were there from its start
	patience int64 // bytes that the file has to grow to after a new one could not be made
	remake   <-chan remade

	mu sync.Mutex

	// guarded by mu
	image   *Tree  // as loaded, until a Tree takes it
	pending []byte // a frame being filled: its header's room, then records
	tail    []byte // the same records once more, while a new file is being made
	tailing bool
	upTo    int64 // highest zxid that waits for a sync
	clock   int64 // reservation wanted on disk
	waiting waiters
	wake    chan struct{} // holds one token when there is something to sync
	stir    chan struct{} // holds one token when there is something to write
}

// storeCounters are what StoreStats shows.
type storeCounters struct {
	writes, bytes, syncs, snapshots, failures atomic.Uint64
	syncTime                                  atomic.Int64
}

// StoreStats are numbers of a Store since it was opened.
type StoreStats struct {
	Writes, Syncs, Snapshots uint64
	Bytes                    uint64        // written, snapshots included
	SyncTime                 time.Duration // spent in Syncs
	Failures                 uint64        // times the disk began to fail
	Failing                  bool
	Size                     int64 // of the file, in bytes
}

// Stats is a snapshot of the counters.
func (s *Store) Stats() StoreStats {
	s.writing.Lock()
	size := s.offset
	s.writing.Unlock()
	c := &s.stats
	return StoreStats{
		Writes: c.writes.Load(), Syncs: c.syncs.Load(), Snapshots: c.snapshots.Load(), Bytes: c.bytes.Load(),
		SyncTime: time.Duration(c.syncTime.Load()), Failures: c.failures.Load(), Failing: s.failing.Load(), Size: size,
	}
}

// OpenStore opens or makes the data directory, locks it, cuts a torn tail,
// rewrites the file without what is out of date, and takes the next incarnation
// (synced before it returns). It refuses a directory that another process holds,
// a file of a newer format and one that is damaged before its end.
func OpenStore(dir string) (*Store, error) { return StoreConfig{Dir: dir}.Open() }

// Open is OpenStore with everything handed in.
func (c StoreConfig) Open() (*Store, error) {
	s := &Store{
		dir: c.Dir, disk: c.Disk, reserve: c.Reserve, compactFrom: c.Compact, boot: c.Boot, trouble: c.Trouble, random: c.Rand,
		wake: make(chan struct{}, 1), stir: make(chan struct{}, 1),
	}
	if s.reserve == 0 {
		s.reserve = 1 << 24
	}
	if s.compactFrom == 0 {
		s.compactFrom = 64 << 20
	}
	if s.boot == "" {
		s.boot = bootID()
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	if s.trouble == nil {
		s.trouble = func(error) {}
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
	if err := s.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// bootID names the boot of this machine; "" where there is no telling.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

func (s *Store) open() error {
	s.image = bare()
	old, err := s.disk.Read(storeFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		id := make([]byte, 4)
		s.secret = make([]byte, 32)
		s.keyID = 1
		if _, err := io.ReadFull(s.random, id); err != nil {
			return fmt.Errorf("make a cluster id: %w", err)
		}
		if _, err := io.ReadFull(s.random, s.secret); err != nil {
			return fmt.Errorf("make a password key: %w", err)
		}
		s.clusterID = hex.EncodeToString(id)
	case err != nil:
		return fmt.Errorf("read %s/%s: %w", s.dir, storeFile, err)
	default:
		if err := s.load(old); err != nil {
			return fmt.Errorf("read %s/%s: %w", s.dir, storeFile, err)
		}
		if err := s.judge(); err != nil {
			return err
		}
	}
	s.start = max(s.start, s.image.zxid)
	s.incarnation++
	if err := s.rewrite(); err != nil {
		return fmt.Errorf("write %s/%s: %w; the old file is untouched", s.dir, storeFile, err)
	}
	return nil
}

// judge decides whether what was loaded lacks nothing, so that sessions may go on.
func (s *Store) judge() error {
	marked := true
	if _, err := s.disk.Read(wholeFile); errors.Is(err, fs.ErrNotExist) {
		marked = false
	} else if err != nil {
		return fmt.Errorf("read %s/%s: %w", s.dir, wholeFile, err)
	}
	sameBoot := s.boot != "" && s.boot == s.lastBoot
	s.whole = marked && s.format >= 3 && (s.ended || sameBoot)
	if s.whole {
		s.start = s.spentLast // whatever was shown, the file knows it
		return nil
	}
	for _, n := range s.image.nodes {
		if n.reserved > n.creates { // names may have been given out that the file does not know
			n.creates, n.pzxid = n.reserved, max(s.start, s.image.zxid)+1 // by the start
		}
	}
	return nil
}

// load replays a file as far as it is whole.
func (s *Store) load(file []byte) error {
	if len(file) < headerSize || string(file[:len(fileMagic)]) != fileMagic ||
		binary.BigEndian.Uint32(file[headerSize-4:]) != crc32.Checksum(file[:headerSize-4], castagnoli) {
		return errors.New("it is damaged or not a zkbridge file; put back a copy, or move it away to start with an empty tree and a new identity")
	}
	s.format = binary.BigEndian.Uint32(file[8:])
	if s.format > fileFormat {
		return fmt.Errorf("it has format %d and this version knows %d; start the newer version that wrote it", s.format, fileFormat)
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
		if frame := frameAt(file, nonce, later); frame != nil && (s.format < 3 || syncedAt(frame) > offset) {
			return fmt.Errorf("it is damaged at byte %d, before its end; put back a copy", offset)
		}
	}
	if !s.sealed {
		return fmt.Errorf("it is cut off at byte %d, in the part that was complete when the file was made; put back a copy", offset)
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

// Whole reports whether what was loaded lacks nothing: the process ended in
// order, or was killed while the machine went on, and the disk took all of it.
func (s *Store) Whole() bool { return s.whole }

// Trouble is why the disk takes nothing; nil: it does.
func (s *Store) Trouble() error {
	if p := s.reason.Load(); p != nil {
		return *p
	}
	return nil
}

// append queues what is kept of a transaction. Under the tree's lock.
func (s *Store) append(x *Tx) {
	s.mu.Lock()
	s.keep(func(b []byte) []byte { return appendTxn(b, x.zxid, x.time, x.effects) })
	if x.synced {
		s.upTo = x.zxid
	}
	s.mu.Unlock()
	if x.synced {
		poke(s.wake)
	} else {
		poke(s.stir)
	}
}

// note queues an effect outside of any transaction. Under the tree's lock.
func (s *Store) note(zxid, time int64, e Effect) {
	s.mu.Lock()
	s.keep(func(b []byte) []byte { return appendTxn(b, zxid, time, []Effect{e}) })
	s.mu.Unlock()
	poke(s.stir)
}

// keep puts records where they belong. s.mu is held.
func (s *Store) keep(record func([]byte) []byte) {
	if !s.failing.Load() {
		s.pending = record(s.room())
	}
	if s.tailing {
		s.tail = record(s.tail)
	}
}

// spent says that a zxid was used, with all that belongs to it queued. Under the
// tree's lock, before anybody is told.
func (s *Store) spent() { s.done.Add(1) }

// room is pending with what a frame begins with. s.mu is held.
func (s *Store) room() []byte {
	if len(s.pending) == 0 {
		return frameStart(s.pending, s.synced.Load())
	}
	return s.pending
}

// frameStart leaves a frame's header free and says what was synced before.
func frameStart(dst []byte, synced int64) []byte {
	dst = append(dst, make([]byte, frameHeader)...)
	dst = append(dst, recordSynced)
	return binary.AppendVarint(dst, synced)
}

// extend asks for zxids to be reserved beyond zxid, and says at which one to
// ask again.
func (s *Store) extend(zxid int64) int64 {
	s.mu.Lock()
	s.clock = max(s.clock, zxid+s.reserve)
	s.mu.Unlock()
	poke(s.wake)
	return zxid + s.reserve/2
}

// mark makes zxid durable with the next sync: it was spent before it could be
// reserved.
func (s *Store) mark(zxid int64) {
	s.mu.Lock()
	s.clock = max(s.clock, zxid)
	s.upTo = max(s.upTo, zxid)
	s.mu.Unlock()
	poke(s.wake)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
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

// behind reports whether anything waits for a sync.
func (s *Store) behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

// ensureWritten is Tree.EnsureWritten.
func (s *Store) ensureWritten() {
	if s.done.Load() == s.written.Load() {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.write()
}

// write writes what is pending. s.writing is held.
func (s *Store) write() {
	s.mu.Lock()
	done := s.done.Load()
	clock, upTo, last := s.clock, s.upTo, s.last.Load()
	if !s.failing.Load() {
		if clock > s.clocked {
			s.pending = binary.AppendVarint(append(s.room(), recordClock), clock)
		}
		if last > s.told {
			s.pending = binary.AppendVarint(append(s.room(), recordSpent), last)
		}
	}
	frame := s.pending
	s.pending, s.spare = s.spare[:0], nil
	s.mu.Unlock()
	if len(frame) > 0 {
		sealFrame(frame, s.nonce, s.offset)
		if err := writeAll(s.file, frame); err != nil {
			s.fail(err)
		} else {
			s.stats.writes.Add(1)
			s.stats.bytes.Add(uint64(len(frame)))
			s.offset += int64(len(frame))
			s.clocked, s.told, s.putUpTo = max(clock, s.clocked), max(last, s.told), upTo
		}
		if cap(frame) <= 1<<20 {
			s.spare = frame[:0]
		}
	}
	s.written.Store(done)
}

// fail notes that the disk took no more. The file's end is not known then:
// nothing is written to it any more, and until a new one stands a restart must not
// resume sessions. s.writing is held.
func (s *Store) fail(err error) {
	if s.failing.Load() {
		return
	}
	err = fmt.Errorf("write %s/%s: %w; make room or repair the disk: until then writes to persistent nodes are refused, "+
		"ephemeral nodes and reads go on, and a restart would expire every session", s.dir, storeFile, err)
	if gone := s.disk.Remove(wholeFile); gone != nil {
		err = fmt.Errorf("%w; that could not be noted (%w): before a restart delete %s/%s by hand", err, gone, s.dir, wholeFile)
	}
	s.reason.Store(&err)
	s.mu.Lock()
	s.failing.Store(true)
	s.pending = s.pending[:0]
	s.mu.Unlock()
	s.stats.failures.Add(1)
	s.trouble(err)
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

// How long Run waits.
const (
	linger = 5 * time.Millisecond // with a write that nobody waits for
	retry  = time.Second          // before it tries a failing disk again
)

// Run syncs, writes what nobody waits for, and makes a new file when the log has
// outgrown its snapshot or the disk takes data again after it failed, until ctx
// ends. What is queued then is still written and synced; what comes later never
// becomes durable, so ctx must outlive whoever waits for the gate.
func (s *Store) Run(ctx context.Context) error {
	again := time.NewTimer(retry)
	defer again.Stop()
	late, armed := time.NewTimer(retry), false
	late.Stop()
	defer late.Stop()
	for {
		s.consider(false)
		select {
		case <-s.wake:
			s.sync()
		case <-s.stir:
			if !armed {
				armed = true
				late.Reset(linger)
			}
		case <-late.C:
			armed = false
			s.ensureWritten()
		case <-again.C:
			s.consider(true)
			again.Reset(retry)
		case made := <-s.remake:
			s.remake = nil
			s.replace(made)
		case <-ctx.Done():
			if s.remake != nil {
				made := <-s.remake
				s.remake = nil
				s.replace(made)
			}
			s.sync()
			return nil
		}
	}
}

// consider begins to make a new file if one is due; with retry also when the disk
// has failed.
func (s *Store) consider(retry bool) {
	if s.remake != nil || s.tree == nil {
		return
	}
	s.writing.Lock()
	size := s.offset
	s.writing.Unlock()
	if s.failing.Load() && retry || !s.failing.Load() && size > s.patience && size-s.snapshot > max(s.compactFrom, 2*s.snapshot) {
		s.remake = s.begin()
	}
}

// sync writes what is pending and syncs it, if it is to be on disk, then lets go
// who waited for that.
func (s *Store) sync() {
	s.writing.Lock()
	s.write()
	upTo, clock, offset, file := s.putUpTo, s.clocked, s.offset, s.file
	s.writing.Unlock()
	if s.failing.Load() || upTo <= s.durable.Load() && clock <= s.limit.Load() {
		return
	}
	if err := s.settle(file); err != nil {
		s.writing.Lock()
		s.fail(err)
		s.writing.Unlock()
		return
	}
	s.synced.Store(offset)
	s.limit.Store(max(clock, s.limit.Load()))
	s.release(upTo)
}

// settle syncs a file.
func (s *Store) settle(file File) error {
	began := time.Now()
	err := file.Sync()
	s.stats.syncs.Add(1)
	s.stats.syncTime.Add(int64(time.Since(began)))
	return err
}

// Close writes the exact clock, so that the next start need not jump over the
// reservation and may resume sessions, and releases the directory. Run must have
// returned, and nothing may use the Tree any more.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.write()
	s.limit.Store(0) // what is spent from here on is never shown
	var err error
	if !s.failing.Load() { // else Trouble has told
		frame := frameStart(nil, s.synced.Load())
		frame = binary.AppendVarint(append(frame, recordClock), max(s.start, s.last.Load()))
		frame = append(frame, recordEnd)
		sealFrame(frame, s.nonce, s.offset)
		if err = writeAll(s.file, frame); err == nil {
			err = s.file.Sync()
		}
		if err != nil {
			err = fmt.Errorf("write %s/%s: %w", s.dir, storeFile, err)
		}
	}
	return errors.Join(err, s.file.Close(), s.lock.Close())
}
