package wire

import "zkbridge/zkproto"

func multiScripts() []Script {
	return []Script{
		{Name: "multi-success", Rule: "every kind of operation and its result; one zxid", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Multi(
				opCreate("/wire", 0),
				opCreate("/wire/a", zkproto.FlagEphemeral),
				opCreate2("/wire/b", 0),
				opCreate("/wire/n-", zkproto.FlagPersistentSequential),
				opCreate2("/wire/n-", zkproto.FlagEphemeralSequential),
				zkproto.MultiOp{Op: zkproto.OpCreateContainer, Path: "/wire/c", ACL: open(), Flags: zkproto.FlagContainer},
				opCreate("/wire/c1", zkproto.FlagContainer),
				opCreate2("/wire/c2", zkproto.FlagContainer),
				opSetData("/wire/b", "y", 0),
				opCheck("/wire/b", 1),
				opSetData("/wire/b", "z", 1),
				opDelete("/wire/a", 0),
			)
			a.GetChildren2("/wire", false)
			a.GetData("/wire/b", false)
		}},
		{Name: "multi-failure", Rule: "header OK, an error for each operation; nothing is applied, the zxid is spent", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Multi(opCreate("/wire/a", 0), opSetData("/wire", "y", -1), opDelete("/wire/missing", -1), opCreate("/wire/b", 0))
			a.Multi(opDelete("/wire/missing", -1))
			a.Multi(opCheck("/wire", 5), opCreate("/wire/a", 0))
			a.Multi(opCreate("/wire/a", 0), opCreate("/wire/a", 0))
			a.Multi(opCreate("/wire/a", 0), opCreate("/wire/x/y", 0))
			a.Multi(opCreate("/wire/e", zkproto.FlagEphemeral), opCreate("/wire/e/x", 0))
			a.Multi(opSetData("/wire", "y", 0), opSetData("/wire", "z", 0))
			a.Multi(opDelete("/wire", 0), opCreate("/wire/late", 0))
			a.Multi(opCreate("bad", 0))
			a.Multi(opSetData("bad", "", 0))
			a.Multi(opDelete("bad", 0))
			a.Multi(opCheck("bad", 0))
			a.Multi(opCheck("/wire/missing", -1))
			a.Multi(zkproto.MultiOp{Op: zkproto.OpCreate, Path: "/wire/a", ACL: []zkproto.ACL{}})
			a.GetChildren2("/wire", false)
			a.Create("/wire/next", 0)
		}},
		{Name: "multi-sequence-rollback", Rule: "a failed multi gives its numbers back", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Multi(opCreate("/wire/n-", zkproto.FlagPersistentSequential), opCreate("/wire/n-", zkproto.FlagPersistentSequential), opCheck("/wire", 7))
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
			a.GetChildren2("/wire", false)
		}},
		{Name: "multi-sees-itself", Rule: "operations see the effects of those before them", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Multi(opCreate("/wire", 0), opCreate("/wire/p", 0), opCreate("/wire/p/c", 0), opDelete("/wire/p/c", 0), opDelete("/wire/p", -1), opCheck("/wire", 0))
			a.Multi(opDelete("/wire", -1), opCreate2("/wire", 0), opSetData("/wire", "new", 0))
			a.GetData("/wire", false)
		}},
		{Name: "multi-empty", Rule: "an empty multi succeeds and takes a zxid", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Multi()
			a.Sync("/")
		}},
		{Name: "multi-watches", Rule: "watches fire for each operation in order, with one zxid, before the reply; none if it fails", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			b.AddWatch("/wire", zkproto.WatchPersistentRecursive)
			b.AddWatch("/wire", zkproto.WatchPersistent)
			a.GetChildren("/wire", true)
			a.Exists("/wire/x", true)
			a.Multi(opCreate("/wire/y", 0), opCheck("/wire", 9))
			a.Multi(opCreate("/wire/x", 0), opSetData("/wire/x", "y", -1), opDelete("/wire/x", -1), opSetData("/wire", "z", -1))
			b.Ping()
		}},
		{Name: "multi-undecodable", Rule: "the whole request is -5, and what zxid it takes", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Multi(opCreate("/wire/a", 9))
			a.Multi(opCreate("/wire/a", -1))
			a.Multi(opCreate("/wire/a", zkproto.FlagTTL))
			a.Multi(opCreate2("/wire/a", zkproto.FlagTTLSequential))
			a.Multi(zkproto.MultiOp{Op: zkproto.OpCreateContainer, Path: "/wire/a", ACL: open(), Flags: 8})
			a.Multi(zkproto.MultiOp{Op: zkproto.OpCreate, Path: "/wire/a"})
			a.Multi(opCreate("/wire/a", 0), zkproto.MultiOp{Op: zkproto.OpGetData, Path: "/wire"})
			a.Multi(zkproto.MultiOp{Op: zkproto.OpGetChildren, Path: "/wire"})
			a.DoBody(zkproto.OpMulti, "with setACL", join(int32s(7), []byte{0}, int32s(-1), ustring("/wire"), int32s(0, -1), int32s(-1), []byte{1}, int32s(-1)))
			a.DoBody(zkproto.OpMulti, "with operation 99", join(int32s(99), []byte{0}, int32s(-1), ustring("/wire")))
			a.DoBody(zkproto.OpMulti, "cut", join(int32s(2), []byte{0}, int32s(-1), ustring("/wire")))
			a.DoBody(zkproto.OpMulti, "no body", nil)
			part := func(op zkproto.OpCode, fields ...[]byte) []byte {
				return join(int32s(int32(op)), []byte{0}, int32s(-1), join(fields...), int32s(-1), []byte{1}, int32s(-1))
			}
			null := int32s(-1)
			a.DoBody(zkproto.OpMulti, "create with a null path", part(zkproto.OpCreate, null, null, int32s(1, 31), ustring("world"), ustring("anyone"), int32s(0)))
			a.DoBody(zkproto.OpMulti, "create with a null id", part(zkproto.OpCreate, ustring("/wire/a"), null, int32s(1, 31), ustring("world"), null, int32s(0)))
			a.DoBody(zkproto.OpMulti, "delete with a null path", part(zkproto.OpDelete, null, int32s(-1)))
			a.DoBody(zkproto.OpMulti, "setData with a null path", part(zkproto.OpSetData, null, null, int32s(-1)))
			a.DoBody(zkproto.OpMulti, "check with a null path", part(zkproto.OpCheck, null, int32s(-1)))
			a.DoBody(zkproto.OpMulti, "an end of another type", join(int32s(2), []byte{1}, int32s(0)))
			a.Sync("/")
			a.GetChildren("/wire", false)
		}},
		{Name: "multi-container-flags", Rule: "flags 4 inside a multi make a container whatever the operation", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Multi(opCreate("/wire", 0), zkproto.MultiOp{Op: zkproto.OpCreateContainer, Path: "/wire/a", ACL: open()},
				zkproto.MultiOp{Op: zkproto.OpCreateContainer, Path: "/wire/e", ACL: open(), Flags: zkproto.FlagEphemeral})
			a.Exists("/wire/e", false)
		}},
		{Name: "multi-ttl", Rule: "createTTL in a multi while extended types are off", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Multi(opCreate("/wire", 0), zkproto.MultiOp{Op: zkproto.OpCreateTTL, Path: "/wire/a", ACL: open(), Flags: zkproto.FlagTTL, TTL: 1000})
			a.Exists("/wire", false)
		}},
		{Name: "multi-read", Rule: "each read of a multiRead stands for itself", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/x", 0)
			a.Do(zkproto.OpMultiRead, &zkproto.MultiReadRequest{Ops: []zkproto.MultiOp{
				{Op: zkproto.OpGetChildren, Path: "/wire"},
				{Op: zkproto.OpGetData, Path: "/wire/x"},
				{Op: zkproto.OpGetData, Path: "/wire/missing"},
			}})
			a.Do(zkproto.OpMultiRead, &zkproto.MultiReadRequest{Ops: []zkproto.MultiOp{}})
			a.Exists("/wire", false)
		}},
		{Name: "multi-read-odd", Rule: "watches are not set; data and names of all kinds; missing rights; paths are not looked at", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/null", ACL: open()})
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/empty", Data: []byte{}, ACL: open()})
			a.CreateACL("/wire/closed", []zkproto.ACL{{Perms: 31, Scheme: "digest", ID: "amy:hash="}})
			var all []zkproto.MultiOp
			for _, path := range []string{"/wire", "/wire/e", "/wire/null", "/wire/empty", "/wire/closed", "/wire/", "wire", "/wire/missing", "/zookeeper/config"} {
				all = append(all, zkproto.MultiOp{Op: zkproto.OpGetChildren, Path: path, Watch: true}, zkproto.MultiOp{Op: zkproto.OpGetData, Path: path, Watch: true})
			}
			b.Do(zkproto.OpMultiRead, &zkproto.MultiReadRequest{Ops: all})
			b.CheckWatches("/wire", zkproto.WatcherAny)
			a.SetData("/wire", "y", -1)
			b.Ping()
		}},
		{Name: "multi-read-undecodable", Rule: "writes, mixtures and what cannot be read: -5 and no zxid", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			read := func(ops ...zkproto.MultiOp) {
				a.Do(zkproto.OpMultiRead, &zkproto.MultiReadRequest{Ops: ops})
			}
			getData := zkproto.MultiOp{Op: zkproto.OpGetData, Path: "/wire"}
			read(opCreate("/wire/a", 0))
			read(opCheck("/wire", 0), opDelete("/wire", 9))
			read(getData, opCheck("/wire", 0))
			read(opCheck("/wire", 0), getData)
			read(opCreate("/wire/a", 9))
			read(opCreate("/wire/a", zkproto.FlagTTL))
			read(zkproto.MultiOp{Op: zkproto.OpCreate, Path: "/wire/a"})
			part := func(op zkproto.OpCode, fields ...[]byte) []byte {
				return join(int32s(int32(op)), []byte{0}, int32s(-1), join(fields...))
			}
			end := join(int32s(-1), []byte{1}, int32s(-1))
			null := join(int32s(-1), []byte{0})
			good := part(zkproto.OpGetData, ustring("/wire"), []byte{0})
			a.DoBody(zkproto.OpMultiRead, "getData of a null path", join(part(zkproto.OpGetData, null), end))
			a.DoBody(zkproto.OpMultiRead, "getChildren of a null path", join(part(zkproto.OpGetChildren, null), end))
			a.DoBody(zkproto.OpMultiRead, "a null path behind a read", join(good, part(zkproto.OpGetData, null), end))
			a.DoBody(zkproto.OpMultiRead, "no end", good)
			a.DoBody(zkproto.OpMultiRead, "no body", nil)
			a.DoBody(zkproto.OpMultiRead, "with exists", join(part(zkproto.OpExists, ustring("/wire"), []byte{0}), end))
			a.DoBody(zkproto.OpMultiRead, "with operation 99", join(part(99, ustring("/wire"), []byte{0}), end))
			a.DoBody(zkproto.OpMultiRead, "bytes behind the end", join(good, end, []byte{1, 2, 3}))
			a.DoBody(zkproto.OpMultiRead, "delete of a null path", join(part(zkproto.OpDelete, int32s(-1, -1)), end))
			a.Exists("/wire", false)
		}},
	}
}

