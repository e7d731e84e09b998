package wire

import "zkbridge/zkproto"

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
		{Name: "persistent", Rule: "exactly that path, created, deleted, data and children, for ever", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.AddWatch("/wire/n", zkproto.WatchPersistent)
			b.Create("/wire/n", 0)
			change(b)
			a.Ping()
		}},
		{Name: "persistent-recursive", Rule: "the path and all below, never NodeChildrenChanged", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.AddWatch("/wire/n", zkproto.WatchPersistentRecursive)
			b.Create("/wire/n", 0)
			change(b)
			a.Ping()
		}},
		{Name: "persistent-both-modes", Rule: "modes on one path are independent; one notification for each step and table", Run: func(s *Stage) {
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
		{Name: "persistent-and-standard", Rule: "a one-shot watch neither replaces a persistent one nor is replaced by it", Run: func(s *Stage) {
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
		{Name: "persistent-recursive-prefix", Rule: "below means behind a slash", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.AddWatch("/wire/a", zkproto.WatchPersistentRecursive)
			b.Create("/wire/a", 0)
			b.Create("/wire/ab", 0)
			b.Create("/wire/a/b", 0)
			a.Ping()
		}},
		{Name: "persistent-recursive-root", Rule: "/ covers everything", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.AddWatch("/", zkproto.WatchPersistentRecursive)
			b.Create("/wire", 0)
			b.Create("/wire/x", zkproto.FlagEphemeral)
			b.SetData("/wire/x", "y", -1)
			b.CloseSession()
			a.Ping()
			a.RemoveWatches("/", zkproto.WatcherPersistentRecursive)
		}},
		{Name: "add-watch-odd", Rule: "no check of path or existence; unknown mode is -5", Run: func(s *Stage) {
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
		{Name: "remove-watches", Rule: "this connection, that path, that kind; -121 if there is none", Run: func(s *Stage) {
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
		{Name: "remove-watches-missing-node", Rule: "watches on nodes that do not exist", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Exists("/wire", true)
			a.CheckWatches("/wire", zkproto.WatcherData)
			a.CheckWatches("/wire", zkproto.WatcherChildren)
			a.RemoveWatches("/wire", zkproto.WatcherData)
			a.Create("/wire", 0)
			a.CheckWatches("/wire", zkproto.WatcherAny)
		}},
		{Name: "consumed-watches", Rule: "a watch that fired is gone", Run: func(s *Stage) {
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
