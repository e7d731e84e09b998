package wire

import "zkbridge/zkproto"

func catchUpScripts() []Script {
	return []Script{
		{Name: "set-watches-nothing-changed", Rule: "what did not change is registered; the exist list fires for every node that is there", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			last := a.Create("/wire/n", 0).Zxid
			a.Drop()
			c := s.Resume("C", a)
			c.SetWatches(last, []string{"/wire/n"}, []string{"/wire/missing"}, []string{"/wire"})
			c.Ping()
			b.SetData("/wire/n", "y", -1)
			c.Ping()
			b.Create("/wire/missing", 0)
			c.Ping()
			b.Delete("/wire/missing", -1)
			c.Ping()
		}},
		{Name: "set-watches-catch-up", Rule: "data by mzxid, child by pzxid, both strictly; missing nodes are NodeDeleted; events before the reply, with zxid -1", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			for _, path := range []string{"/wire", "/wire/data", "/wire/child", "/wire/gone", "/wire/same", "/wire/again"} {
				a.Create(path, 0)
			}
			last := a.Sync("/").Zxid
			a.Drop()
			b.SetData("/wire/data", "y", -1)
			b.Create("/wire/child/c", 0)
			b.Delete("/wire/gone", -1)
			b.Create("/wire/appeared", 0)
			b.Delete("/wire/again", -1)
			b.Create("/wire/again", 0)
			c := s.Resume("C", a)
			c.SetWatches(last,
				[]string{"/wire/data", "/wire/child", "/wire/gone", "/wire/same", "/wire/again", "/wire/never"},
				[]string{"/wire/appeared", "/wire/same", "/wire/never"},
				[]string{"/wire/child", "/wire/data", "/wire/gone", "/wire/same", "/wire/again"})
			c.Ping()
			// What fired is consumed, what did not is set.
			for _, path := range []string{"/wire/data", "/wire/child", "/wire/same", "/wire/again", "/wire/appeared"} {
				b.SetData(path, "z", -1)
				b.Create(path+"/new", 0)
			}
			b.Create("/wire/never", 0)
			c.Ping()
		}},
		{Name: "set-watches-boundary", Rule: "the comparison is strictly greater", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			z := a.SetData("/wire", "y", -1).Zxid
			p := a.Create("/wire/c", 0).Zxid
			for _, rel := range []int64{z, z - 1} {
				c := s.Connect("data " + s.zxid(rel))
				c.SetWatches(rel, []string{"/wire"}, nil, nil)
				c.Ping()
			}
			for _, rel := range []int64{p, p - 1} {
				c := s.Connect("child " + s.zxid(rel))
				c.SetWatches(rel, nil, nil, []string{"/wire"})
				c.Ping()
			}
		}},
		{Name: "set-watches-setacl", Rule: "setACL moves neither zxid", Run: func(s *Stage) {
			a := s.Connect("A")
			last := a.Create("/wire", 0).Zxid
			a.SetACL("/wire", open(), -1)
			b := s.Connect("B")
			b.SetWatches(last, []string{"/wire"}, nil, []string{"/wire"})
			b.Ping()
		}},
		{Name: "set-watches-positive-xid", Rule: "go-zookeeper sends it with an ordinary xid, which is echoed", Run: func(s *Stage) {
			a := s.Connect("A")
			last := a.Create("/wire", 0).Zxid
			a.Do(zkproto.OpSetWatches, &zkproto.SetWatchesRequest{RelativeZxid: last, Data: []string{"/wire"}, Exist: []string{}, Child: []string{}})
			a.Do(zkproto.OpSetWatches2, &zkproto.SetWatches2Request{RelativeZxid: last, Data: []string{"/wire"}, Exist: []string{}, Child: []string{}, Persistent: []string{}, PersistentRecursive: []string{}})
			a.SetData("/wire", "y", -1)
		}},
		{Name: "set-watches-several", Rule: "field report 14: several setWatches with xid -8 on one connection, each answered, the union registered", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/a", 0)
			last := a.Create("/wire/b", 0).Zxid
			for _, path := range []string{"/wire", "/wire/a", "/wire/b"} {
				a.SendXid(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{RelativeZxid: last, Data: []string{path}, Exist: []string{}, Child: []string{}})
			}
			a.RecvAll()
			a.SetData("/wire", "y", -1)
			a.SetData("/wire/a", "y", -1)
			a.SetData("/wire/b", "y", -1)
		}},
		{Name: "set-watches-null-list", Rule: "a null list is -5", Run: func(s *Stage) {
			a := s.Connect("A")
			a.DoXid(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{Data: []string{}, Exist: []string{}})
			a.DoXid(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{})
			a.DoXid(zkproto.XidSetWatches, zkproto.OpSetWatches2, &zkproto.SetWatches2Request{Data: []string{}, Exist: []string{}, Child: []string{}})
			a.Exists("/wire", false)
		}},
		{Name: "set-watches-one-event-per-list", Rule: "lists are processed in order; one node in several lists", Run: func(s *Stage) {
			a := s.Connect("A")
			z := a.Sync("/").Zxid
			a.Create("/wire", 0)
			a.Create("/wire/c", 0)
			b := s.Connect("B")
			b.SetWatches(z, []string{"/wire"}, []string{"/wire"}, []string{"/wire"})
			b.SetWatches(z, []string{"/wire/no"}, nil, []string{"/wire/no"})
			b.Ping()
			a.SetData("/wire", "y", -1)
			a.Create("/wire/d", 0)
			b.Ping()
		}},
		{Name: "set-watches-odd-paths", Rule: "paths are not checked", Run: func(s *Stage) {
			a := s.Connect("A")
			a.SetWatches(0, []string{"no-slash", "/wire/"}, []string{"no-slash", "/a//b"}, []string{"/wire/"})
			a.Ping()
		}},
		{Name: "set-watches2-persistent", Rule: "persistent and recursive watches are registered, without catching up", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			last := a.Create("/wire", 0).Zxid
			a.AddWatch("/wire", zkproto.WatchPersistentRecursive)
			a.Drop()
			b.SetData("/wire", "y", -1)
			b.Create("/wire/c", 0)
			c := s.Resume("C", a)
			c.DoXid(zkproto.XidSetWatches, zkproto.OpSetWatches2, &zkproto.SetWatches2Request{
				RelativeZxid: last, Data: []string{}, Exist: []string{}, Child: []string{}, Persistent: []string{"/wire"}, PersistentRecursive: []string{"/wire"},
			})
			c.AddWatch("/wire", zkproto.WatchPersistentRecursive)
			b.SetData("/wire/c", "y", -1)
			b.Create("/wire/d", 0)
			b.Delete("/wire/d", -1)
			c.Ping()
		}},
	}
}
