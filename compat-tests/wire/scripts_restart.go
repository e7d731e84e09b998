package wire

import "zkbridge/zkproto"

// restartScripts pin what is left of nodes and sessions when the server comes
// back.
func restartScripts() []Script {
	return []Script{
		{Name: "restart-nodes", Restarts: true, Rule: "persistent nodes come back with every field of their Stat, and the counters go on", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create2("/wire", 0)
			a.Create("/wire/null", 0)
			a.Do(zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/wire/null", Version: -1})
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/empty", Data: []byte{}, ACL: open()})
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
			a.Create("/wire/gone", 0)
			a.Delete("/wire/gone", -1)
			a.SetACL("/wire/empty", append(open(), zkproto.ACL{Perms: 1, Scheme: "ip", ID: "192.0.2.1"}), -1)
			a.Multi(opCreate("/wire/m", 0), opCreate("/wire/m/x", 0), opSetData("/wire/m", "y", -1))
			a.Do(zkproto.OpCreateContainer, &zkproto.CreateRequest{Path: "/wire/c", ACL: open(), Flags: zkproto.FlagContainer})
			a.SetData("/wire", "failed", 9)
			s.Restart(a)
			b := s.Connect("B")
			for _, path := range []string{"/wire", "/wire/null", "/wire/empty", "/wire/n-0000000002", "/wire/gone", "/wire/m", "/wire/m/x", "/wire/c"} {
				b.GetData(path, false)
				b.GetACL(path)
			}
			b.GetChildren2("/wire", false)
			b.Create("/wire/n-", zkproto.FlagPersistentSequential)
			b.SetData("/wire/null", "z", 1)
			b.Exists("/wire", false)
		}},
		{Name: "restart-sessions", Restarts: true, Rule: "whether sessions and ephemerals outlive the server", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			a.Create("/wire/a", zkproto.FlagEphemeral)
			b.Create("/wire/b", zkproto.FlagEphemeral)
			s.Restart(a)
			c := s.Resume("C", a)
			c.GetChildren("/wire", false)
			d := s.Connect("D")
			d.GetChildren2("/wire", false)
			d.Exists("/wire/a", false)
		}},
		{Name: "restart-watches", Restarts: true, Rule: "what setWatches fires after a restart", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			last := a.Create("/wire/n", 0).Zxid
			s.Restart(a)
			b := s.Connect("B")
			b.SetWatches(last, []string{"/wire/n"}, []string{"/wire/no"}, []string{"/wire"})
			b.Ping()
		}},
	}
}
