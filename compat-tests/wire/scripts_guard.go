package wire

import "zkbridge/zkproto"

// SuperDigest is the digest of super:secret, which servers of [Guarded] know.
const SuperDigest = "super:lK75jTNcA+U9vtVEw5vB51mj/w4="

func (c *Conn) addAuth(scheme, auth string) Reply {
	return c.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: scheme, Auth: []byte(auth)})
}

// guardScripts pin who may pass: super, skipACL, and who hears of what.
func guardScripts() []Script {
	digest := func(perms int32) []zkproto.ACL {
		return []zkproto.ACL{{Perms: perms, Scheme: "digest", ID: "nobody:knows="}}
	}
	// everything asks for every right on /wire/n, whose ACL gives none.
	everything := func(a *Conn) {
		a.Exists("/wire/n", false)
		a.GetData("/wire/n", false)
		a.GetChildren("/wire/n", false)
		a.GetChildren2("/wire/n", false)
		a.GetACL("/wire/n")
		a.Do(zkproto.OpGetAllChildrenNumber, &zkproto.GetAllChildrenNumberRequest{Path: "/wire/n"})
		a.Do(zkproto.OpMultiRead, &zkproto.MultiReadRequest{Ops: []zkproto.MultiOp{{Op: zkproto.OpGetChildren, Path: "/wire/n"}, {Op: zkproto.OpGetData, Path: "/wire/n"}}})
		a.SetData("/wire/n", "y", 7)
		a.Create("/wire/n/x", 0)
		a.Multi(opCheck("/wire/n", -1))
		a.Delete("/wire/n/x", -1)
		a.SetACL("/wire/n", digest(0), 7)
		a.SetData("/zookeeper/config", "y", 7)
	}
	return []Script{
		{Name: "super", Setup: Guarded, Rule: "who knows the super digest passes every check, and sees the hashes", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			a.CreateACL("/wire/n", digest(31))
			everything(a)
			b.addAuth("digest", "super:secret")
			b.Do(zkproto.OpWhoAmI, nil)
			everything(b)
			b.addAuth("digest", "super:secret")
			b.addAuth("digest", "super:wrong")
			b.Do(zkproto.OpWhoAmI, nil)
			b.CreateACL("/wire/mine", []zkproto.ACL{{Perms: 31, Scheme: "auth", ID: ""}})
			b.GetACL("/wire/mine")
			b.CreateACL("/wire/bad", []zkproto.ACL{{Perms: 31, Scheme: "super", ID: ""}})
			b.CreateACL("/wire/bad", []zkproto.ACL{})
			a.addAuth("digest", "super:wrong")
			a.GetData("/wire/n", false)
			a.addAuth("super", "super:secret")
		}},
		{Name: "super-events", Setup: Guarded, Rule: "an event is for those who may read the node, or the parent where children changed", Run: func(s *Stage) {
			a := s.Connect("A")
			nobody, everybody, friend := s.Connect("stranger"), s.Connect("super"), s.Connect("friend")
			everybody.addAuth("digest", "super:secret")
			friend.addAuth("digest", "amy:secret")
			a.addAuth("digest", "amy:secret")
			mine := []zkproto.ACL{{Perms: 31, Scheme: "auth", ID: ""}}
			a.Create("/wire", 0)
			for _, c := range []*Conn{nobody, everybody, friend} {
				c.Exists("/wire/n", true)
				c.AddWatch("/wire", zkproto.WatchPersistentRecursive)
				c.AddWatch("/wire/n", zkproto.WatchPersistent)
				c.GetChildren("/wire", true)
			}
			a.CreateACL("/wire/n", mine)
			a.SetData("/wire/n", "y", -1)
			a.Create("/wire/n/open", 0)
			a.SetData("/wire/n/open", "y", -1)
			a.Delete("/wire/n/open", -1)
			a.CreateACL("/wire/n/mine", mine)
			a.Delete("/wire/n/mine", -1)
			a.SetACL("/wire/n", open(), -1)
			a.SetData("/wire/n", "z", -1)
			a.SetACL("/wire/n", mine, -1)
			a.Delete("/wire/n", -1)
			for _, c := range []*Conn{nobody, everybody, friend} {
				c.Ping()
				c.CheckWatches("/wire/n", zkproto.WatcherData)
			}
		}},
		{Name: "ip-events", Setup: Guarded, Rule: "an address in an ACL counts for events too, and so does auth that comes after the watch", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.addAuth("digest", "amy:secret")
			a.Create("/wire", 0)
			for _, acl := range [][]zkproto.ACL{
				{{Perms: 31, Scheme: "ip", ID: "127.0.0.1"}},
				{{Perms: 31, Scheme: "ip", ID: "127.0.0.0/8"}},
				{{Perms: 30, Scheme: "ip", ID: "127.0.0.1"}, {Perms: 31, Scheme: "auth", ID: ""}},
				{{Perms: 31, Scheme: "ip", ID: "192.0.2.1"}, {Perms: 31, Scheme: "auth", ID: ""}},
			} {
				b.Exists("/wire/n", true)
				a.CreateACL("/wire/n", acl)
				a.Delete("/wire/n", -1)
				b.Ping()
			}
			b.Exists("/wire/n", true)
			b.addAuth("digest", "amy:secret")
			a.CreateACL("/wire/n", []zkproto.ACL{{Perms: 31, Scheme: "auth", ID: ""}})
			b.Ping()
		}},
		{Name: "skip-acl", Setup: SkipACL, Rule: "with skipACL nothing is denied and lists are checked and kept all the same", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			b.Exists("/wire/n", true)
			b.GetChildren("/wire", true)
			a.CreateACL("/wire/n", digest(31))
			a.CreateACL("/wire/masked", []zkproto.ACL{{Perms: 1, Scheme: "digest", ID: "amy:hash="}})
			everything(a)
			a.GetACL("/wire/masked")
			a.CreateACL("/wire/bad", []zkproto.ACL{})
			a.CreateACL("/wire/bad", []zkproto.ACL{{Perms: 31, Scheme: "auth", ID: ""}})
			a.CreateACL("/wire/bad", []zkproto.ACL{{Perms: 31, Scheme: "nosuch", ID: ""}})
			a.SetACL("/wire/n", []zkproto.ACL{}, -1)
			a.addAuth("nosuch", "x")
			b.Ping()
		}},
	}
}
