package zkproto

// Permission bits of an ACL entry (ZooDefs.Perms). Servers store other bits
// unchecked.
const (
	PermRead   int32 = 1
	PermWrite  int32 = 2
	PermCreate int32 = 4
	PermDelete int32 = 8
	PermAdmin  int32 = 16
	PermAll    int32 = 31
)

// ACL is one entry of a node's access control list.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// WorldAnyone is the list that lets everybody do everything, freshly made.
func WorldAnyone() []ACL {
	return []ACL{{Perms: PermAll, Scheme: "world", ID: "anyone"}}
}

// aclMin is the least an entry takes: the bits and two empty strings.
const aclMin = 12

func appendACL(dst []byte, list []ACL) []byte {
	if list == nil {
		return appendInt32(dst, -1)
	}
	dst = appendInt32(dst, int32(len(list)))
	for i := range list {
		dst = appendInt32(dst, list[i].Perms)
		dst = appendString(dst, list[i].Scheme)
		dst = appendString(dst, list[i].ID)
	}
	return dst
}

// acl reads a list; nil is jute's null, which a server refuses with InvalidACL
// as it does an empty list. A null scheme or id is [Null].
func (r *reader) acl() []ACL {
	n, null := r.count(aclMin)
	if null {
		return nil
	}
	list := make([]ACL, n)
	for i := range list {
		list[i] = ACL{Perms: r.int32(), Scheme: r.nullable(), ID: r.nullable()}
	}
	return list
}
