package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// int32s is the raw form of some ints, for bodies made by hand.
func int32s(list ...int32) []byte {
	var b []byte
	for _, v := range list {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func quote(path string) string { return fmt.Sprintf("%q", path) }

func ustring(s string) []byte { return append(int32s(int32(len(s))), s...) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
