package znode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// making is a file that is to take the log's place.
type making struct {
	file   File
	nonce  [8]byte
	offset int64
	buf    []byte // a frame being filled
}

// flush writes the frame that was filled, and begins the next.
func (m *making) flush() error {
	sealFrame(m.buf, m.nonce, m.offset)
	if err := writeAll(m.file, m.buf); err != nil {
		return err
	}
	m.offset += int64(len(m.buf))
	m.buf = frameStart(m.buf[:0], 0)
	return nil
}

// full is flush for frames that are large enough.
func (m *making) full() error {
	if len(m.buf) < 1<<20 {
		return nil
	}
	return m.flush()
}

// make begins a file: header, identity, clock.
func (s *Store) make(limit int64) (*making, error) {
	m := &making{}
	if _, err := io.ReadFull(s.random, m.nonce[:]); err != nil {
		return nil, fmt.Errorf("make a nonce: %w", err)
	}
	f, err := s.disk.Create(storeFileNew)
	if err != nil {
		return nil, err
	}
	m.file = f
	header := appendHeader(nil, fileFormat, m.nonce)
	if err := writeAll(f, header); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	m.offset = int64(len(header))
	b := frameStart(nil, 0)
	b = append(b, recordIdentity)
	b = appendText(b, s.clusterID)
	b = append(b, s.keyID)
	b = appendText(b, string(s.secret))
	b = append(b, recordIncarnation)
	b = binary.AppendUvarint(b, uint64(s.incarnation))
	b = append(b, recordBoot)
	b = appendText(b, s.boot)
	b = binary.AppendVarint(append(b, recordClock), limit)
	m.buf = b
	return m, nil
}

// rewrite makes the file anew from what was loaded, before there is a Tree.
func (s *Store) rewrite() error {
	limit := s.start + s.reserve
	m, err := s.make(limit)
	if err != nil {
		return err
	}
	err = s.image.write(m)
	if err == nil {
		err = m.seal(s.start)
	}
	if err == nil {
		err = m.file.Sync()
	}
	if err == nil {
		err = s.disk.Rename(storeFileNew, storeFile)
	}
	if err == nil {
		err = s.markWhole()
	}
	if err != nil {
		return errors.Join(err, m.file.Close())
	}
	s.file, s.nonce, s.offset, s.snapshot = m.file, m.nonce, m.offset, m.offset
	s.clocked, s.clock, s.told = limit, limit, s.start
	s.stats.bytes.Add(uint64(m.offset))
	s.synced.Store(m.offset)
	s.limit.Store(limit)
	s.durable.Store(s.start)
	return nil
}

// seal ends what was there when the file was made.
func (m *making) seal(spent int64) error {
	m.buf = binary.AppendVarint(append(m.buf, recordSpent), spent)
	m.buf = append(m.buf, recordSealed)
	return m.flush()
}

// markWhole notes that the file lacks nothing.
func (s *Store) markWhole() error {
	f, err := s.disk.Create(wholeFile)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), s.disk.SyncNames())
}

// chunk is how many nodes a snapshot takes while it holds the lock.
const chunk = 512

// write writes all that is kept of a tree, parents first. It holds the lock for a
// chunk of nodes at a time, so nobody waits for it; what changes meanwhile has to
// follow in the log.
func (t *Tree) write(m *making) error {
	t.mu.RLock()
	zxid := t.zxid
	for id, s := range t.sessions {
		m.buf = appendTxn(m.buf, zxid, 0, []Effect{s.effect(id)})
	}
	t.mu.RUnlock()
	todo := []*node{t.root}
	for len(todo) > 0 {
		t.mu.RLock()
		for range chunk {
			last := len(todo) - 1
			if last < 0 || len(m.buf) >= 1<<20 {
				break
			}
			n := todo[last]
			todo = todo[:last]
			if t.nodes[n.path] != n || t.imported(n) {
				continue
			}
			todo = append(todo, n.children()...)
			m.buf = appendTxn(m.buf, zxid, 0, t.effects(n))
		}
		t.mu.RUnlock()
		if err := m.full(); err != nil {
			return err
		}
	}
	return nil
}

