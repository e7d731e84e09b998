package sessions

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// PasswdSize is the length of a password in bytes. The C client reads exactly
// this many.
const PasswdSize = 16

// minKeySize is the shortest accepted key, in bytes.
const minKeySize = 16

// keyring makes passwords. A password is not a secret that is kept but a proof
// that can be computed again: by this bridge after a restart, and by another one
// that has the same key.
type keyring struct {
	id  byte
	key []byte
}

func newKeyring(id byte, key []byte) (keyring, error) {
	if len(key) < minKeySize {
		return keyring{}, fmt.Errorf("the password key has %d bytes, it needs at least %d", len(key), minKeySize)
	}
	return keyring{id: id, key: append([]byte(nil), key...)}, nil
}

// password returns the password of a session: the key's id, the epoch, and 11
// bytes of HMAC-SHA256 over id, bridge and epoch.
func (k keyring) password(id int64, bridge uint8, epoch uint32) [PasswdSize]byte {
	var subject [13]byte
	binary.BigEndian.PutUint64(subject[0:], uint64(id))
	subject[8] = bridge
	binary.BigEndian.PutUint32(subject[9:], epoch)
	mac := hmac.New(sha256.New, k.key)
	mac.Write(subject[:])

	var p [PasswdSize]byte
	p[0] = k.id
	binary.BigEndian.PutUint32(p[1:], epoch)
	copy(p[5:], mac.Sum(nil))
	return p
}
