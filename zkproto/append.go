package zkproto

import "encoding/binary"

func appendInt32(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v))
}

func appendInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v))
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// appendBuffer writes nil as null and keeps it apart from empty.
func appendBuffer(dst, b []byte) []byte {
	if b == nil {
		return appendInt32(dst, -1)
	}
	dst = appendInt32(dst, int32(len(b)))
	return append(dst, b...)
}

// appendString writes s as jute does: characters above U+FFFF, which Java holds
// as two UTF-16 units, become two sequences of three bytes
// (BinaryOutputArchive.stringToByteBuffer). Paths cannot contain them.
func appendString(dst []byte, s string) []byte {
	if s == Null {
		return appendInt32(dst, -1)
	}
	for i := range len(s) {
		if s[i] >= 0xF0 {
			return appendAstral(dst, s)
		}
	}
	dst = appendInt32(dst, int32(len(s)))
	return append(dst, s...)
}

func appendAstral(dst []byte, s string) []byte {
	at := len(dst)
	dst = appendInt32(dst, 0)
	for _, c := range s {
		if c < 0x10000 {
			dst = append(dst, string(c)...)
			continue
		}
		c -= 0x10000
		dst = appendUnit(dst, 0xD800+c>>10)
		dst = appendUnit(dst, 0xDC00+c&0x3FF)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

func appendUnit(dst []byte, u rune) []byte {
	return append(dst, 0xE0|byte(u>>12), 0x80|byte(u>>6)&0x3F, 0x80|byte(u)&0x3F)
}

func appendOptional(dst []byte, s *string) []byte {
	if s == nil {
		return appendInt32(dst, -1)
	}
	return appendString(dst, *s)
}

// AppendStrings appends list as a vector of strings; nil is null. It is the
// whole body of a getChildren reply, and may be kept and shared by readers.
func AppendStrings(dst []byte, list []string) []byte {
	if list == nil {
		return appendInt32(dst, -1)
	}
	dst = appendInt32(dst, int32(len(list)))
	for _, s := range list {
		dst = appendString(dst, s)
	}
	return dst
}