// effects are what makes a node again.
func (t *Tree) effects(n *node) []Effect {
	e := Effect{
		Kind: EffectNode, Node: n.kind, Path: n.path, Data: n.data, ACL: n.acl.list, Owner: n.owner,
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Aversion: n.aversion, Creates: n.creates, Reserved: n.reserved,
	}
	if n.held == 0 {
		return []Effect{e}
	}
	return []Effect{e, {Kind: EffectHold, Node: Ephemeral, Path: n.path, Why: t.reasons.text(n.held)}}
}

// remade is a new file but for the end of the log.
type remade struct {
	*making
	err error
}

// begin makes a new file beside the log that goes on. From here on what is
// queued is kept for both.
func (s *Store) begin() <-chan remade {
	s.mu.Lock()
	s.tail, s.tailing = nil, true
	limit := max(s.clock, s.last.Load()+s.reserve)
	s.mu.Unlock()
	ready := make(chan remade, 1)
	go func() {
		m, err := s.make(limit)
		if err == nil {
			if err = s.tree.write(m); err == nil {
				err = m.seal(0)
			}
			if err == nil {
				err = m.file.Sync()
			}
		}
		ready <- remade{m, err}
	}()
	return ready
}

// replace puts a new file in the place of the log. No sync goes on meanwhile, so
// nothing has become durable that the new file has not: what was queued since it
// was begun is added, all but the last of it synced before anybody has to wait.
func (s *Store) replace(made remade) {
	err := made.err
	if err == nil {
		err = s.catchUp(made.making)
	}
	if err == nil {
		err = s.exchange(made.making)
	}
	if err != nil {
		s.mu.Lock()
		s.tail, s.tailing = nil, false
		s.mu.Unlock()
		if made.making != nil {
			_ = made.file.Close()
		}
		_ = s.disk.Remove(storeFileNew)
		s.writing.Lock()
		s.patience = s.offset + s.compactFrom // the log itself goes on
		s.writing.Unlock()
	}
}

// catchUp adds what was queued while the new file was made, and syncs it.
func (s *Store) catchUp(m *making) error {
	s.mu.Lock()
	tail := s.tail
	s.tail = nil
	s.mu.Unlock()
	if len(tail) == 0 {
		return nil
	}
	m.buf = append(m.buf, tail...)
	if err := m.flush(); err != nil {
		return err
	}
	return m.file.Sync()
}

// exchange makes m the log.
func (s *Store) exchange(m *making) error {
	s.writing.Lock()
	s.mu.Lock()
	done, upTo, clock, last := s.done.Load(), s.upTo, s.clock, s.last.Load()
	m.buf = append(m.buf, s.tail...)
	m.buf = binary.AppendVarint(append(m.buf, recordClock), clock)
	m.buf = binary.AppendVarint(append(m.buf, recordSpent), last)
	err := m.flush()
	if err == nil {
		err = s.disk.Rename(storeFileNew, storeFile)
	}
	if err != nil {
		s.mu.Unlock()
		s.writing.Unlock()
		return err
	}
	old, failed := s.file, s.failing.Load()
	s.file, s.nonce, s.offset, s.snapshot = m.file, m.nonce, m.offset, m.offset
	s.clocked, s.told, s.putUpTo = clock, last, upTo
	s.pending, s.tail, s.tailing = s.pending[:0], nil, false
	s.synced.Store(0)
	if failed {
		s.reason.Store(nil)
		s.failing.Store(false)
	}
	s.written.Store(done)
	s.mu.Unlock()
	s.writing.Unlock()

	_ = old.Close()
	s.stats.snapshots.Add(1)
	s.stats.bytes.Add(uint64(m.offset))
	if err = s.settle(m.file); err == nil {
		err = s.markWhole()
	}
	if err != nil {
		s.writing.Lock()
		s.fail(err)
		s.writing.Unlock()
		return nil //nolint:nilerr // it is the log by now
	}
	s.synced.Store(m.offset)
	s.limit.Store(max(clock, s.limit.Load()))
	s.release(upTo)
	if failed {
		s.trouble(nil)
	}
	return nil
}
