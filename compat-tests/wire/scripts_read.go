package wire

import "zkbridge/zkproto"

func readScripts() []Script {
	return []Script{
		{Name: "read-rows", Rule: "the checks of exists, getData, getChildren, getChildren2, getAllChildrenNumber and getACL", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/n", 0)
			a.Create("/wire/n/x", 0)
			a.Create("/wire/n/y", zkproto.FlagEphemeral)
			a.CreateACL("/wire/blind", []zkproto.ACL{{Perms: 31 &^ zkproto.PermRead, Scheme: "world", ID: "anyone"}})
			a.CreateACL("/wire/dumb", []zkproto.ACL{{Perms: zkproto.PermWrite, Scheme: "world", ID: "anyone"}})
			for _, path := range []string{"/wire/n", "/wire/n/x", "/wire/missing", "/wire/blind", "/wire/dumb", "/wire/n/", "/wire//n", "/wire/./n", "no-slash", "/wire/nul\x00"} {
				a.Exists(path, false)
				a.GetData(path, false)
				a.GetChildren(path, false)
				a.GetChildren2(path, false)
				a.Do(zkproto.OpGetAllChildrenNumber, &zkproto.GetAllChildrenNumberRequest{Path: path})
				a.GetACL(path)
			}
			a.Delete("/wire/blind", -1)
			a.Delete("/wire/dumb", -1)
		}},
		{Name: "all-children-number", Rule: "all descendants, without the node", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire2", 0)
			a.Create("/wire/a", 0)
			a.Create("/wire/a/b", 0)
			a.Create("/wire/a/b/c", 0)
			a.Create("/wire/ab", 0)
			for _, path := range []string{"/wire", "/wire/a", "/wire/a/b/c", "/wire2", "/zookeeper"} {
				a.Do(zkproto.OpGetAllChildrenNumber, &zkproto.GetAllChildrenNumberRequest{Path: path})
			}
			count := func() int32 {
				n := int32(-1)
				a.Silently(func() {
					if r, ok := a.Do(zkproto.OpGetAllChildrenNumber, &zkproto.GetAllChildrenNumberRequest{Path: "/"}).Body.(*zkproto.GetAllChildrenNumberResponse); ok {
						n = r.Count
					}
				})
				return n
			}
			before := count()
			a.Create("/wire/a/b/d", 0)
			a.logf("one more node changes the number of the root by %d", count()-before)
		}},
		{Name: "ephemerals", Rule: "the caller's own, by plain prefix", Run: func(s *Stage) {
			a := s.Connect("A")
			b := s.Connect("B")
			a.Create("/wire", 0)
			a.Create("/wire/a1", zkproto.FlagEphemeral)
			a.Create("/wire/a2", zkproto.FlagEphemeralSequential)
			b.Create("/wire/b1", zkproto.FlagEphemeral)
			for _, prefix := range []string{"/", "", "  ", "/wire", "/wire/", "/wire/a", "/wire/a1", "/wire/a1/", "/wire/b", "/nothing"} {
				a.Do(zkproto.OpGetEphemerals, &zkproto.GetEphemeralsRequest{Prefix: prefix})
			}
			a.DoBody(zkproto.OpGetEphemerals, "null prefix", int32s(-1))
			b.Do(zkproto.OpGetEphemerals, &zkproto.GetEphemeralsRequest{Prefix: "/"})
			a.Delete("/wire/a1", -1)
			a.Do(zkproto.OpGetEphemerals, &zkproto.GetEphemeralsRequest{Prefix: "/"})
		}},
		{Name: "empty-path", Rule: "the empty string is an alias of / in reads", Run: func(s *Stage) {
			a := s.Connect("A")
			// The root's Stat depends on what was played before: compare.
			same := func(what string, read func(path string) Reply) {
				var x, y Reply
				a.Silently(func() { x, y = read("/"), read("") })
				equal := x.Err == y.Err && s.describeOrNone(x) == s.describeOrNone(y)
				a.logf("%s of \"\": %s, the same as of /: %v", what, outcome(y.Err), equal)
			}
			same("exists", func(p string) Reply { return a.Exists(p, false) })
			same("getData", func(p string) Reply { return a.GetData(p, false) })
			same("getChildren", func(p string) Reply { return a.GetChildren(p, false) })
			same("getChildren2", func(p string) Reply { return a.GetChildren2(p, false) })
			same("getACL", func(p string) Reply { return a.GetACL(p) })
		}},
		{Name: "system-nodes", Rule: "the four nodes that every server has", Run: func(s *Stage) {
			a := s.Connect("A")
			a.GetData("/zookeeper/config", false)
			a.GetACL("/zookeeper/config")
			a.GetChildren("/zookeeper/config", false)
			a.GetChildren("/zookeeper/quota", false)
			a.GetChildren("/zookeeper", false)
			a.Silently(func() {
				r, _ := a.GetChildren2("/", false).Body.(*zkproto.GetChildren2Response)
				a.silent = false
				if r != nil {
					a.logf("the root: czxid=%d ctime=%d owner=%d", r.Stat.Czxid, r.Stat.Ctime, r.Stat.EphemeralOwner)
				}
			})
		}},
	}
}

func (s *Stage) describeOrNone(r Reply) string {
	if r.Body == nil {
		return ""
	}
	return s.describe(r.Body)
}

// pathScripts have the table of field report 27.
func pathScripts() []Script {
	paths := []string{
		"", "wire", "/wire/a/", "/wire/a//b", "/wire/a/.", "/wire/a/..", "/wire/a/../b", "/wire/a/./b", "/wire/nul\x00",
		"/wire/\x01", "/wire/\x1f", "/wire/\x7f", "/wire/\u0080", "/wire/\u009f", "/wire/\u00a0", "/wire/\ue000", "/wire/\uf8ff", "/wire/\uf900",
		"/wire/\uffef", "/wire/\ufff0", "/wire/\uffff", "/wire/\ufffd", "/wire/\U0001F600", "/wire/\xff",
		"/wire/..a", "/wire/a.b", "/wire/...", "/wire/.a", "/wire/a b", "/wire/a:b*c\\d?e#f%2F", "/wire/\u00e4\u4e2d",
	}
	return []Script{
		{Name: "paths", Rule: "field report 27: which paths each operation accepts; the connection stays", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/a", 0)
			for _, path := range paths {
				raw := ustring(path)
				a.DoBody(zkproto.OpCreate, quote(path), join(raw, int32s(-1), int32s(1, 31), ustring("world"), ustring("anyone"), int32s(0)))
				if path != "" {
					a.DoBody(zkproto.OpExists, quote(path), join(raw, []byte{0}))
					a.DoBody(zkproto.OpGetData, quote(path), join(raw, []byte{0}))
					a.DoBody(zkproto.OpGetChildren, quote(path), join(raw, []byte{0}))
				}
				a.DoBody(zkproto.OpSetData, quote(path), join(raw, int32s(-1, -1)))
				a.DoBody(zkproto.OpSetACL, quote(path), join(raw, int32s(1, 31), ustring("world"), ustring("anyone"), int32s(-1)))
				a.DoBody(zkproto.OpDelete, quote(path), join(raw, int32s(-1)))
			}
			a.GetChildren("/wire", false)
		}},
		{Name: "paths-sequential", Rule: "the whole path is checked with its number", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			for _, path := range []string{"/wire/.", "/wire/..", "/wire/", "/wire//", "/wire/a/", "/wire/\x01", "/wire/./", "wire"} {
				a.Create(path, zkproto.FlagPersistentSequential)
			}
		}},
	}
}
