package wire

import "zkbridge/zkproto"

func aclScripts() []Script {
	world := func(perms int32) []zkproto.ACL { return []zkproto.ACL{{Perms: perms, Scheme: "world", ID: "anyone"}} }
	return []Script{
		{Name: "acl-basic", Rule: "getACL and setACL; only aversion moves", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.GetACL("/wire")
			a.SetACL("/wire", world(31), -1)
			a.SetACL("/wire", world(31), 1)
			a.SetACL("/wire", world(31), 1)
			a.SetACL("/wire", append(world(31), world(31)...), -1)
			a.GetACL("/wire")
			a.SetACL("/wire", append(world(31), world(1)...), -1)
			a.GetACL("/wire")
			a.Exists("/wire", false)
		}},
		{Name: "acl-check-order", Rule: "path, list, existence, permission, version", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.CreateACL("/wire/noadmin", world(31&^zkproto.PermAdmin))
			a.SetACL("no-slash", nil, 9)
			a.SetACL("/wire/", nil, 9)
			a.SetACL("/wire/missing", nil, 9)
			a.SetACL("/wire/missing", []zkproto.ACL{}, 9)
			a.SetACL("/wire/missing", []zkproto.ACL{{Perms: 31, Scheme: "world", ID: "x"}}, 9)
			a.SetACL("/wire/missing", world(31), 9)
			a.SetACL("/wire/noadmin", world(31), 9)
			a.SetACL("/wire", world(31), 9)
			a.GetACL("/wire/noadmin")
			a.Delete("/wire/noadmin", -1)
		}},
		{Name: "acl-world-bits", Rule: "which right each operation asks, with the world's rights cut", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			// Who may create below a node and not delete there could not clean up.
			for _, bits := range []int32{zkproto.PermRead, zkproto.PermWrite, zkproto.PermCreate | zkproto.PermDelete, zkproto.PermDelete, zkproto.PermAdmin} {
				a.CreateACL("/wire/n", world(bits))
				a.Exists("/wire/n", false)
				a.GetData("/wire/n", false)
				a.GetChildren("/wire/n", false)
				a.GetACL("/wire/n")
				a.SetData("/wire/n", "y", -1)
				a.Create("/wire/n/x", 0)
				a.Delete("/wire/n/x", -1)
				a.Multi(opCheck("/wire/n", -1))
				a.SetACL("/wire/n", world(31), -1)
				a.Delete("/wire/n/x", -1)
				a.Delete("/wire/n", -1)
			}
			for _, odd := range []int32{0, 32, -1, 64 + 31} {
				a.CreateACL("/wire/n", world(odd))
				a.GetACL("/wire/n")
				a.Delete("/wire/n", -1)
			}
		}},
		{Name: "auth", Rule: "the reply echoes the xid, with zxid 0 and no body", Run: func(s *Stage) {
			a := s.Connect("A")
			a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("amy:secret")})
			a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("amy:secret")})
			a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("nocolon")})
			a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte{}})
			a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Type: 9, Scheme: "ip", Auth: []byte("192.0.2.1")})
			// go-zookeeper
			a.Do(zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("bob:secret")})
			a.Exists("/wire", false)
		}},
		{Name: "auth-unknown-scheme", Rule: "-115, then the connection closes", Run: func(s *Stage) {
			for _, scheme := range []string{"nosuch", "world", "auth", ""} {
				a := s.Connect("A " + scheme)
				a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: scheme, Auth: []byte("x")})
				a.ExpectClose()
			}
		}},
		{Name: "auth-null", Rule: "null credentials for digest", Run: func(s *Stage) {
			a := s.Connect("A")
			a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest"})
			a.ExpectClose()
		}},
		{Name: "auth-undecodable", Rule: "EOF inside an auth record closes", Run: func(s *Stage) {
			a := s.Connect("A")
			a.DoBody(zkproto.OpAuth, "cut", int32s(0, 100))
			a.ExpectClose()
		}},
		{Name: "auth-acl", Rule: "auth expands to the connection's digests; digest is enforced and masked", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("amy:secret")})
			a.Create("/wire", 0)
			a.CreateACL("/wire/mine", []zkproto.ACL{{Perms: 31, Scheme: "auth", ID: "ignored"}, {Perms: 1, Scheme: "world", ID: "anyone"}})
			a.GetACL("/wire/mine")
			b.GetACL("/wire/mine")
			b.GetData("/wire/mine", false)
			b.SetData("/wire/mine", "y", -1)
			a.SetData("/wire/mine", "y", -1)
			b.SetACL("/wire/mine", open(), -1)
			a.Delete("/wire/mine", -1)
		}},
		{Name: "who-am-i", Rule: "the identities of the connection", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Do(zkproto.OpWhoAmI, nil)
			a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("amy:secret")})
			a.Do(zkproto.OpWhoAmI, nil)
		}},
		{Name: "sasl", Rule: "a server without SASL answers a null token", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Do(zkproto.OpSASL, &zkproto.SASLRequest{Token: []byte("x")})
			a.Do(zkproto.OpSASL, &zkproto.SASLRequest{})
			a.Exists("/wire", false)
		}},
		{Name: "reconfig", Rule: "-123 while the feature is off, and the connection stays", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Do(zkproto.OpReconfig, &zkproto.ReconfigRequest{CurrentConfig: -1})
			a.Exists("/wire", false)
		}},
	}
}
