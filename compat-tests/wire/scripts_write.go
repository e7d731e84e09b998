package wire

import "zkbridge/zkproto"

func writeScripts() []Script {
	return []Script{
		{Name: "delete-check-order", Rule: "path, parent, permission on the parent, node, version, children", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/n", 0)
			a.Create("/wire/n/child", 0)
			a.SetData("/wire/n", "y", -1)
			for _, d := range []zkproto.DeleteRequest{
				{Path: "no-slash", Version: -1},
				{Path: "", Version: -1},
				{Path: "/", Version: -1},
				{Path: "/", Version: 7},
				{Path: "/zookeeper", Version: -1},
				{Path: "/zookeeper/quota", Version: -1},
				{Path: "/zookeeper/config", Version: -1},
				{Path: "/wire/nul\x00", Version: -1},
				{Path: "/wire/missing/x", Version: -1},
				{Path: "/wire/missing", Version: -1},
				{Path: "/wire/n/", Version: -1},
				{Path: "/wire//n", Version: -1},
				{Path: "/wire/n", Version: 0},
				{Path: "/wire/n", Version: 2},
				{Path: "/wire/n", Version: -2},
				{Path: "/wire/n", Version: 1},
				{Path: "/wire/n", Version: -1},
				{Path: "/wire/n/child", Version: 0},
				{Path: "/wire/n", Version: 1},
				{Path: "/wire/n", Version: 1},
			} {
				a.Do(zkproto.OpDelete, &d)
			}
			a.Exists("/wire", false)
		}},
		{Name: "delete-permission", Rule: "the right to delete is on the parent, and is asked before the node is looked for", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.CreateACL("/wire/p", open())
			a.Create("/wire/p/n", 0)
			a.SetACL("/wire/p", []zkproto.ACL{{Perms: 31 &^ zkproto.PermDelete, Scheme: "world", ID: "anyone"}}, -1)
			a.Delete("/wire/p/n", 5)
			a.Delete("/wire/p/missing", -1)
			a.SetACL("/wire/p", open(), -1)
			a.SetACL("/wire/p/n", []zkproto.ACL{{Perms: zkproto.PermRead, Scheme: "world", ID: "anyone"}}, -1)
			a.Delete("/wire/p/n", -1)
		}},
		{Name: "setdata-check-order", Rule: "path, existence, permission, version", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.CreateACL("/wire/ro", []zkproto.ACL{{Perms: zkproto.PermRead, Scheme: "world", ID: "anyone"}})
			a.SetData("no-slash", "y", -1)
			a.SetData("", "y", -1)
			a.SetData("/wire/", "y", -1)
			a.SetData("/wire//n", "y", -1)
			a.SetData("/wire/..", "y", -1)
			a.SetData("/wire/missing", "y", 5)
			a.SetData("/wire/ro", "y", 5)
			a.SetData("/wire", "y", 5)
			a.SetData("/wire", "y", -2)
			a.SetData("/wire", "y", 0)
			a.SetData("/wire", "z", 0)
			a.SetData("/wire", "", 1)
			a.Do(zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/wire", Version: 2})
			a.GetData("/wire", false)
			a.SetData("/wire", "longer than before", -1)
			a.GetData("/wire", false)
		}},
		{Name: "setdata-system-nodes", Rule: "/ and /zookeeper accept setData; /zookeeper/config is written by super only", Run: func(s *Stage) {
			a := s.Connect("A")
			a.SetData("/zookeeper/config", "x", -1)
			// The versions of the others depend on what was played before.
			for _, path := range []string{"/", "/zookeeper", "/zookeeper/quota"} {
				var r Reply
				a.Silently(func() { r = a.Do(zkproto.OpSetData, &zkproto.SetDataRequest{Path: path, Data: []byte{}, Version: -1}) })
				a.logf("setData %s: %s", path, outcome(r.Err))
			}
		}},
		{Name: "sync", Rule: "any path is echoed", Run: func(s *Stage) {
			a := s.Connect("A")
			for _, path := range []string{"/", "/wire", "/wire/missing", "", "no-slash", "/a//b/", "/nul\x00", "/\u00e4\u20ac"} {
				a.Sync(path)
			}
			a.DoBody(zkproto.OpSync, "a character above U+FFFF", ustring("/\U0001F600"))
			a.DoBody(zkproto.OpSync, "bad UTF-8", ustring("/\xc3\xe2\x82x\xf0\x9f\x98y\xed\xa0\xbd\xff"))
		}},
		{Name: "close-session", Rule: "closeSession is answered with its zxid, removes ephemerals, then the connection closes", Run: func(s *Stage) {
			a := s.Connect("A")
			b := s.Connect("B")
			a.Create("/wire", 0)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			b.GetChildren2("/wire", true)
			b.Exists("/wire/e", true)
			a.CloseSession()
			b.Ping()
			b.GetChildren2("/wire", false)
			b.Exists("/wire/e", false)
			b.CloseSession()
		}},
		{Name: "ping", Rule: "a ping is answered with xid -2 whatever it carried", Run: func(s *Stage) {
			a := s.Connect("A")
			for _, xid := range []int32{-2, 77, 0} {
				a.logf("> ping xid=%d", xid)
				a.pending = append(a.pending, sent{zkproto.XidPing, zkproto.OpPing})
				a.SendRaw(zkproto.AppendFrame(nil, func(dst []byte) []byte {
					return (&zkproto.RequestHeader{Xid: xid, Op: zkproto.OpPing}).AppendTo(dst)
				}))
				a.Recv()
			}
		}},
	}
}

