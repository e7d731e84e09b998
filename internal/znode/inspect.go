package znode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Record is one record of a log, as Inspect meets it.
type Record struct {
	Offset   int64  // of the write that put it there, in bytes from the beginning of the file
	Snapshot bool   // it was there when the file was made
	Kind     string // "transaction", or what else it is
	Txn      Txn    // of a transaction
	Text     string // of all others, "" if the kind says everything; never a secret
}

// Report is what a log says of itself.
type Report struct {
	File         string
	Format       uint32
	Size         int64 // in bytes
	Torn         int64 // bytes at the end that belong to a write that was cut off; the next start leaves them out
	Frames       int   // writes
	Transactions int   // behind the snapshot
	ClusterID    string
	Incarnation  uint32
	Zxid         int64 // the last one
	Nodes        int   // the four system nodes included
	Ephemerals   int   // the held ones included
	Held         int
	Sessions     int
	Whole        bool   // the next start on this machine, if it is now, resumes the sessions
	Why          string // why it does, or does not
}

// Inspect reads the log in a data directory, which may be in use, and changes
// nothing. visit is called for each record in its order; nil: nobody is. The error is
// that of visit, or says at which byte the log is damaged: a Store would not open
// it.
func Inspect(dir string, visit func(Record) error) (Report, error) {
	s := &Store{dir: dir, disk: directoryDisk(dir), boot: bootID(), image: bare()}
	report := Report{File: filepath.Join(dir, storeFile)}
	file, err := s.disk.Read(storeFile)
	if errors.Is(err, fs.ErrNotExist) {
		return report, fmt.Errorf("%s has no log (%s); name the data directory of a bridge (data.dir)", dir, storeFile)
	}
	if err != nil {
		return report, fmt.Errorf("read %s: %w", report.File, err)
	}
	report.Size = int64(len(file))
	if visit == nil {
		visit = func(Record) error { return nil }
	}
	if err := report.walk(file, visit); err != nil {
		return report, err
	}
	if err := s.load(file); err != nil {
		return report, fmt.Errorf("%s: %w", report.File, err)
	}
	if err := s.judge(); err != nil {
		return report, err
	}
	t := s.image
	report.Format, report.ClusterID, report.Incarnation = s.format, s.clusterID, s.incarnation
	report.Zxid, report.Nodes, report.Ephemerals, report.Sessions = max(s.spentLast, t.zxid), len(t.nodes), t.ephemerals, len(t.sessions)
	for _, n := range t.nodes {
		if n.held != 0 {
			report.Held++
		}
	}
	report.Whole = s.whole
	switch {
	case s.whole && s.ended:
		report.Why = "it ended in order"
	case s.whole:
		report.Why = "it was written in this boot of the machine"
	case s.format < 3:
		report.Why = "its format has no sessions"
	case !s.ended && (s.boot == "" || s.boot != s.lastBoot):
		report.Why = "the machine was restarted since, or this is another one, and what was not synced may be missing"
	default:
		report.Why = "the disk took no data for a time, and what was done then may be missing"
	}
	return report, nil
}

// walk counts the frames and visits the records, as far as they can be read.
func (p *Report) walk(file []byte, visit func(Record) error) error {
	offset := int64(headerSize)
	if len(file) < headerSize || binary.BigEndian.Uint32(file[8:]) > fileFormat {
		return nil // load says what is wrong
	}
	var nonce [8]byte
	copy(nonce[:], file[12:])
	sealed := false
	for offset < int64(len(file)) {
		frame := frameAt(file, nonce, offset)
		if frame == nil {
			break
		}
		r := records{src: frame[frameHeader:]}
		for len(r.src) > 0 && r.err == nil {
			rec, ok := r.record()
			if !ok || r.err != nil {
				break // load says so
			}
			rec.Offset, rec.Snapshot = offset, !sealed
			if rec.Kind == kindSealed {
				sealed = true
			}
			if rec.Kind == kindTransaction && sealed {
				p.Transactions++
			}
			if err := visit(rec); err != nil {
				return err
			}
		}
		p.Frames++
		offset += int64(len(frame))
	}
	p.Torn = int64(len(file)) - offset
	return nil
}

// The kinds of records that Inspect itself looks at.
const (
	kindTransaction = "transaction"
	kindSealed      = "end of the snapshot"
)

// record reads the next record; false if its kind is unknown.
func (r *records) record() (rec Record, ok bool) {
	switch r.byte() {
	case recordIdentity:
		rec.Kind, rec.Text = "identity", "cluster "+r.text()
		r.byte()
		r.bytes(r.length())
	case recordIncarnation:
		rec.Kind, rec.Text = "incarnation", fmt.Sprint(r.uvarint())
	case recordClock:
		rec.Kind, rec.Text = "zxids reserved", fmt.Sprintf("up to 0x%x", r.varint())
	case recordTxn:
		rec.Kind, rec.Txn = kindTransaction, r.txn()
	case recordSealed:
		rec.Kind = kindSealed
	case recordSynced:
		rec.Kind, rec.Text = "on disk", fmt.Sprintf("up to byte %d", r.varint())
	case recordSpent:
		rec.Kind, rec.Text = "zxids given out", fmt.Sprintf("up to 0x%x", r.varint())
	case recordBoot:
		rec.Kind, rec.Text = "boot of the machine", r.text()
	case recordEnd:
		rec.Kind = "end in order"
	default:
		return rec, false
	}
	return rec, true
}

// String is what an effect does, in words; of data it tells the length.
func (e Effect) String() string {
	stat := func() string { return fmt.Sprintf("%d bytes, czxid 0x%x, mzxid 0x%x", len(e.Data), e.Czxid, e.Mzxid) }
	switch e.Kind {
	case EffectCreate:
		return fmt.Sprintf("create %v %s%s: %s", e.Node, e.Path, e.owner(), stat())
	case EffectNode:
		return fmt.Sprintf("node %v %s%s: %s", e.Node, e.Path, e.owner(), stat())
	case EffectAdopt:
		return fmt.Sprintf("adopt %v %s%s: %s", e.Node, e.Path, e.owner(), stat())
	case EffectDelete:
		return fmt.Sprintf("delete %v %s", e.Node, e.Path)
	case EffectData:
		return fmt.Sprintf("data %s: %d bytes, version %d", e.Path, len(e.Data), e.Version)
	case EffectACL:
		return fmt.Sprintf("acl %s: %v, version %d", e.Path, e.ACL, e.Aversion)
	case EffectCounter:
		return fmt.Sprintf("counter %s: creates reserved up to %d", e.Path, e.Reserved)
	case EffectSession:
		robbed := ""
		if e.Version < 0 {
			robbed = ", robbed"
		}
		return fmt.Sprintf("session 0x%x: timeout %d ms, since 0x%x%s", uint64(e.Owner), max(e.Version, -e.Version), e.Czxid, robbed)
	case EffectEnd:
		return fmt.Sprintf("session 0x%x: over", uint64(e.Owner))
	case EffectHold:
		return fmt.Sprintf("hold %s: %s", e.Path, e.Why)
	case EffectChildren:
		return fmt.Sprintf("children %s: creates %d, pzxid 0x%x", e.Path, e.Creates, e.Pzxid)
	}
	return fmt.Sprintf("effect %d of %s", e.Kind, e.Path)
}

func (e Effect) owner() string {
	switch e.Node {
	case Ephemeral:
		return fmt.Sprintf(" of session 0x%x", uint64(e.Owner))
	case TTL:
		return fmt.Sprintf(" for %d ms", e.Owner)
	}
	return ""
}
