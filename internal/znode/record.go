package znode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"zkbridge/zkproto"
)

// The file of a Store is a header and frames. A frame is what one write put
// there. Each begins by saying up to where the file was on disk when it was
// written: a frame that cannot be read is damage if a later one says that it was
// on disk, and else the torn tail that a power cut leaves.
//
//	header: "zkbtree\x00", format (4 bytes), nonce (8), CRC-32C of the 20 bytes before (4)
//	frame:  0x7a6b6266 (4), length of the records (4), CRC-32C of those and the place (4), CRC-32C of the records (4), records
//
// Both sums of a frame start from the nonce and the frame's place in the file:
// bytes that somebody stored as data of a node never pass for a frame. Integers
// of header and frame are big endian; in records they are varints. Strings and
// data are a length and bytes; the length of data is one more, zero being jute's
// null.
const (
	fileMagic   = "zkbtree\x00"
	fileFormat  = 3 // 1: without TTL nodes, 2: without ephemerals and sessions; both are read as they are
	headerSize  = 24
	frameMagic  = 0x7a6b6266
	frameHeader = 16
)

// The records.
const (
	recordIdentity    byte = 1 // cluster id, key id, secret
	recordIncarnation byte = 2 // incarnation
	recordClock       byte = 3 // no zxid above this one was ever shown
	recordTxn         byte = 4 // zxid, time, number of effects, effects
	recordSealed      byte = 5 // ends what was there when the file was made
	recordSynced      byte = 6 // the file was on disk up to this byte
	recordSpent       byte = 7 // the clock: no zxid above this one was given out by then
	recordBoot        byte = 8 // the boot of the machine in which the file was made
	recordEnd         byte = 9 // the process ended in order; everything before is on disk
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendHeader(dst []byte, format uint32, nonce [8]byte) []byte {
	start := len(dst)
	dst = append(dst, fileMagic...)
	dst = binary.BigEndian.AppendUint32(dst, format)
	dst = append(dst, nonce[:]...)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// sealFrame fills in the first bytes of frame, which were left free for it.
func sealFrame(frame []byte, nonce [8]byte, offset int64) {
	binary.BigEndian.PutUint32(frame, frameMagic)
	binary.BigEndian.PutUint32(frame[4:], uint32(len(frame)-frameHeader))
	head := frameSum(frame, nonce, offset)
	binary.BigEndian.PutUint32(frame[8:], head)
	binary.BigEndian.PutUint32(frame[12:], crc32.Update(head, castagnoli, frame[frameHeader:]))
}

// frameSum is the sum of a frame's place and first eight bytes.
func frameSum(frame []byte, nonce [8]byte, offset int64) uint32 {
	place := binary.BigEndian.AppendUint64(nonce[:], uint64(offset))
	return crc32.Update(crc32.Checksum(place, castagnoli), castagnoli, frame[:8])
}

// frameAt is the frame at offset, nil if none is whole there.
func frameAt(file []byte, nonce [8]byte, offset int64) []byte {
	rest := file[offset:]
	if len(rest) < frameHeader || binary.BigEndian.Uint32(rest) != frameMagic {
		return nil
	}
	head := frameSum(rest, nonce, offset)
	length := int64(binary.BigEndian.Uint32(rest[4:]))
	if head != binary.BigEndian.Uint32(rest[8:]) || length > int64(len(rest)-frameHeader) {
		return nil
	}
	frame := rest[:frameHeader+length]
	if crc32.Update(head, castagnoli, frame[frameHeader:]) != binary.BigEndian.Uint32(frame[12:]) {
		return nil
	}
	return frame
}

// syncedAt is up to where the file was on disk when frame was written; 0 if it
// does not say.
func syncedAt(frame []byte) int64 {
	r := records{src: frame[frameHeader:]}
	if r.byte() != recordSynced {
		return 0
	}
	return r.varint()
}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendData(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b))+1)
	return append(dst, b...)
}

// appendTxn writes what is kept of a transaction: all but what imports did.
func appendTxn(dst []byte, zxid, time int64, effects []Effect) []byte {
	kept := 0
	for i := range effects {
		if !effects[i].passing {
			kept++
		}
	}
	dst = append(dst, recordTxn)
	dst = binary.AppendVarint(dst, zxid)
	dst = binary.AppendVarint(dst, time)
	dst = binary.AppendUvarint(dst, uint64(kept))
	for i := range effects {
		if !effects[i].passing {
			dst = appendEffect(dst, &effects[i])
		}
	}
	return dst
}

func appendEffect(dst []byte, e *Effect) []byte {
	kind := e.Kind
	if kind == EffectAdopt { // the imported node is not in the file
		kind = EffectNode
	}
	dst = append(dst, byte(kind), byte(e.Node))
	dst = appendText(dst, e.Path)
	switch e.Kind {
	case EffectCreate, EffectAdopt, EffectNode:
		dst = appendData(dst, e.Data)
		dst = appendACL(dst, e.ACL)
		for _, v := range []int64{e.Owner, e.Czxid, e.Mzxid, e.Pzxid, e.Ctime, e.Mtime, int64(e.Version), int64(e.Aversion), int64(e.Creates), int64(e.Reserved)} {
			dst = binary.AppendVarint(dst, v)
		}
	case EffectDelete, EffectChildren:
		dst = binary.AppendVarint(dst, e.Pzxid)
		dst = binary.AppendVarint(dst, int64(e.Creates))
	case EffectData:
		dst = appendData(dst, e.Data)
		dst = binary.AppendVarint(dst, e.Mzxid)
		dst = binary.AppendVarint(dst, e.Mtime)
		dst = binary.AppendVarint(dst, int64(e.Version))
	case EffectACL:
		dst = appendACL(dst, e.ACL)
		dst = binary.AppendVarint(dst, int64(e.Aversion))
	case EffectCounter:
		dst = binary.AppendVarint(dst, int64(e.Reserved))
	case EffectSession:
		for _, v := range []int64{e.Owner, e.Czxid, int64(e.Version), int64(e.Reserved)} {
			dst = binary.AppendVarint(dst, v)
		}
	case EffectEnd:
		dst = binary.AppendVarint(dst, e.Owner)
	case EffectHold:
		dst = appendText(dst, e.Why)
	}
	return dst
}

