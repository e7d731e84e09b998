package wire

import "zkbridge/zkproto"

func watchScripts() []Script {
	return []Script{
		{Name: "watch-exists", Rule: "spec 4.1 to 4.3: an exists watch fires once on create, data change or delete; it is left by a miss too", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.Exists("/wire/n", true)
			b.Create("/wire/n", 0)
			b.SetData("/wire/n", "y", -1)
			a.Ping()
			a.Exists("/wire/n", true)
			b.SetData("/wire/n", "z", -1)
			b.Delete("/wire/n", -1)
			a.Ping()
			a.Exists("/wire/n", true)
			b.Create("/wire/n", 0)
			a.Ping()
			a.Exists("/wire/n", true)
			b.SetACL("/wire/n", open(), -1)
			b.Create("/wire/n/c", 0)
			b.Delete("/wire/n/c", -1)
			b.Delete("/wire/n", -1)
			a.Ping()
		}},
		{Name: "watch-data", Rule: "spec 4.1: getData leaves a watch only if it succeeds", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.GetData("/wire/n", true)
			b.Create("/wire/n", 0)
			a.Ping()
			a.GetData("/wire/n", true)
			b.SetData("/wire/n", "y", -1)
			b.SetData("/wire/n", "z", -1)
			a.Ping()
			a.GetData("/wire/n", true)
			b.Delete("/wire/n", -1)
			a.Ping()
		}},
		{Name: "watch-children", Rule: "spec 4.1, 4.2: a child watch fires on create and delete of a child and on delete of the node, not on data", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.GetChildren("/wire/n", true)
			b.Create("/wire/n", 0)
			a.Ping()
			a.GetChildren("/wire/n", true)
			b.SetData("/wire/n", "y", -1)
			b.SetACL("/wire/n", open(), -1)
			a.Ping()
			b.Create("/wire/n/c", 0)
			b.Create("/wire/n/d", 0)
			a.Ping()
			a.GetChildren2("/wire/n", true)
			b.SetData("/wire/n/c", "y", -1)
			b.Create("/wire/n/c/deep", 0)
			a.Ping()
			b.Delete("/wire/n/d", -1)
			a.Ping()
			b.Delete("/wire/n/c/deep", -1)
			b.Delete("/wire/n/c", -1)
			a.GetChildren("/wire/n", true)
			b.Delete("/wire/n", -1)
			a.Ping()
		}},
		{Name: "watch-order", Rule: "spec 4.2: what happened to the node before what happened to its parent", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.GetChildren("/wire", true)
			a.Exists("/wire/n", true)
			b.Create("/wire/n", 0)
			a.Ping()
			a.GetChildren("/wire", true)
			a.GetData("/wire/n", true)
			b.Delete("/wire/n", -1)
			a.Ping()
		}},
		{Name: "watch-delete-once", Rule: "spec 4.2: data and child watch on a deleted node give one NodeDeleted", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			b.Create("/wire/n", 0)
			a.GetData("/wire/n", true)
			a.Exists("/wire/n", true)
			a.GetChildren("/wire/n", true)
			a.GetChildren2("/wire", true)
			b.Delete("/wire/n", -1)
			a.Ping()
			b.Create("/wire/n", 0)
			b.Create("/wire/n/c", 0)
			a.Ping()
		}},
		{Name: "watch-own-write", Rule: "spec 1.6: a writer's own event comes before its reply", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.GetChildren("/wire", true)
			a.Exists("/wire/n", true)
			a.Create("/wire/n", 0)
			a.GetData("/wire/n", true)
			a.SetData("/wire/n", "y", -1)
			a.GetData("/wire/n", true)
			a.GetChildren("/wire", true)
			a.Delete("/wire/n", -1)
		}},
		{Name: "watch-failed-write", Rule: "spec 4.2: a write that fails fires nothing", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/n", 0)
			a.GetData("/wire/n", true)
			a.GetChildren("/wire", true)
			a.SetData("/wire/n", "y", 8)
			a.Delete("/wire/n", 8)
			a.Create("/wire/n", 0)
			a.SetACL("/wire/n", open(), 8)
			a.Sync("/wire/n")
			a.Ping()
			a.SetData("/wire/n", "y", 0)
		}},
		{Name: "watch-idempotent", Rule: "spec 4.1: the same watch twice is one watch", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			for range 3 {
				a.GetChildren("/wire", true)
				a.GetChildren2("/wire", true)
				a.GetData("/wire", true)
				a.Exists("/wire", true)
			}
			a.Create("/wire/x", 0)
			a.SetData("/wire", "y", -1)
			a.SetData("/wire", "z", -1)
		}},
		{Name: "watch-flag-false", Rule: "spec 4.1: a read without the flag neither sets nor removes a watch", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.GetData("/wire", false)
			a.SetData("/wire", "y", -1)
			a.GetData("/wire", true)
			a.GetData("/wire", false)
			a.SetData("/wire", "z", -1)
		}},
		{Name: "watch-per-connection", Rule: "spec 4.1: watches end with the socket, not with the session", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			a.GetChildren("/wire", true)
			a.AddWatch("/wire", zkproto.WatchPersistent)
			a.Drop()
			c := s.Resume("C", a)
			b.Create("/wire/n", 0)
			c.Ping()
			c.CheckWatches("/wire", zkproto.WatcherAny)
		}},
		{Name: "watch-denied", Rule: "spec 2.4: a read that is refused leaves no watch", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			b.CreateACL("/wire/n", []zkproto.ACL{{Perms: 31 &^ zkproto.PermRead, Scheme: "world", ID: "anyone"}})
			a.Exists("/wire/n", true)
			a.GetData("/wire/n", true)
			a.GetChildren("/wire/n", true)
			b.SetACL("/wire/n", open(), -1)
			b.SetData("/wire/n", "y", -1)
			b.Delete("/wire/n", -1)
			a.Ping()
		}},
		{Name: "watch-ephemeral-end", Rule: "spec 4.7: the end of a session fires the delete events of its node, all with its zxid", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			b.Create("/wire/e", zkproto.FlagEphemeral)
			a.Exists("/wire/e", true)
			a.GetChildren("/wire", true)
			b.GetChildren("/wire", true)
			b.Exists("/wire/e", true)
			b.CloseSession()
			a.Ping()
			a.Exists("/wire", false)
		}},
		{Name: "watch-many-ephemerals-end", Rule: "spec 4.7: a one-shot child watch fires once however many nodes go", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			for range 5 {
				b.Create("/wire/e-", zkproto.FlagEphemeralSequential)
			}
			a.GetChildren("/wire", true)
			b.CloseSession()
			a.Ping()
			a.GetChildren2("/wire", false)
		}},
		{Name: "watch-root", Rule: "spec 4.2: the parent of a top-level node is /", Run: func(s *Stage) {
			a := s.Connect("A")
			var r Reply
			a.Silently(func() { r = a.GetChildren("/", true) })
			a.logf("getChildren / watch: %s", outcome(r.Err))
			a.Create("/wire", 0)
			a.Silently(func() { a.GetChildren("/", true) })
			a.Delete("/wire", -1)
		}},
	}
}

