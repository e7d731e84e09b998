package wire

import (
	"fmt"
	"strings"

	"zkbridge/zkproto"
)

// fieldScripts play the field reports that a wire script can show. Reports 2
// and 3 are among the expiries, 4 and 5 among the sessions, 27 among the paths.
func fieldScripts() []Script {
	return []Script{
		{Name: "field-01-new-id-on-reconnect", Rule: "field report 1: a reconnect ends with the old id or with none, never with another", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", zkproto.FlagEphemeral)
			a.GetData("/wire", true)
			a.Drop()
			b := s.Resume("B", a)
			b.Exists("/wire", false)
			b.CloseSession()
			c := s.Resume("C", a)
			c.ExpectClose()
		}},
		{Name: "field-04-c-client", Rule: "field report 4: the answer to connect comes first; auth and setWatches right behind it; pings get xid -2", Run: func(s *Stage) {
			a := s.Dial("A")
			a.SendHandshake(zkproto.ConnectRequest{Timeout: 10000, Passwd: make([]byte, 16)})
			a.SendXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "digest", Auth: []byte("amy:secret")})
			a.ReadHandshake()
			a.Recv()
			a.DoXid(zkproto.XidPing, zkproto.OpPing, nil)
			a.SetWatches(0, nil, nil, nil)
			a.DoXid(zkproto.XidPing, zkproto.OpPing, nil)
		}},
		{Name: "field-07-create-again", Rule: "field report 7: create by the owner on a resumed session is NodeExists and changes nothing", Run: func(s *Stage) {
			a, w := s.Connect("A"), s.Connect("W")
			a.Create("/wire", 0)
			a.Create("/wire/a", zkproto.FlagEphemeral)
			w.GetChildren("/wire", true)
			w.Exists("/wire/a", true)
			a.Drop()
			b := s.Resume("B", a)
			b.Create("/wire/a", zkproto.FlagEphemeral)
			w.Ping()
			b.Exists("/wire/a", false)
		}},
		{Name: "field-10-owner", Rule: "field report 10: every Stat names the owner as its ConnectResponse did", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create2("/wire", 0)
			a.Create("/wire/p", zkproto.FlagEphemeral)
			a.Create2("/wire/q", zkproto.FlagEphemeral)
			a.Multi(opCreate2("/wire/r", zkproto.FlagEphemeral))
			for _, n := range []string{"/wire/p", "/wire/q", "/wire/r"} {
				b.Exists(n, false)
				b.GetData(n, false)
				b.GetChildren2(n, false)
				b.GetACL(n)
				b.SetData(n, "y", -1)
				b.SetACL(n, open(), -1)
			}
			b.Multi(opSetData("/wire/p", "z", -1))
			b.Do(zkproto.OpCreateContainer, &zkproto.CreateRequest{Path: "/wire/c", ACL: open(), Flags: zkproto.FlagContainer})
			b.Exists("/wire/c", false)
			a.CloseSession()
			b.Create2("/wire/p", zkproto.FlagEphemeral)
			b.Exists("/wire/p", false)
		}},
		{Name: "field-12-reply-lost", Rule: "field report 12: a request whose reply was lost is applied once, and the retry says so", Run: func(s *Stage) {
			a, w := s.Connect("A"), s.Connect("W")
			w.Create("/wire", 0)
			w.Create("/wire/d", 0)
			w.Create("/wire/v", 0)
			w.AddWatch("/wire", zkproto.WatchPersistentRecursive)
			a.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/p", Data: []byte("x"), ACL: open(), Flags: zkproto.FlagEphemeral})
			a.Send(zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/wire/v", Data: []byte("y"), Version: 0})
			a.Send(zkproto.OpDelete, &zkproto.DeleteRequest{Path: "/wire/d", Version: -1})
			a.Send(zkproto.OpCreate, &zkproto.CreateRequest{Path: "/wire/n-", Data: []byte("x"), ACL: open(), Flags: zkproto.FlagEphemeralSequential})
			// The socket is cut when all are applied and no reply was read.
			w.awaitZxid(s.base + 9)
			a.Drop()
			b := s.Resume("B", a)
			b.Create("/wire/p", zkproto.FlagEphemeral)
			b.SetData("/wire/v", "y", 0)
			b.Delete("/wire/d", -1)
			b.Create("/wire/n-", zkproto.FlagEphemeralSequential)
			w.Ping()
			w.GetChildren2("/wire", false)
		}},
		{Name: "field-13-child-watches", Rule: "field report 13: setWatches restores a child watch as a child watch", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			z := a.GetChildren("/wire", true).Zxid
			a.Drop()
			c := s.Resume("C", a)
			c.SetWatches(z, nil, nil, []string{"/wire"})
			b.SetData("/wire", "y", -1)
			c.Ping()
			b.Create("/wire/c", 0)
			c.Ping()
			b.Create("/wire/d", 0)
			c.Ping()
		}},
		{Name: "field-14-split", Rule: "field report 14: twenty setWatches of 128 KiB, xid -8 each", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			last := b.Create("/wire", 0).Zxid
			for i := range 20 {
				a.SendXid(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{RelativeZxid: last, Data: []string{}, Exist: manyPaths(i*1000, 1000), Child: []string{}})
				a.Recv()
			}
			b.Create("/wire/"+longName(0), 0)
			b.Create("/wire/"+longName(19999), 0)
			a.Ping()
		}},
		{Name: "field-14-one-frame", Rule: "field report 14: one setWatches above the frame limit", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			last := b.Create("/wire", 0).Zxid
			a.SendXid(zkproto.XidSetWatches, zkproto.OpSetWatches, &zkproto.SetWatchesRequest{RelativeZxid: last, Data: []string{}, Exist: manyPaths(0, 32000), Child: []string{}})
			if a.Recv().Closed {
				return
			}
			b.Create("/wire/"+longName(31999), 0)
			a.Ping()
		}},
		{Name: "field-15-add-watch-body", Rule: "field report 15: addWatch is answered with four bytes of body, checkWatches and removeWatches with none", Run: func(s *Stage) {
			a := s.Connect("A")
			size := func(op zkproto.OpCode, m zkproto.Message) {
				a.SendXid(1, op, m)
				a.pending = nil
				frame := a.frame(patience)
				a.logf("< %v: %d bytes behind the length", op, len(frame))
			}
			for mode := zkproto.WatchPersistent; mode <= zkproto.WatchPersistentRecursive; mode++ {
				size(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/wire", Mode: mode})
			}
			size(zkproto.OpAddWatch, &zkproto.AddWatchRequest{Path: "/wire", Mode: 5})
			size(zkproto.OpCheckWatches, &zkproto.CheckWatchesRequest{Path: "/wire", Type: zkproto.WatcherAny})
			size(zkproto.OpRemoveWatches, &zkproto.RemoveWatchesRequest{Path: "/wire", Type: zkproto.WatcherAny})
			size(zkproto.OpCheckWatches, &zkproto.CheckWatchesRequest{Path: "/wire", Type: zkproto.WatcherAny})
		}},
		{Name: "field-17-watch-and-reply", Rule: "field report 17: the reply that armed a watch precedes its event, and no event of what a reply already showed follows it", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.Silently(func() {
				b.Silently(func() { interleave(a, b) })
			})
		}},
		{Name: "field-18-nothing", Rule: "field report 18: a client that restores nothing is told nothing", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			a.GetChildren("/wire", true)
			a.Drop()
			b.Create("/wire/n", 0)
			c := s.Resume("C", a)
			c.Ping()
			b.Create("/wire/m", 0)
			c.Ping()
		}},
		{Name: "field-18-set-watches", Rule: "field report 18: a client that sends setWatches is told once", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			z := a.GetChildren("/wire", true).Zxid
			a.Drop()
			b.Create("/wire/n", 0)
			b.Create("/wire/m", 0)
			c := s.Resume("C", a)
			c.SetWatches(z, nil, nil, []string{"/wire"})
			c.Ping()
		}},
		{Name: "field-18-doubling", Rule: "field report 18: a client that reads again and again is told once", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			a.GetChildren("/wire", true)
			a.Drop()
			c := s.Resume("C", a)
			for range 8 {
				c.GetChildren("/wire", true)
			}
			b.Create("/wire/n", 0)
			b.Create("/wire/m", 0)
			c.Ping()
		}},
	}
}

