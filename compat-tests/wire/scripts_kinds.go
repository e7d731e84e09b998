package wire

import "zkbridge/zkproto"

// kindScripts pin containers and TTL nodes on a server that has both and looks
// for those to remove several times a second.
func kindScripts() []Script {
	ttl := func(path string, flags zkproto.CreateFlags, ms int64) *zkproto.CreateTTLRequest {
		return &zkproto.CreateTTLRequest{Path: path, Data: []byte("x"), ACL: open(), Flags: flags, TTL: ms}
	}
	opTTL := func(path string, flags zkproto.CreateFlags, ms int64) zkproto.MultiOp {
		return zkproto.MultiOp{Op: zkproto.OpCreateTTL, Path: path, Data: []byte("x"), ACL: open(), Flags: flags, TTL: ms}
	}
	container := func(c *Conn, path string) Reply {
		return c.Do(zkproto.OpCreateContainer, &zkproto.CreateRequest{Path: path, Data: []byte("x"), ACL: open(), Flags: zkproto.FlagContainer})
	}
	// gone waits with a connection that does nothing else, so that the xids of
	// the others are always the same.
	gone := func(s *Stage, c *Conn, path string) {
		s.Until("removal of "+path, func() bool { return c.silentlyMissing(path) })
	}
	const hour = 3600_000
	return []Script{
		{Name: "ttl-create", Setup: Extended, Rule: "TTL nodes: which flags go with which TTL; the owner in Stat is 0", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Do(zkproto.OpCreateTTL, ttl("/wire/t", zkproto.FlagTTL, hour))
			a.Exists("/wire/t", false)
			a.GetData("/wire/t", false)
			a.Do(zkproto.OpCreateTTL, ttl("/wire/t", zkproto.FlagTTL, hour))
			a.Do(zkproto.OpCreateTTL, ttl("/wire/s-", zkproto.FlagTTLSequential, hour))
			a.Do(zkproto.OpCreateTTL, ttl("/wire/longest", zkproto.FlagTTL, 1<<40-1))
			a.Exists("/wire/longest", false)
			for _, ms := range []int64{1 << 40, 0, -1, -1 << 63, 1<<63 - 1} {
				a.Do(zkproto.OpCreateTTL, ttl("/wire/n", zkproto.FlagTTL, ms))
				a.Do(zkproto.OpCreateTTL, ttl("/wire/n", zkproto.FlagTTLSequential, ms))
			}
			for f := zkproto.CreateFlags(-1); f <= 8; f++ {
				if f != zkproto.FlagTTL && f != zkproto.FlagTTLSequential { // and never a TTL below 0, which stops the server
					a.Do(zkproto.OpCreateTTL, ttl("/wire/n", f, hour))
					a.Do(zkproto.OpCreateTTL, ttl("/wire/n", f, 0))
				}
			}
			for _, op := range []zkproto.OpCode{zkproto.OpCreate, zkproto.OpCreate2, zkproto.OpCreateContainer} {
				for _, f := range []zkproto.CreateFlags{zkproto.FlagTTL, zkproto.FlagTTLSequential} {
					a.Do(op, &zkproto.CreateRequest{Path: "/wire/n", ACL: open(), Flags: f})
				}
			}
			a.GetChildren2("/wire", false)
			a.Do(zkproto.OpGetEphemerals, &zkproto.GetEphemeralsRequest{})
		}},
		{Name: "ttl-check-order", Setup: Extended, Rule: "flags and TTL are looked at before path and ACL", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			for _, r := range []*zkproto.CreateTTLRequest{
				{Path: "no-slash", Flags: zkproto.FlagTTL, TTL: 0},
				{Path: "no-slash", Flags: zkproto.FlagTTL, TTL: hour},
				{Path: "/wire/x", Flags: zkproto.FlagTTL, TTL: 0},
				{Path: "/wire/x", Flags: zkproto.FlagTTL, TTL: hour},
				{Path: "/wire/missing/x", Flags: zkproto.FlagTTL, TTL: hour, ACL: open()},
				{Path: "/wire/..", Flags: zkproto.FlagTTL, TTL: hour, ACL: open()},
				{Path: "/wire/e", Flags: zkproto.FlagTTL, TTL: hour, ACL: open()},
				{Path: "/wire/e/x", Flags: zkproto.FlagTTL, TTL: hour, ACL: open()},
			} {
				a.Do(zkproto.OpCreateTTL, r)
			}
		}},
		{Name: "ttl-below", Setup: Extended, Rule: "TTL nodes have children of every kind, also ephemeral ones and TTL nodes", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Do(zkproto.OpCreateTTL, ttl("/wire/t", zkproto.FlagTTL, hour))
			a.Create("/wire/t/p", 0)
			a.Create("/wire/t/e", zkproto.FlagEphemeral)
			a.Do(zkproto.OpCreateTTL, ttl("/wire/t/t", zkproto.FlagTTL, hour))
			container(a, "/wire/t/c")
			a.Delete("/wire/t", -1)
			a.SetData("/wire/t", "y", 0)
			a.SetACL("/wire/t", open(), -1)
			a.GetChildren2("/wire/t", false)
			for _, name := range []string{"p", "e", "t", "c"} {
				a.Delete("/wire/t/"+name, -1)
			}
			a.Delete("/wire/t", 1)
		}},
		{Name: "ttl-multi-enabled", Setup: Extended, Rule: "createTTL in a multi: the flags decide what it is, the result says create or create2", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Multi(opCreate("/wire", 0), opTTL("/wire/t", zkproto.FlagTTL, hour), opTTL("/wire/s-", zkproto.FlagTTLSequential, hour), opCheck("/wire/t", 0))
			for f := zkproto.CreateFlags(-1); f <= 8; f++ {
				a.Multi(opTTL("/wire/n", f, hour), opDelete("/wire/n", 0))
				a.Multi(opTTL("/wire/n", f, 0), opDelete("/wire/n", 0))
			}
			a.Multi(opTTL("/wire/n", zkproto.FlagTTL, -1))
			a.Multi(opTTL("/wire/n", zkproto.FlagTTL, 1<<40))
			a.Multi(opCreate("/wire/n", zkproto.FlagTTL))
			a.Multi(zkproto.MultiOp{Op: zkproto.OpCreateTTL, Path: "/wire/n", Flags: zkproto.FlagTTL, TTL: hour})
			a.Multi(zkproto.MultiOp{Op: zkproto.OpCreateTTL, Path: "/wire/n", ACL: []zkproto.ACL{}, Flags: zkproto.FlagTTL, TTL: hour})
			a.GetChildren2("/wire", false)
		}},
		{Name: "ttl-removed", Setup: Extended, Rule: "a TTL node that has not changed for its time goes, with the events of a delete; not while it has children", Run: func(s *Stage) {
			a, b, p := s.Connect("A"), s.Connect("B"), s.Connect("poller")
			a.Create("/wire", 0)
			a.Do(zkproto.OpCreateTTL, ttl("/wire/t", zkproto.FlagTTL, hour))
			b.Exists("/wire/n", true)
			b.GetChildren("/wire", true)
			a.Do(zkproto.OpCreateTTL, ttl("/wire/n", zkproto.FlagTTL, 1))
			b.Ping()
			b.AddWatch("/wire", zkproto.WatchPersistentRecursive)
			b.GetChildren("/wire", true)
			gone(s, p, "/wire/n")
			b.Ping()
			a.Exists("/wire", false)
			a.Multi(opTTL("/wire/p", zkproto.FlagTTL, 1), opCreate("/wire/p/c", 0))
			a.Create("/wire/d", 0)
			a.Do(zkproto.OpCreateTTL, ttl("/wire/d/n", zkproto.FlagTTL, 1))
			gone(s, p, "/wire/d/n") // a later check than that of /wire/p
			a.Delete("/wire/p/c", 0)
			gone(s, p, "/wire/p")
			a.Exists("/wire", false)
			a.GetChildren2("/wire", false)
			b.Ping()
		}},
		{Name: "ttl-acl", Setup: Extended, Rule: "an ACL that lets nobody delete does not keep a TTL node", Run: func(s *Stage) {
			a, p := s.Connect("A"), s.Connect("poller")
			a.Create("/wire", 0)
			a.Create("/wire/d", 0)
			a.Multi(zkproto.MultiOp{Op: zkproto.OpCreateTTL, Path: "/wire/d/n", Data: []byte("x"), ACL: []zkproto.ACL{{Perms: zkproto.PermRead, Scheme: "world", ID: "anyone"}}, Flags: zkproto.FlagTTL, TTL: 1},
				zkproto.MultiOp{Op: zkproto.OpCreate, Path: "/wire/x", ACL: open()})
			gone(s, p, "/wire/d/n")
			a.Exists("/wire/d", false)
		}},
		{Name: "ttl-restart", Setup: Extended, Restarts: true, Rule: "TTL nodes and containers are the same after a restart", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Do(zkproto.OpCreateTTL, ttl("/wire/t", zkproto.FlagTTL, hour))
			a.Do(zkproto.OpCreateTTL, ttl("/wire/n", zkproto.FlagTTL, 4000))
			container(a, "/wire/c")
			container(a, "/wire/new")
			a.Create("/wire/c/x", 0)
			s.Restart(a)
			b, p := s.Connect("B"), s.Connect("poller")
			b.Exists("/wire/t", false)
			b.Exists("/wire/c", false)
			b.Delete("/wire/c/x", 0)
			gone(s, p, "/wire/n")
			gone(s, p, "/wire/c")
			b.GetChildren2("/wire", false)
		}},
		{Name: "container-removed", Setup: Extended, Rule: "a container goes when its last child has gone, one that never had any stays", Run: func(s *Stage) {
			a, b, p := s.Connect("A"), s.Connect("B"), s.Connect("poller")
			a.Create("/wire", 0)
			container(a, "/wire/never")
			container(a, "/wire/c")
			container(a, "/wire/c/inner")
			a.Create("/wire/c/inner/x", 0)
			b.AddWatch("/wire", zkproto.WatchPersistentRecursive)
			b.AddWatch("/wire/c", zkproto.WatchPersistent)
			b.GetChildren("/wire", true)
			a.SetACL("/wire/c", []zkproto.ACL{{Perms: zkproto.PermRead, Scheme: "world", ID: "anyone"}}, -1)
			a.Delete("/wire/c/inner/x", -1)
			gone(s, p, "/wire/c")
			b.Ping()
			a.GetChildren2("/wire", false)
			a.Create("/wire/c/x", 0)
		}},
		{Name: "container-by-flag", Setup: Extended, Rule: "flag 4 makes a container inside a multi only", Run: func(s *Stage) {
			a, p := s.Connect("A"), s.Connect("poller")
			a.Create("/wire", 0)
			a.Create("/wire/plain", zkproto.FlagContainer)
			a.Create2("/wire/plain2", zkproto.FlagContainer)
			a.Multi(opCreate("/wire/c", zkproto.FlagContainer), opCreate2("/wire/c2", zkproto.FlagContainer))
			a.Do(zkproto.OpCreateContainer, &zkproto.CreateRequest{Path: "/wire/by-op", ACL: open()})
			for _, name := range []string{"plain", "plain2", "c", "c2", "by-op"} {
				a.Create("/wire/"+name+"/x", 0)
			}
			for _, name := range []string{"plain", "plain2", "c", "c2", "by-op"} {
				a.Delete("/wire/"+name+"/x", 0)
			}
			for _, name := range []string{"c", "c2", "by-op"} {
				gone(s, p, "/wire/"+name)
			}
			a.GetChildren2("/wire", false)
		}},
	}
}