func appendACL(dst []byte, list []zkproto.ACL) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, a := range list {
		dst = binary.AppendVarint(dst, int64(a.Perms))
		dst = appendText(dst, a.Scheme)
		dst = appendText(dst, a.ID)
	}
	return dst
}

var errRecord = errors.New("a record that cannot be read")

// records reads the records of a frame. After the first error every read gives
// zero.
type records struct {
	src []byte
	err error
}

func (r *records) fail() { r.src, r.err = nil, errRecord }

func (r *records) byte() byte {
	if len(r.src) == 0 {
		r.fail()
		return 0
	}
	b := r.src[0]
	r.src = r.src[1:]
	return b
}

func (r *records) varint() int64 {
	v, n := binary.Varint(r.src)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *records) int32() int32 {
	v := r.varint()
	if int64(int32(v)) != v {
		r.fail()
	}
	return int32(v)
}

func (r *records) uvarint() uint64 {
	v, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.src = r.src[n:]
	return v
}

// length is a uvarint that the rest of the frame has room for.
func (r *records) length() int {
	v := r.uvarint()
	if v > uint64(len(r.src)) {
		r.fail()
		return 0
	}
	return int(v)
}

func (r *records) bytes(n int) []byte {
	if n < 0 || n > len(r.src) {
		r.fail()
		return nil
	}
	b := append(make([]byte, 0, n), r.src[:n]...)
	r.src = r.src[n:]
	return b
}

func (r *records) text() string { return string(r.bytes(r.length())) }

func (r *records) data() []byte {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	if n-1 > uint64(len(r.src)) {
		r.fail()
		return nil
	}
	return r.bytes(int(n - 1))
}

func (r *records) acl() []zkproto.ACL {
	list := make([]zkproto.ACL, 0, 1)
	for range r.length() {
		list = append(list, zkproto.ACL{Perms: r.int32(), Scheme: r.text(), ID: r.text()})
	}
	return list
}

func (r *records) txn() Txn {
	txn := Txn{Zxid: r.varint(), Time: r.varint(), Origin: Origin{Kind: Log}}
	for range r.length() {
		txn.Effects = append(txn.Effects, r.effect())
	}
	return txn
}

func (r *records) effect() Effect {
	e := Effect{Kind: EffectKind(r.byte()), Node: Kind(r.byte()), Path: r.text()}
	switch e.Kind {
	case EffectCreate, EffectNode:
		e.Data, e.ACL, e.Owner = r.data(), r.acl(), r.varint()
		e.Czxid, e.Mzxid, e.Pzxid = r.varint(), r.varint(), r.varint()
		e.Ctime, e.Mtime = r.varint(), r.varint()
		e.Version, e.Aversion, e.Creates, e.Reserved = r.int32(), r.int32(), r.int32(), r.int32()
	case EffectDelete, EffectChildren:
		e.Pzxid, e.Creates = r.varint(), r.int32()
	case EffectData:
		e.Data, e.Mzxid, e.Mtime, e.Version = r.data(), r.varint(), r.varint(), r.int32()
	case EffectACL:
		e.ACL, e.Aversion = r.acl(), r.int32()
	case EffectCounter:
		e.Reserved = r.int32()
	case EffectSession:
		e.Owner, e.Czxid, e.Version, e.Reserved = r.varint(), r.varint(), r.int32(), r.int32()
	case EffectEnd:
		e.Owner = r.varint()
	case EffectHold:
		e.Why = r.text()
	default:
		r.fail()
	}
	return e
}

// replay feeds the records of one frame to what they are about.
func (s *Store) replay(t *Tree, frame []byte) error {
	r := records{src: frame[frameHeader:]}
	for len(r.src) > 0 {
		switch kind := r.byte(); kind {
		case recordIdentity:
			s.clusterID, s.keyID, s.secret = r.text(), r.byte(), r.bytes(r.length())
		case recordIncarnation:
			s.incarnation = uint32(r.uvarint())
		case recordClock:
			s.start = r.varint()
		case recordTxn:
			txn := r.txn()
			if r.err != nil {
				break
			}
			s.spentLast = max(s.spentLast, txn.Zxid)
			s.ended = false
			if err := t.repeat(txn); err != nil {
				return err
			}
		case recordSealed:
			s.sealed = true
		case recordSynced:
			r.varint()
		case recordSpent:
			s.spentLast = max(s.spentLast, r.varint())
		case recordBoot:
			s.lastBoot = r.text()
		case recordEnd:
			s.ended = true
		default:
			return fmt.Errorf("a record of unknown kind %d", kind)
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}
