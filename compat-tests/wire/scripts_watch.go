package wire

import "zkbridge/zkproto"

func watchScripts() []Script {
	return []Script{
		{Name: "watch-exists", Rule: "an exists watch fires once on create, data change or delete; it is left by a miss too", Run: func(s *Stage) {
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
		{Name: "watch-data", Rule: "getData leaves a watch only if it succeeds", Run: func(s *Stage) {
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
		{Name: "watch-children", Rule: "a child watch fires on create and delete of a child and on delete of the node, not on data", Run: func(s *Stage) {
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
		{Name: "watch-order", Rule: "what happened to the node before what happened to its parent", Run: func(s *Stage) {
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
		{Name: "watch-delete-once", Rule: "data and child watch on a deleted node give one NodeDeleted", Run: func(s *Stage) {
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
		{Name: "watch-own-write", Rule: "a writer's own event comes before its reply", Run: func(s *Stage) {
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
		{Name: "watch-failed-write", Rule: "a write that fails fires nothing", Run: func(s *Stage) {
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
		{Name: "watch-idempotent", Rule: "the same watch twice is one watch", Run: func(s *Stage) {
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
		{Name: "watch-flag-false", Rule: "a read without the flag neither sets nor removes a watch", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.GetData("/wire", false)
			a.SetData("/wire", "y", -1)
			a.GetData("/wire", true)
			a.GetData("/wire", false)
			a.SetData("/wire", "z", -1)
		}},
		{Name: "watch-per-connection", Rule: "watches end with the socket, not with the session", Run: func(s *Stage) {
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
		{Name: "watch-denied", Rule: "a read that is refused leaves no watch", Run: func(s *Stage) {
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
		{Name: "watch-ephemeral-end", Rule: "the end of a session fires the delete events of its node, all with its zxid", Run: func(s *Stage) {
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
		{Name: "watch-many-ephemerals-end", Rule: "a one-shot child watch fires once however many nodes go", Run: func(s *Stage) {
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
		{Name: "watch-root", Rule: "the parent of a top-level node is /", Run: func(s *Stage) {
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
