package wire

import "zkbridge/zkproto"

const (
	quotaRoot = "/zookeeper/quota"
	limits    = "/zookeeper_limits"
	stats     = "/zookeeper_stats"
)

// quota makes the nodes of a quota as ZooKeeper's setquota does.
func (c *Conn) quota(path, text string) {
	dir := quotaRoot
	for _, name := range splitPath(path) {
		dir += "/" + name
		if c.silentlyMissing(dir) {
			c.Create(dir, 0)
		}
	}
	create := func(name, text string) {
		c.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: dir + name, Data: []byte(text), ACL: open()})
	}
	create(limits, text)
	create(stats, "count=0,bytes=0")
}

func (c *Conn) silentlyMissing(path string) (missing bool) {
	c.Silently(func() { missing = c.Exists(path, false).Err == zkproto.NoNode })
	return missing
}

// usage reads the stats of a quota.
func (c *Conn) usage(path string) { c.GetData(quotaRoot+path+stats, false) }

// quotaScripts pin the counting below /zookeeper/quota, and the limits where the
// server is told to enforce them.
func quotaScripts() []Script {
	counting := func(s *Stage) {
		a, b := s.Connect("A"), s.Connect("B")
		a.Create("/wire", 0)
		a.Create("/wire/old", 0)
		a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/old/null", ACL: open()})
		a.quota("/wire", "count=-1,bytes=-1")
		a.usage("/wire")
		b.AddWatch(quotaRoot+"/wire", zkproto.WatchPersistentRecursive)
		b.GetData(quotaRoot+"/wire"+stats, true)
		a.Create("/wire/a", 0)
		a.usage("/wire")
		a.Create("/wire/n-", zkproto.FlagPersistentSequential)
		b.Create("/wire/e", zkproto.FlagEphemeral)
		a.usage("/wire")
		a.SetData("/wire/a", "longer", -1)
		a.usage("/wire")
		a.Do(zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/wire/a", Version: -1})
		a.usage("/wire")
		a.SetData("/wire", "the root counts", -1)
		a.usage("/wire")
		a.SetACL("/wire/a", open(), -1)
		a.Delete("/wire/a", -1)
		a.Multi(opCreate("/wire/m", 0), opSetData("/wire/m", "yy", -1), opDelete("/wire/old/null", -1))
		a.Multi(opCreate("/wire/m2", 0), opCheck("/wire", 77))
		a.usage("/wire")
		b.CloseSession()
		a.usage("/wire")
		a.Delete("/wire/missing", -1)
		a.Create("/wire/m", 0)
		a.usage("/wire")
	}
	return []Script{
		{Name: "quota-counting", Rule: "the stats are rewritten in place: no version, no event; a failed write does not count", Run: counting},
		{Name: "quota-counting-enforced", Setup: Guarded, Rule: "the same where limits are enforced", Run: counting},
		{Name: "quota-deepest", Rule: "only the deepest quota of a path is counted", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/a", 0)
			a.quota("/wire", "count=-1,bytes=-1")
			a.quota("/wire/a", "count=-1,bytes=-1")
			a.Create("/wire/a/x", 0)
			a.Create("/wire/ab", 0)
			a.usage("/wire")
			a.usage("/wire/a")
			a.Delete(quotaRoot+"/wire/a"+limits, -1)
			a.Create("/wire/a/y", 0)
			a.usage("/wire")
			a.usage("/wire/a")
			a.Delete(quotaRoot+"/wire/a"+stats, -1)
			a.Delete("/wire/a/x", 0)
			a.usage("/wire")
			a.Create(quotaRoot+"/wire/a"+limits, 0)
			a.Delete("/wire/a/y", 0)
			a.usage("/wire")
		}},
		{Name: "quota-pieces", Rule: "stats without limits, before what they count, in a multi, without either", Run: func(s *Stage) {
			a := s.Connect("A")
			a.quota("/wire", "")
			a.usage("/wire")
			a.Create("/wire", 0)
			a.usage("/wire")
			a.Delete("/wire", 0)
			a.usage("/wire")
			a.Delete(quotaRoot+"/wire"+limits, -1)
			a.Delete(quotaRoot+"/wire"+stats, -1)
			a.Create("/wire", 0)
			a.Create("/wire/a", 0)
			a.Create2(quotaRoot+"/wire"+stats, 0)
			a.usage("/wire")
			a.Create("/wire/b", 0)
			a.usage("/wire")
			a.Delete(quotaRoot+"/wire"+stats, -1)
			a.Create(quotaRoot+"/wire"+limits, 0)
			a.Create("/wire/c", 0)
			a.Create(quotaRoot+"/wire"+stats, zkproto.FlagEphemeral)
			a.usage("/wire")
			a.Create("/wire/d", 0)
			a.usage("/wire")
			a.Delete(quotaRoot+"/wire"+stats, -1)
			a.Delete(quotaRoot+"/wire"+limits, -1)
			a.Multi(opCreate("/wire/e", 0), opCreate(quotaRoot+"/wire"+limits, 0), opCreate(quotaRoot+"/wire"+stats, 0), opCreate("/wire/f", 0), opDelete("/wire/e", 0))
			a.usage("/wire")
			a.Multi(opCreate("/wire/g", 0), opDelete(quotaRoot+"/wire"+limits, -1), opDelete("/wire/f", -1))
			a.usage("/wire")
			a.Multi(opCreate(quotaRoot+"/wire"+limits, 0), opCheck("/wire", 9))
			a.Create("/wire/h", 0)
			a.usage("/wire")
		}},
		{Name: "quota-texts", Rule: "what of a stats text outlives the next change; a text that ZooKeeper cannot read stops it", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.quota("/wire", "count=-1,bytes=-1")
			for _, text := range []string{
				"count=5,bytes=7", "bytes=7;count=5", "count=5", "bytes=7", "", "count=5,;bytes=7;,", "count=5,bytes=7=;byteHardLimit=9;countHardLimit=8",
				"count=5=6=7,bytes=+7", "count=-5,bytes=-7", "other=1,count=5", "count=5,count=6", "count=9223372036854775807,bytes=0",
			} {
				a.SetData(quotaRoot+"/wire"+stats, text, -1)
				a.Create("/wire/x", 0)
				a.usage("/wire")
				a.Delete("/wire/x", -1)
				a.usage("/wire")
			}
		}},
		{Name: "quota-restart", Restarts: true, Rule: "stats and limits come back", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.quota("/wire", "count=-1,bytes=-1")
			a.Create("/wire/x", 0)
			a.SetData("/wire/x", "longer", -1)
			a.quota("/wire2", "count=-1,bytes=-1")
			a.Delete(quotaRoot+"/wire2"+limits, -1)
			a.Create("/wire2", 0)
			s.Restart(a)
			b := s.Connect("B")
			b.Silently(b.Ping)
			b.GetData(quotaRoot+"/wire"+stats, false)
			b.GetData(quotaRoot+"/wire2"+stats, false)
			b.Create("/wire/y", 0)
			b.usage("/wire")
		}},
		{Name: "quota-not-enforced", Rule: "limits refuse nothing unless the server is told so", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.quota("/wire", "count=1,bytes=1=;byteHardLimit=1;countHardLimit=1")
			a.Create("/wire/x", 0)
			a.SetData("/wire/x", "longer", -1)
			a.usage("/wire")
		}},
		{Name: "quota-count-limit", Setup: Guarded, Rule: "the hard limit on the count", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			a.quota("/wire", "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=3")
			a.Create("/wire/a", 0)
			a.Create("/wire/b", 0)
			a.Create("/wire/b-", zkproto.FlagPersistentSequential)
			a.Create2("/wire/b", zkproto.FlagEphemeral)
			a.Do(zkproto.OpCreateContainer, &zkproto.CreateRequest{Path: "/wire/b", ACL: open()})
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/b", ACL: open()})
			a.Create("/wire/a", 0)
			a.Create("/wire/e/x", 0)
			a.Create("/wire/missing/x", 0)
			a.Create("/wire/..", 0)
			a.SetData("/wire/a", "longer", -1)
			a.SetACL("/wire/a", open(), -1)
			a.Delete("/wire/a", -1)
			a.Create("/wire/a", 0)
			a.Multi(opDelete("/wire/a", -1), opCreate("/wire/b", 0))
			a.Multi(opCreate("/wire/b", 0), opCreate("/wire/c", 0))
			a.Delete("/wire/a", -1)
			a.Multi(opCreate("/wire/b", 0), opCreate("/wire/c", 0), opCreate("/wire/d", 0))
			a.usage("/wire")
			a.Create("/wire/f", 0)
			a.SetData(quotaRoot+"/wire"+limits, "count=-1,bytes=-1=;countHardLimit=9", -1)
			a.Create("/wire/f", 0)
			a.SetData(quotaRoot+"/wire"+limits, "countHardLimit=0", -1)
			a.Create("/wire/g", 0)
			a.Delete(quotaRoot+"/wire"+limits, -1)
			a.Create("/wire/g", 0)
			a.Create("/wire/next", 0)
		}},
		{Name: "quota-byte-limit", Setup: Guarded, Rule: "the hard limit on the bytes", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.quota("/wire", "count=-1,bytes=-1=;byteHardLimit=10;countHardLimit=-1")
			a.SetData("/wire", "0123456789", 0)
			a.SetData("/wire", "0123456789x", 9)
			a.SetData("/wire", "01234", 9)
			a.SetData("/wire", "01234", 1)
			a.Create("/wire/a", 0)
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/null", ACL: open()})
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/long", Data: []byte("12345"), ACL: open()})
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/fits", Data: []byte("1234"), ACL: open()})
			a.Create("/wire/b", 0)
			a.Do(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/empty", Data: []byte{}, ACL: open()})
			a.SetData("/wire/a", "y", -1)
			a.SetData("/wire/a", "yy", -1)
			a.Multi(opSetData("/wire", "", -1), opSetData("/wire/a", "yyyyy", -1))
			a.Multi(opSetData("/wire", "", -1), opSetData("/wire", "01234", -1))
			a.usage("/wire")
			a.SetData(quotaRoot+"/wire"+limits, "byteHardLimit=3", -1)
			a.SetData("/wire", "0123", -1)
			a.SetData("/wire", "01234", -1)
			a.SetData("/wire", "x1234", -1)
			a.SetData("/wire/missing", "x", -1)
			a.Delete("/wire/fits", -1)
			a.SetData("/wire", "", -1)
			a.usage("/wire")
		}},
		{Name: "quota-soft", Setup: Guarded, Rule: "soft limits refuse nothing; a hard one beside them counts", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.quota("/wire", "count=1,bytes=1")
			a.Create("/wire/a", 0)
			a.SetData("/wire/a", "longer", -1)
			a.usage("/wire")
			a.SetData(quotaRoot+"/wire"+limits, "count=100,bytes=100=;byteHardLimit=8;countHardLimit=3", -1)
			a.Create("/wire/b", 0)
			a.Create("/wire/c", 0)
			a.SetData("/wire/b", "longer", -1)
		}},
		{Name: "quota-parts-missing", Setup: Guarded, Rule: "limits without stats refuse nothing", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.quota("/wire", "countHardLimit=1")
			a.Create("/wire/a", 0)
			a.Delete(quotaRoot+"/wire"+stats, -1)
			a.Create("/wire/a", 0)
			a.SetData("/wire/a", "longer", -1)
			a.Create(quotaRoot+"/wire"+stats, 0)
			a.usage("/wire")
			a.Create("/wire/b", 0)
			a.SetData(quotaRoot+"/wire"+stats, "bytes=0", -1)
			a.Create("/wire/b", 0)
			a.Create("/wire/c", 0)
			a.usage("/wire")
		}},
		{Name: "quota-multi-limits", Setup: Guarded, Rule: "a quota that a multi makes does not bind that multi", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create(quotaRoot+"/wire", 0)
			set := func(name, text string) zkproto.MultiOp {
				return zkproto.MultiOp{Op: zkproto.OpCreate, Path: quotaRoot + "/wire" + name, Data: []byte(text), ACL: open()}
			}
			a.Multi(set(limits, "countHardLimit=1"), set(stats, ""), opCreate("/wire/a", 0))
			a.usage("/wire")
			a.Create("/wire/b", 0)
		}},
		{Name: "quota-malformed-limits", Setup: Guarded, Rule: "a limit that is no number", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			for _, text := range []string{"count=x", "countHardLimit=1,bytes=x", "nothing", "=1"} {
				a.quota("/wire", text)
				a.Create("/wire/a", 0)
				a.Delete("/wire/a", -1)
				a.SetData("/wire", "yy", -1)
				a.SetData("/wire", "x", -1)
				a.Delete(quotaRoot+"/wire"+limits, -1)
				a.Delete(quotaRoot+"/wire"+stats, -1)
			}
		}},
	}
}