func statScripts() []Script {
	return []Script{
		{Name: "stat-arithmetic", Rule: "which field each change moves", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create2("/wire", 0)
			a.Create("/wire/a", 0)
			a.Exists("/wire", false)
			a.Create("/wire/b", 0)
			a.Exists("/wire", false)
			a.Delete("/wire/a", -1)
			a.Exists("/wire", false)
			a.SetData("/wire", "four", -1)
			a.Exists("/wire", false)
			a.SetACL("/wire", open(), -1)
			a.Exists("/wire", false)
			a.SetData("/wire/b", "grandchild changes nothing above", -1)
			a.Create("/wire/b/c", 0)
			a.Exists("/wire", false)
			a.Exists("/wire/b", false)
			b.Create("/wire/e1", zkproto.FlagEphemeral)
			b.Create("/wire/e2", zkproto.FlagEphemeral)
			a.Exists("/wire", false)
			b.CloseSession()
			a.Exists("/wire", false)
			a.Multi(opCreate("/wire/m", 0), opDelete("/wire/m", -1), opCreate("/wire/m2", 0))
			a.Exists("/wire", false)
			a.Create("/wire/m2", 0)
			a.Exists("/wire", false)
		}},
		{Name: "stat-of-recreated", Rule: "a node that is created again starts anew", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create2("/wire", 0)
			a.SetData("/wire", "y", -1)
			a.Create("/wire/x", 0)
			a.Delete("/wire/x", -1)
			a.Delete("/wire", -1)
			a.Create2("/wire", zkproto.FlagEphemeral)
			a.Exists("/wire", false)
		}},
	}
}