func longName(i int) string { return fmt.Sprintf("%s-%05d", strings.Repeat("n", 110), i) }

func manyPaths(from, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "/wire/" + longName(from+i)
	}
	return list
}

// interleave lets a read with a watch again and again while b writes, and
// checks the order of what a gets.
func interleave(a, b *Conn) {
	const rounds = 1000
	armed := int32(-1) // version that the oldest unanswered event would follow
	shown := int32(-1) // newest version that a has seen
	events, bad := 0, ""
	writes := 0
	for i := range rounds {
		a.Send(zkproto.OpGetData, &zkproto.GetDataRequest{Path: "/wire", Watch: true})
		if i%3 == 0 {
			b.Send(zkproto.OpSetData, &zkproto.SetDataRequest{Path: "/wire", Data: []byte("y"), Version: -1})
			writes++
		}
	}
	for len(a.pending) > 0 && !a.gone {
		r, event := a.next(patience)
		switch {
		case event && armed < 0:
			bad = "an event came before the reply that armed it"
		case event:
			events++
			armed = -1
		default:
			d, ok := r.Body.(*zkproto.GetDataResponse)
			if !ok {
				bad = "a read failed"
				break
			}
			if d.Stat.Version < shown {
				bad = "a read went back"
			}
			if armed >= 0 && d.Stat.Version != armed {
				bad = "a reply showed a new version before its event"
			}
			shown, armed = d.Stat.Version, d.Stat.Version
		}
	}
	b.RecvAll()
	a.Ping()
	a.silent = false
	if bad == "" && events <= writes {
		bad = "in order"
	}
	a.logf("%d reads with a watch beside %d writes: %s", rounds, writes, bad)
}