func catchUpScripts() []Script {
	return []Script{
		{Name: "set-watches-nothing-changed", Rule: "spec 4.4: what did not change is registered; the exist list fires for every node that is there", Run: func(s *Stage) {
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
		{Name: "set-watches-catch-up", Rule: "spec 4.4: data by mzxid, child by pzxid, both strictly; missing nodes are NodeDeleted; events before the reply, with zxid -1", Run: func(s *Stage) {
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
		{Name: "set-watches-boundary", Rule: "spec 4.4: the comparison is strictly greater", Run: func(s *Stage) {
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
		{Name: "set-watches-setacl", Rule: "spec 4.4: setACL moves neither zxid", Run: func(s *Stage) {
			a := s.Connect("A")
			last := a.Create("/wire", 0).Zxid
			a.SetACL("/wire", open(), -1)
			b := s.Connect("B")
			b.SetWatches(last, []string{"/wire"}, nil, []string{"/wire"})
			b.Ping()
		}},
		{Name: "set-watches-positive-xid", Rule: "spec 1.5: go-zookeeper sends it with an ordinary xid, which is echoed", Run: func(s *Stage) {
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
		{Name: "set-watches-null-list", Rule: "spec 4.4: a null list is -5", Run: func(s *Stage) {
			a := s.Connect("A")
			a.DoXid(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{Data: []string{}, Exist: []string{}})
			a.DoXid(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{})
			a.DoXid(zkproto.XidSetWatches, zkproto.OpSetWatches2, &zkproto.SetWatches2Request{Data: []string{}, Exist: []string{}, Child: []string{}})
			a.Exists("/wire", false)
		}},
		{Name: "set-watches-one-event-per-list", Rule: "spec 4.4: lists are processed in order; one node in several lists", Run: func(s *Stage) {
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
		{Name: "set-watches-odd-paths", Rule: "spec 4.4: paths are not checked", Run: func(s *Stage) {
			a := s.Connect("A")
			a.SetWatches(0, []string{"no-slash", "/wire/"}, []string{"no-slash", "/a//b"}, []string{"/wire/"})
			a.Ping()
		}},
		{Name: "set-watches2-persistent", Rule: "spec 4.4: persistent and recursive watches are registered, without catching up", Run: func(s *Stage) {
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

func persistentScripts() []Script {
	change := func(b *Conn) {
		b.SetData("/wire/n", "y", -1)
		b.SetACL("/wire/n", open(), -1)
		b.Create("/wire/n/c", 0)
		b.SetData("/wire/n/c", "y", -1)
		b.Create("/wire/n/c/d", 0)
		b.Delete("/wire/n/c/d", -1)
		b.Delete("/wire/n/c", -1)
		b.Delete("/wire/n", -1)
		b.Create("/wire/n", 0)
		b.Create("/wire/nn", 0)
	}
	return []Script{
		{Name: "persistent", Rule: "spec 4.3: exactly that path, created, deleted, data and children, for ever", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.AddWatch("/wire/n", zkproto.WatchPersistent)
			b.Create("/wire/n", 0)
			change(b)
			a.Ping()
		}},
		{Name: "persistent-recursive", Rule: "spec 4.3: the path and all below, never NodeChildrenChanged", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.AddWatch("/wire/n", zkproto.WatchPersistentRecursive)
			b.Create("/wire/n", 0)
			change(b)
			a.Ping()
		}},
		{Name: "persistent-both-modes", Rule: "spec 4.1: modes on one path are independent; one notification for each step and table", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.AddWatch("/wire/n", zkproto.WatchPersistent)
			a.AddWatch("/wire/n", zkproto.WatchPersistentRecursive)
			a.AddWatch("/wire", zkproto.WatchPersistentRecursive)
			a.AddWatch("/wire", zkproto.WatchPersistent)
			b.Create("/wire/n", 0)
			change(b)
			a.Ping()
		}},
		{Name: "persistent-and-standard", Rule: "spec 4.1: a one-shot watch neither replaces a persistent one nor is replaced by it", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			b.Create("/wire/n", 0)
			a.AddWatch("/wire/n", zkproto.WatchPersistent)
			a.GetData("/wire/n", true)
			a.GetChildren("/wire/n", true)
			b.SetData("/wire/n", "y", -1)
			b.SetData("/wire/n", "z", -1)
			b.Create("/wire/n/c", 0)
			b.Create("/wire/n/d", 0)
			a.Ping()
			a.GetData("/wire/n", true)
			a.AddWatch("/wire/n", zkproto.WatchPersistentRecursive)
			a.RemoveWatches("/wire/n", zkproto.WatcherPersistent)
			b.SetData("/wire/n", "u", -1)
			b.SetData("/wire/n", "v", -1)
			a.Ping()
			a.RemoveWatches("/wire/n", zkproto.WatcherPersistentRecursive)
			b.SetData("/wire/n", "w", -1)
			a.Ping()
		}},
		{Name: "persistent-recursive-prefix", Rule: "spec 4.3: below means behind a slash", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.AddWatch("/wire/a", zkproto.WatchPersistentRecursive)
			b.Create("/wire/a", 0)
			b.Create("/wire/ab", 0)
			b.Create("/wire/a/b", 0)
			a.Ping()
		}},
		{Name: "persistent-recursive-root", Rule: "spec 4.3: / covers everything", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.AddWatch("/", zkproto.WatchPersistentRecursive)
			b.Create("/wire", 0)
			b.Create("/wire/x", zkproto.FlagEphemeral)
			b.SetData("/wire/x", "y", -1)
			b.CloseSession()
			a.Ping()
			a.RemoveWatches("/", zkproto.WatcherPersistentRecursive)
		}},
		{Name: "add-watch-odd", Rule: "spec 2.4, 2.1: no check of path or existence; unknown mode is -5", Run: func(s *Stage) {
			a := s.Connect("A")
			for _, path := range []string{"no-slash", "", "/wire/", "/wire//n", "/wire"} {
				a.AddWatch(path, zkproto.WatchPersistent)
				a.AddWatch(path, zkproto.WatchPersistentRecursive)
			}
			a.AddWatch("/wire", 2)
			a.AddWatch("/wire", -1)
			a.AddWatch("/wire", zkproto.WatchPersistent)
			a.Create("/wire", 0)
		}},
		{Name: "remove-watches", Rule: "spec 4.5: this connection, that path, that kind; -121 if there is none", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			b.Create("/wire/n", 0)
			set := func() {
				a.Silently(func() {
					a.GetData("/wire/n", true)
					a.GetChildren("/wire/n", true)
					a.AddWatch("/wire/n", zkproto.WatchPersistent)
					a.AddWatch("/wire/n", zkproto.WatchPersistentRecursive)
				})
				a.logf("-- one watch of each kind")
			}
			check := func(op func(string, zkproto.WatcherType) Reply, path string) {
				for kind := zkproto.WatcherChildren; kind <= zkproto.WatcherPersistentRecursive; kind++ {
					op(path, kind)
				}
			}
			check(a.CheckWatches, "/wire/n")
			set()
			check(a.CheckWatches, "/wire/n")
			check(a.CheckWatches, "/wire")
			check(a.CheckWatches, "/wire/n/below")
			check(b.CheckWatches, "/wire/n")
			check(b.RemoveWatches, "/wire/n")
			for kind := zkproto.WatcherChildren; kind <= zkproto.WatcherPersistentRecursive; kind++ {
				set()
				a.RemoveWatches("/wire/n", kind)
				check(a.CheckWatches, "/wire/n")
				b.SetData("/wire/n", "y", -1)
				b.Create("/wire/n/c", 0)
				b.Delete("/wire/n/c", -1)
				a.Ping()
				a.Silently(func() { a.RemoveWatches("/wire/n", zkproto.WatcherAny) })
			}
			check(a.RemoveWatches, "/wire/n")
			for _, kind := range []zkproto.WatcherType{0, 6, -1} {
				a.CheckWatches("/wire/n", kind)
				a.RemoveWatches("/wire/n", kind)
			}
		}},
		{Name: "remove-watches-missing-node", Rule: "spec 4.5: watches on nodes that do not exist", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Exists("/wire", true)
			a.CheckWatches("/wire", zkproto.WatcherData)
			a.CheckWatches("/wire", zkproto.WatcherChildren)
			a.RemoveWatches("/wire", zkproto.WatcherData)
			a.Create("/wire", 0)
			a.CheckWatches("/wire", zkproto.WatcherAny)
		}},
		{Name: "consumed-watches", Rule: "spec 4.3, 4.5: a watch that fired is gone", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.GetData("/wire", true)
			a.CheckWatches("/wire", zkproto.WatcherData)
			a.SetData("/wire", "y", -1)
			a.CheckWatches("/wire", zkproto.WatcherData)
			a.GetChildren("/wire", true)
			a.Delete("/wire", -1)
			a.CheckWatches("/wire", zkproto.WatcherAny)
		}},
	}
}