func zxidScripts() []Script {
	return []Script{
		{Name: "zxids", Rule: "every write attempt takes one zxid, failed ones too, and so do opening and closing a session; reads take none", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Sync("/")
			a.Create("/wire", 0)
			a.Create("/wire", 0)
			a.Exists("/wire", false)
			a.Exists("/wire/missing", false)
			a.SetData("/wire", "y", 0)
			a.SetData("/wire", "y", 0)
			a.Delete("/wire/missing", -1)
			a.SetACL("/wire", open(), 9)
			a.Create("bad", 0)
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/f", ACL: open(), Flags: 9})
			a.Sync("/")
			a.Do(zkproto.OpPing, nil)
			b := s.Connect("B")
			b.Sync("/")
			b.CloseSession()
			a.Sync("/")
			a.Multi(opCreate("/wire/m", 0), opDelete("/wire/m", -1))
			a.Multi(opCreate("/wire/m", 0), opDelete("/wire/missing", -1))
			a.Multi()
			a.Sync("/")
			c := s.Resume("C", a)
			a.ExpectClose()
			c.Sync("/")
		}},
		{Name: "xids", Rule: "any xid is echoed", Run: func(s *Stage) {
			a := s.Connect("A")
			for _, xid := range []int32{0, 1, 1, 5, -7, 2147483647, -2147483648, 3} {
				a.DoXid(xid, zkproto.OpExists, &zkproto.ExistsRequest{Path: "/wire"})
			}
			for _, xid := range []int32{0, -5, -1000} {
				a.DoXid(xid, zkproto.OpDelete, &zkproto.DeleteRequest{Path: "/wire", Version: -1})
			}
		}},
		{Name: "pipelining", Rule: "replies of a connection come in request order, reads, writes and pings alike", Run: func(s *Stage) {
			a := s.Connect("A")
			for range 3 {
				a.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire", Data: []byte("x"), ACL: open()})
				a.Send(zkproto.OpExists, &zkproto.ExistsRequest{Path: "/wire"})
				a.SendXid(zkproto.XidPing, zkproto.OpPing, nil)
				a.Send(zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/wire", Data: []byte("y"), Version: -1})
				a.Send(zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/wire"})
				a.Send(zkproto.OpSync, &zkproto.SyncRequest{Path: "/wire"})
				a.Send(zkproto.OpDelete, &zkproto.DeleteRequest{Path: "/wire", Version: -1})
				a.Send(zkproto.OpDelete, &zkproto.DeleteRequest{Path: "/wire", Version: -1})
				a.Send(zkproto.OpGetChildren, &zkproto.GetChildrenRequest{Path: "/wire"})
			}
			a.RecvAll()
		}},
		{Name: "pipelined-behind-connect", Rule: "requests behind the connect request are processed once the session is there", Run: func(s *Stage) {
			a := s.Dial("A")
			a.SendHandshake(zkproto.ConnectRequest{Timeout: 30000, Passwd: make([]byte, 16)})
			a.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire", Data: []byte("x"), ACL: open(), Flags: zkproto.FlagEphemeral})
			a.Send(zkproto.OpExists, &zkproto.ExistsRequest{Path: "/wire"})
			a.ReadHandshake()
			a.RecvAll()
			a.Exists("/wire", false)
		}},
		{Name: "pipelined-behind-close", Rule: "what is pipelined behind closeSession is not executed", Run: func(s *Stage) {
			a := s.Connect("A")
			b := s.Connect("B")
			b.Create("/wire", 0)
			a.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/before", ACL: open(), Flags: zkproto.FlagEphemeral})
			a.Send(zkproto.OpCloseSession, nil)
			a.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/behind", ACL: open()})
			a.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/behind-e", ACL: open(), Flags: zkproto.FlagEphemeral})
			a.Recv()
			a.Recv()
			// The real server may or may not spend a zxid on what is behind.
			a.Silently(a.ExpectClose)
			b.Silently(func() {
				r := b.GetChildren("/wire", false)
				b.silent = false
				b.logf("getChildren: %s %s", outcome(r.Err), s.describeOrNone(r))
			})
		}},
	}
}
