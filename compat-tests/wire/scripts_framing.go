package wire

import (
	"encoding/binary"

	"zkbridge/zkproto"
)

func framingScripts() []Script {
	length := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	create := func(path string, size int) []byte {
		return (&zkproto.CreateRequest{Path: path, Data: make([]byte, size), ACL: open()}).AppendTo(nil)
	}
	// fit is a create whose whole frame has n bytes.
	fit := func(path string, n int) []byte {
		return create(path, n-zkproto.RequestHeaderSize-len(create(path, 0)))
	}
	return []Script{
		{Name: "frame-limit", Rule: "a frame of 1,048,575 bytes passes, one more closes", Run: func(s *Stage) {
			a := s.Connect("A")
			a.DoBody(zkproto.OpCreate, "1048575 bytes", fit("/wire", zkproto.DefaultMaxFrame))
			a.Exists("/wire", false)
			a.Silently(func() { a.SendBody(9, zkproto.OpCreate, "1048576 bytes", fit("/wire2", zkproto.DefaultMaxFrame+1)) })
			a.logf("> 1048576 bytes")
			a.ExpectClose()
			b := s.Resume("B", a)
			b.Exists("/wire2", false)
		}},
		{Name: "frame-lengths", Rule: "a negative or giant length, none at all, or no room for the header closes without a reply", Run: func(s *Stage) {
			for _, bad := range []struct {
				what string
				raw  []byte
			}{
				{"length -1", length(0xffffffff)},
				{"length -2147483648", length(0x80000000)},
				{"length 2147483647", length(0x7fffffff)},
				{"length 0", length(0)},
				{"4 bytes", append(length(4), 0, 0, 0, 1)},
				{"7 bytes", append(length(7), 0, 0, 0, 1, 0, 0, 0)},
				{"four letters", []byte("ruok")},
			} {
				a := s.Connect("A")
				a.logf("> %s", bad.what)
				a.SendRaw(bad.raw)
				a.ExpectClose()
			}
		}},
		{Name: "frame-first", Rule: "a first frame that is no connect request closes without a reply", Run: func(s *Stage) {
			for _, bad := range []struct {
				what string
				raw  []byte
			}{
				{"length 0", length(0)},
				{"length -1", length(0xffffffff)},
				{"length 1048576", length(zkproto.DefaultMaxFrame + 1)},
				{"a ping", append(length(8), 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 11)},
				{"27 bytes of zero", append(length(27), make([]byte, 27)...)},
				{"a password longer than the frame", append(length(28), append(make([]byte, 24), 0, 0, 0, 99)...)},
				{"a negative password length", append(length(28), append(make([]byte, 24), 0xff, 0xff, 0xff, 0xf0)...)},
				{"an unknown word", []byte("zzzz")},
				{"an AdminServer command", []byte("lead")},
				{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n")},
			} {
				a := s.Dial("A")
				a.logf("> %s", bad.what)
				a.SendRaw(bad.raw)
				a.ExpectClose()
			}
		}},
		{Name: "frame-first-long", Rule: "bytes behind the connect request are ignored", Run: func(s *Stage) {
			a := s.Dial("A")
			m := zkproto.ConnectRequest{Timeout: 30000, Passwd: make([]byte, 16), HasReadOnly: true}
			a.logf("> connect with 5 bytes more")
			a.SendRaw(zkproto.AppendFrame(nil, func(dst []byte) []byte { return append(m.AppendTo(dst), 1, 2, 3, 4, 5) }))
			a.ReadHandshake()
			a.Sync("/")
		}},
		{Name: "frame-in-pieces", Rule: "frames may come byte by byte", Run: func(s *Stage) {
			a := s.Connect("A")
			body := (&zkproto.SyncRequest{Path: "/wire"}).AppendTo(nil)
			frame := zkproto.AppendFrame(nil, func(dst []byte) []byte {
				return append((&zkproto.RequestHeader{Xid: 1, Op: zkproto.OpSync}).AppendTo(dst), body...)
			})
			a.pending = append(a.pending, sent{1, zkproto.OpSync})
			for i := range frame {
				a.SendRaw(frame[i : i+1])
			}
			a.Recv()
		}},
		{Name: "second-handshake", Rule: "behind the handshake a frame is a request, so a connect request is an unknown operation", Run: func(s *Stage) {
			a := s.Connect("A")
			a.logf("> connect again")
			a.SendRaw(zkproto.AppendFrame(nil, (&zkproto.ConnectRequest{Timeout: 30000, Passwd: make([]byte, 16)}).AppendTo))
			a.ExpectClose()
		}},
	}
}

func decodeScripts() []Script {
	return []Script{
		{Name: "unknown-operations", Rule: "-6 with zxid -1, then the connection closes", Run: func(s *Stage) {
			for _, op := range []zkproto.OpCode{888, 0, 10, 13, 23, 99, 108, -1, -2, 2147483647} {
				a := s.Connect("A")
				a.Do(op, nil)
				a.ExpectClose()
			}
		}},
		{Name: "unknown-operation-pipelined", Rule: "the connection closes behind -6 whatever was pipelined; the real server may or may not answer that", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Send(888, nil)
			a.Send(zkproto.OpExists, &zkproto.ExistsRequest{Path: "/wire"})
			refused := false
			a.Silently(func() {
				for !a.gone {
					if r := a.Recv(); !r.Closed && r.Err == zkproto.Unimplemented {
						refused = true
					}
				}
			})
			a.logf("refused: %v, closed: %v", refused, a.gone)
		}},
		{Name: "create-session-operation", Rule: "createSession from a client", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Do(zkproto.OpCreateSession, nil)
			a.ExpectClose()
		}},
		{Name: "delete-container-operation", Rule: "the server's own clean-up, sent by a client", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Do(zkproto.OpDeleteContainer, &zkproto.DeleteContainerRequest{Path: []byte("/wire")})
			a.Exists("/wire", false)
		}},
		{Name: "undecodable", Rule: "a body that cannot be decoded is -5 with the last zxid, and the connection stays", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			for _, op := range []zkproto.OpCode{
				zkproto.OpCreate, zkproto.OpCreate2, zkproto.OpCreateContainer, zkproto.OpDelete, zkproto.OpExists, zkproto.OpGetData,
				zkproto.OpSetData, zkproto.OpGetACL, zkproto.OpSetACL, zkproto.OpGetChildren, zkproto.OpGetChildren2, zkproto.OpSync,
				zkproto.OpCheckWatches, zkproto.OpRemoveWatches, zkproto.OpSetWatches, zkproto.OpSetWatches2, zkproto.OpAddWatch,
				zkproto.OpGetEphemerals, zkproto.OpGetAllChildrenNumber,
			} {
				a.DoBody(op, "no body", nil)
				a.DoBody(op, "a path that is cut", append(int32s(100), "/wire"...))
				a.DoBody(op, "a negative length", append(int32s(-2), "/wire"...))
				a.DoBody(op, "a path and nothing more", ustring("/wire"))
			}
			a.Exists("/wire", false)
		}},
		{Name: "undecodable-null", Rule: "a null path", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			null := int32s(-1)
			acl := join(int32s(1, 31), ustring("world"), ustring("anyone"))
			for _, r := range []struct {
				op   zkproto.OpCode
				body []byte
			}{
				{zkproto.OpCreate, join(null, null, acl, int32s(0))},
				{zkproto.OpDelete, join(null, int32s(-1))},
				{zkproto.OpExists, join(null, []byte{0})},
				{zkproto.OpGetData, join(null, []byte{0})},
				{zkproto.OpSetData, join(null, null, int32s(-1))},
				{zkproto.OpGetACL, null},
				{zkproto.OpSetACL, join(null, acl, int32s(-1))},
				{zkproto.OpGetChildren, join(null, []byte{0})},
				{zkproto.OpGetChildren2, join(null, []byte{0})},
				{zkproto.OpSync, null},
				{zkproto.OpGetAllChildrenNumber, null},
				{zkproto.OpCheckWatches, join(null, int32s(1))},
				{zkproto.OpRemoveWatches, join(null, int32s(1))},
				{zkproto.OpAddWatch, join(null, int32s(0))},
				{zkproto.OpAddWatch, join(null, int32s(1))},
			} {
				a.DoBody(r.op, "null path", r.body)
			}
			a.Exists("/wire", false)
		}},
		{Name: "undecodable-null-order", Rule: "nulls beside other faults, and in other lists", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			null := int32s(-1)
			acl := join(int32s(1, 31), ustring("world"), ustring("anyone"))
			badACL := join(int32s(1, 31), ustring("world"), ustring("x"))
			for _, r := range []struct {
				what string
				op   zkproto.OpCode
				body []byte
			}{
				{"null path and flags 9", zkproto.OpCreate, join(null, null, acl, int32s(9))},
				{"null path and flags 5", zkproto.OpCreate2, join(null, null, acl, int32s(5))},
				{"null path, bad acl", zkproto.OpCreate, join(null, null, badACL, int32s(0))},
				{"null path, sequential", zkproto.OpCreate, join(null, null, acl, int32s(2))},
				{"null path, cut", zkproto.OpCreate, join(null, null, acl)},
				{"null path", zkproto.OpCreateContainer, join(null, null, acl, int32s(0))},
				{"null path, ttl", zkproto.OpCreateTTL, join(null, null, acl, int32s(5), int32s(0, 1000))},
				{"null id, bad path", zkproto.OpCreate, join(ustring("no-slash"), null, int32s(1, 31), ustring("world"), null, int32s(0))},
				{"null id, missing parent", zkproto.OpCreate, join(ustring("/wire/no/x"), null, int32s(1, 31), ustring("world"), null, int32s(0))},
				{"null id of ip", zkproto.OpCreate, join(ustring("/wire/x"), null, int32s(1, 31), ustring("ip"), null, int32s(0))},
				{"null id of auth", zkproto.OpCreate, join(ustring("/wire/x"), null, int32s(1, 31), ustring("auth"), null, int32s(0))},
				{"null id of nosuch", zkproto.OpCreate, join(ustring("/wire/x"), null, int32s(1, 31), ustring("nosuch"), null, int32s(0))},
				{"null id behind a bad entry", zkproto.OpCreate, join(ustring("/wire/x"), null, int32s(2, 31), ustring("world"), ustring("x"), int32s(31), ustring("world"), null, int32s(0))},
				{"null scheme and id", zkproto.OpCreate, join(ustring("/wire/x"), null, int32s(1, 31), null, null, int32s(0))},
				{"null scheme", zkproto.OpSetACL, join(ustring("/wire"), int32s(1, 31), null, ustring("anyone"), int32s(-1))},
				{"null id", zkproto.OpSetACL, join(ustring("/wire"), int32s(1, 31), ustring("world"), null, int32s(-1))},
				{"null path, null acl", zkproto.OpSetACL, join(null, null, int32s(-1))},
				{"null path, cut", zkproto.OpDelete, null},
				{"null path, unknown type", zkproto.OpCheckWatches, join(null, int32s(9))},
				{"null path, unknown mode", zkproto.OpAddWatch, join(null, int32s(9))},
				{"null prefix", zkproto.OpGetEphemerals, null},
			} {
				a.DoBody(r.op, r.what, r.body)
			}
			a.DoBody(zkproto.OpAddWatch, "null path", join(null, int32s(0)))
			a.DoBody(zkproto.OpCheckWatches, "null path", join(null, int32s(4)))
			a.DoBody(zkproto.OpRemoveWatches, "null path", join(null, int32s(3)))
			a.DoBody(zkproto.OpRemoveWatches, "null path", join(null, int32s(3)))
			a.Exists("/wire", false)
		}},
		{Name: "undecodable-acl", Rule: "null scheme or id in a list", Run: func(s *Stage) {
			a := s.Connect("A")
			head := join(ustring("/wire"), int32s(-1, 1, 31))
			a.DoBody(zkproto.OpCreate, "null id of world", join(head, ustring("world"), int32s(-1), int32s(0)))
			a.DoBody(zkproto.OpCreate, "null scheme", join(head, int32s(-1), ustring("anyone"), int32s(0)))
			a.DoBody(zkproto.OpCreate, "null id of digest", join(head, ustring("digest"), int32s(-1), int32s(0)))
			a.DoBody(zkproto.OpCreate, "negative number of entries", join(ustring("/wire"), int32s(-1, -2, 0)))
			a.DoBody(zkproto.OpCreate, "giant number of entries", join(ustring("/wire"), int32s(-1, 0x7fffffff, 0)))
			a.Exists("/wire", false)
		}},
		{Name: "trailing-bytes", Rule: "bytes behind a record are ignored; any byte but 0 is true", Run: func(s *Stage) {
			a := s.Connect("A")
			a.DoBody(zkproto.OpCreate, "and 3 bytes", append((&zkproto.CreateRequest{Path: "/wire", ACL: open()}).AppendTo(nil), 1, 2, 3))
			a.DoBody(zkproto.OpExists, "watch byte 0x80 and 3 bytes", append(ustring("/wire"), 0x80, 1, 2, 3))
			a.DoBody(zkproto.OpPing, "with a body", []byte{1, 2, 3})
			a.DoBody(zkproto.OpGetData, "watch byte 0", append(ustring("/wire"), 0))
			a.SetData("/wire", "y", -1)
			a.DoBody(zkproto.OpCloseSession, "with a body", []byte{1, 2, 3})
			a.ExpectClose()
		}},
		{Name: "giant-data-length", Rule: "a data length beyond the frame, negative or giant, is -5", Run: func(s *Stage) {
			a := s.Connect("A")
			for _, n := range []int32{100, -2, 0x7fffffff, 3 << 20} {
				a.DoBody(zkproto.OpSetData, "data length "+s.number(n), join(ustring("/wire"), int32s(n, -1)))
			}
			a.Sync("/")
		}},
	}
}
