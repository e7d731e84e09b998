package wire

import (
	"strings"

	"zkbridge/zkproto"
)

func createScripts() []Script {
	return []Script{
		{Name: "create-basic", Rule: "create, create2, createContainer; null and empty data stay apart", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", zkproto.FlagPersistent)
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/null", ACL: open()})
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/empty", Data: []byte{}, ACL: open()})
			a.GetData("/wire/null", false)
			a.GetData("/wire/empty", false)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			a.GetData("/wire/e", false)
			a.Create2("/wire/p2", zkproto.FlagPersistent)
			a.Create2("/wire/e2", zkproto.FlagEphemeral)
			a.Do(zkproto.OpCreateContainer, &zkproto.CreateRequest{Path: "/wire/c", Data: []byte("c"), ACL: open(), Flags: zkproto.FlagContainer})
			a.Exists("/wire/c", false)
			a.Create("/wire/c/below", zkproto.FlagPersistent)
			a.Exists("/wire/c", false)
			a.GetChildren2("/wire", false)
		}},
		{Name: "create-flags", Rule: "the opcode decides between persistent and container, the flags decide ephemeral and sequential; TTL is off by default", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			for _, op := range []zkproto.OpCode{zkproto.OpCreate, zkproto.OpCreate2, zkproto.OpCreateContainer} {
				for f := zkproto.CreateFlags(-1); f <= 8; f++ {
					r := a.Do(op, &zkproto.CreateRequest{Path: "/wire/n", Data: []byte("x"), ACL: open(), Flags: f})
					path := ""
					switch b := r.Body.(type) {
					case *zkproto.CreateResponse:
						path = b.Path
					case *zkproto.Create2Response:
						path = b.Path
					}
					if path = strings.TrimPrefix(path, s.server.Below); path != "" {
						a.Exists(path, false)
						a.Delete(path, -1)
					}
				}
			}
		}},
		{Name: "create-ttl-disabled", Rule: "createTTL is answered -6 and the connection stays while extended types are off", Run: func(s *Stage) {
			a := s.Connect("A")
			for _, f := range []zkproto.CreateFlags{zkproto.FlagTTL, zkproto.FlagTTLSequential} {
				a.Do(zkproto.OpCreateTTL, &zkproto.CreateTTLRequest{Path: "/wire", Data: []byte("x"), ACL: open(), Flags: f, TTL: 1000})
			}
			a.Exists("/wire", false)
		}},
		{Name: "create-check-order", Rule: "flags, path, ACL, parent, permission, full path, existence, ephemeral parent; the first that fails answers", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			a.CreateACL("/wire/closed", []zkproto.ACL{{Perms: zkproto.PermAll &^ zkproto.PermCreate, Scheme: "world", ID: "anyone"}})
			bad := []zkproto.ACL{{Perms: 31, Scheme: "nosuch", ID: "x"}}
			for _, r := range []zkproto.CreateRequest{
				{Path: "no-slash", ACL: bad, Flags: 9},
				{Path: "no-slash", ACL: bad},
				{Path: "", ACL: open()},
				{Path: "/wire/nul\x00", ACL: bad},
				{Path: "/wire/missing/x", ACL: bad},
				{Path: "/wire/x", ACL: []zkproto.ACL{}},
				{Path: "/wire/x"},
				{Path: "/wire/x", ACL: []zkproto.ACL{{Perms: 31, Scheme: "world", ID: "somebody"}}},
				{Path: "/wire/x", ACL: []zkproto.ACL{{Perms: 31, Scheme: "auth", ID: ""}}},
				{Path: "/wire/x", ACL: []zkproto.ACL{{Perms: 31, Scheme: "digest", ID: "nocolon"}}},
				{Path: "/wire/x", ACL: []zkproto.ACL{{Perms: 31, Scheme: "ip", ID: "300.1.1.1"}}},
				{Path: "/wire/x", ACL: []zkproto.ACL{{Perms: 31, Scheme: "super", ID: "x"}}},
				{Path: "/wire/missing/..", ACL: open()},
				{Path: "/wire/missing/x", ACL: open()},
				{Path: "/wire/closed/..", ACL: open()},
				{Path: "/wire/closed/x", ACL: open()},
				{Path: "/wire/e/..", ACL: open()},
				{Path: "/wire/e/x", ACL: open()},
				{Path: "/wire/e/x", ACL: open(), Flags: zkproto.FlagEphemeral},
				{Path: "/wire/e", ACL: open()},
				{Path: "/wire/e", ACL: open(), Flags: zkproto.FlagEphemeral},
				{Path: "/wire/.", ACL: open()},
				{Path: "/", ACL: open()},
				{Path: "/zookeeper", ACL: open()},
				{Path: "/zookeeper/config", ACL: open()},
			} {
				a.Do(zkproto.OpCreate, &r)
				a.Do(zkproto.OpCreate2, &r)
			}
			a.Delete("/wire/closed", -1)
			a.GetChildren2("/wire", false)
		}},
		{Name: "create-below-zookeeper", Rule: "nodes may be created below /zookeeper and removed again", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/zookeeper/wire", 0)
			a.Create("/zookeeper/wire/x", zkproto.FlagEphemeral)
			a.Delete("/zookeeper/wire/x", -1)
			a.Delete("/zookeeper/wire", -1)
		}},
		{Name: "create-root-sequential", Rule: "create / is -110, with a sequential flag it makes a node named by its number", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/", 0)
			var r Reply
			a.Silently(func() { r = a.Create("/", zkproto.FlagPersistentSequential) })
			made, _ := r.Body.(*zkproto.CreateResponse)
			if made == nil || len(made.Path) != 11 {
				a.logf("sequential child of the root: %v %+v", r.Err, r.Body)
				return
			}
			a.Silently(func() { a.Delete(made.Path, -1) })
			a.logf("sequential child of the root: ten digits")
		}},
	}
}

func sequentialScripts() []Script {
	return []Script{
		{Name: "sequential-names", Rule: "the parent's count of creates, ten digits; deletes and failures do not move it; all prefixes share it", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/plain", 0)
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
			a.Create("/wire/n-", zkproto.FlagEphemeralSequential)
			a.Create2("/wire/other-", zkproto.FlagPersistentSequential)
			a.Create("/wire/plain", 0)
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
			a.Delete("/wire/n-0000000001", -1)
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
			a.Create("/wire/", zkproto.FlagPersistentSequential)
			a.Create("/wire/.", zkproto.FlagPersistentSequential)
			a.Create("/wire/..", zkproto.FlagPersistentSequential)
			a.Create("/wire/missing/n-", zkproto.FlagPersistentSequential)
			a.GetChildren2("/wire", false)
		}},
		{Name: "sequential-collision", Rule: "a name that exists already is -110, no retry", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/n-0000000001", 0)
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
			a.Create("/wire/x", 0)
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
			a.GetChildren("/wire", false)
		}},
		{Name: "sequential-after-recreate", Rule: "deleting and creating the parent resets the count", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
			a.Delete("/wire/n-0000000000", -1)
			a.Exists("/wire", false)
			a.Delete("/wire", -1)
			a.Create("/wire", 0)
			a.Create("/wire/n-", zkproto.FlagPersistentSequential)
		}},
		{Name: "sequential-pipelined", Rule: "pipelined creates are numbered in request order", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			for range 20 {
				a.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/n-", ACL: open(), Flags: zkproto.FlagEphemeralSequential})
			}
			a.RecvAll()
			a.GetChildren2("/wire", false)
		}},
	}
}
