package wire

import (
	"time"

	"zkbridge/zkproto"
)

func sessionScripts() []Script {
	zeros := make([]byte, zkproto.PasswdSize)
	return []Script{
		{Name: "session-negotiation", Rule: "field report 11: what is asked for is cut to 4 s to 40 s", Run: func(s *Stage) {
			for _, asked := range []int32{60000, 1000, 0, -1, 2147483647, -2147483648, 3999, 4000, 4001, 39999, 40000, 40001, 12345} {
				c := s.Dial("A")
				c.Handshake(zkproto.ConnectRequest{Timeout: asked, Passwd: zeros, HasReadOnly: true})
				c.CloseSession()
			}
		}},
		{Name: "session-forms", Rule: "field report 4: 44 bytes are answered with 36, 45 with 37", Run: func(s *Stage) {
			for _, m := range []zkproto.ConnectRequest{
				{Timeout: 30000, Passwd: zeros},
				{Timeout: 30000, Passwd: zeros, HasReadOnly: true},
				{Timeout: 30000, Passwd: zeros, HasReadOnly: true, ReadOnly: true},
				{Timeout: 30000},
				{Timeout: 30000, HasReadOnly: true},
				{Timeout: 30000, Passwd: []byte{}, HasReadOnly: true},
				{Timeout: 30000, Passwd: []byte("longer than sixteen bytes"), HasReadOnly: true},
				{ProtocolVersion: 7, Timeout: 30000, Passwd: zeros},
			} {
				c := s.Dial("A")
				c.Handshake(m)
				c.CloseSession()
			}
		}},
		{Name: "session-resume", Rule: "the same id, ephemerals untouched, no zxid spent, the timeout negotiated anew", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			a.Drop()
			b := s.Dial("B")
			b.Handshake(zkproto.ConnectRequest{Timeout: 10000, SessionID: a.ID, Passwd: a.Passwd, HasReadOnly: true})
			b.Sync("/")
			b.Exists("/wire/e", false)
			b.Create("/wire/e", zkproto.FlagEphemeral)
			b.Do(zkproto.OpGetEphemerals, &zkproto.GetEphemeralsRequest{Prefix: "/"})
			b.Drop()
			c := s.Dial("C")
			c.Handshake(zkproto.ConnectRequest{Timeout: 100000, SessionID: a.ID, Passwd: a.Passwd})
			c.Exists("/wire/e", false)
			c.CloseSession()
		}},
		{Name: "session-wrong-password", Rule: "zeros and close, and the session lives on", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", zkproto.FlagEphemeral)
			a.Drop()
			for _, passwd := range [][]byte{zeros, nil, {}, []byte("wrong"), []byte("sixteen bytes...")} {
				b := s.Dial("B")
				b.Handshake(zkproto.ConnectRequest{Timeout: 30000, SessionID: a.ID, Passwd: passwd, HasReadOnly: true})
				b.ExpectClose()
			}
			c := s.Resume("C", a)
			c.Exists("/wire", false)
		}},
		{Name: "session-takeover", Rule: "the old connection is closed at once", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", zkproto.FlagEphemeral)
			b := s.Resume("B", a)
			a.ExpectClose()
			b.Exists("/wire", false)
			c := s.Resume("C", a)
			b.ExpectClose()
			c.Exists("/wire", false)
		}},
		{Name: "session-takeover-wrong-password", Rule: "the old connection is closed before the password is looked at", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", zkproto.FlagEphemeral)
			b := s.Dial("B")
			b.Handshake(zkproto.ConnectRequest{Timeout: 30000, SessionID: a.ID, Passwd: zeros, HasReadOnly: true})
			b.ExpectClose()
			a.ExpectClose()
			c := s.Resume("C", a)
			c.Exists("/wire", false)
		}},
		{Name: "session-unknown", Rule: "field report 5: an unknown id, -1 among them, is answered with zeros and close", Run: func(s *Stage) {
			for _, id := range []int64{-1, 1, 12345678, -9223372036854775808, 9223372036854775807, 0x7f00000000000001} {
				a := s.Dial("A")
				a.Handshake(zkproto.ConnectRequest{Timeout: 30000, SessionID: id, Passwd: zeros, HasReadOnly: true})
				a.ExpectClose()
				b := s.Dial("B")
				b.Handshake(zkproto.ConnectRequest{Timeout: 30000, SessionID: id, Passwd: zeros})
				b.ExpectClose()
			}
		}},
		{Name: "session-closed", Rule: "a closed session is over", Run: func(s *Stage) {
			a := s.Connect("A")
			a.CloseSession()
			b := s.Resume("B", a)
			b.ExpectClose()
		}},
		{Name: "session-id-zero-with-password", Rule: "id 0 is a new session whatever the password", Run: func(s *Stage) {
			a := s.Connect("A")
			b := s.Dial("B")
			b.Handshake(zkproto.ConnectRequest{Timeout: 30000, Passwd: a.Passwd, HasReadOnly: true})
			a.Sync("/")
		}},
		{Name: "session-last-zxid-seen", Rule: "a client that has seen this server's last zxid, or less, is welcome", Run: func(s *Stage) {
			a := s.Connect("A")
			last := a.Create("/wire", zkproto.FlagEphemeral).Zxid
			a.Drop()
			b := s.Dial("B")
			b.Handshake(zkproto.ConnectRequest{LastZxidSeen: last, Timeout: 30000, SessionID: a.ID, Passwd: a.Passwd, HasReadOnly: true})
			c := s.Dial("C")
			c.Handshake(zkproto.ConnectRequest{LastZxidSeen: -5, Timeout: 30000, Passwd: zeros, HasReadOnly: true})
			c.Exists("/wire", false)
			c.CloseSession()
		}},
		{Name: "session-zxid-ahead", Rule: "a client from the future is closed without a word", Run: func(s *Stage) {
			a := s.Connect("A")
			last := a.Create("/wire", zkproto.FlagEphemeral).Zxid
			a.Drop()
			b := s.Dial("B")
			b.Handshake(zkproto.ConnectRequest{LastZxidSeen: last + 1000, Timeout: 30000, SessionID: a.ID, Passwd: a.Passwd, HasReadOnly: true})
			if b.ID == 0 {
				b.ExpectClose()
			}
			c := s.Dial("C")
			c.Handshake(zkproto.ConnectRequest{LastZxidSeen: last + 1000, Timeout: 30000, SessionID: 77, Passwd: zeros, HasReadOnly: true})
			c.ExpectClose()
			d := s.Dial("D")
			d.Handshake(zkproto.ConnectRequest{LastZxidSeen: last + 1000, Timeout: 30000, Passwd: zeros, HasReadOnly: true})
		}},
		{Name: "session-zxid-ahead-watches", Rule: "a known session that resumes from the future has all its watches fired", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			last := a.Create("/wire/n", 0).Zxid
			a.Drop()
			b := s.Dial("B")
			b.Handshake(zkproto.ConnectRequest{LastZxidSeen: last + 1000, Timeout: 30000, SessionID: a.ID, Passwd: a.Passwd, HasReadOnly: true})
			b.SetWatches(last+1000, []string{"/wire/n"}, nil, []string{"/wire"})
			b.Ping()
		}},
		{Name: "session-two", Rule: "ids and ephemerals of two sessions are apart", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			a.Create("/wire", 0)
			a.Create("/wire/a", zkproto.FlagEphemeral)
			b.Create("/wire/b", zkproto.FlagEphemeral)
			b.Create("/wire/a", zkproto.FlagEphemeral)
			b.Delete("/wire/a", -1)
			b.Create("/wire/a", zkproto.FlagEphemeral)
			b.Exists("/wire/a", false)
			a.CloseSession()
			b.GetChildren2("/wire", false)
		}},
	}
}

func expiryScripts() []Script {
	zeros := make([]byte, zkproto.PasswdSize)
	// brief opens a session that is over soon after its last sign of life.
	brief := func(s *Stage, name string) *Conn {
		c := s.Dial(name)
		c.Handshake(zkproto.ConnectRequest{Timeout: 1, Passwd: zeros, HasReadOnly: true})
		return c
	}
	return []Script{
		{Name: "expiry-time", Fast: true, Rule: "field report 11: a session is over after its timeout, and at most a tick later", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			b := s.Dial("B")
			granted := time.Duration(b.Handshake(zkproto.ConnectRequest{Timeout: 1000, Passwd: zeros, HasReadOnly: true}).Timeout) * time.Millisecond
			a.Exists("/wire/e", true)
			b.Create("/wire/e", zkproto.FlagEphemeral)
			a.Ping()
			a.Exists("/wire/e", true)
			touched := time.Now()
			b.Exists("/wire/e", false)
			b.Drop()
			a.AwaitEvent()
			took := time.Since(touched)
			a.logf("not before its timeout: %v", took >= granted-time.Millisecond)
			// Half a second is for a busy machine.
			a.logf("not a tick after it: %v", took <= granted+FastTick+500*time.Millisecond)
		}},
		{Name: "expiry-auth", Fast: true, Rule: "auth packets are no sign of life", Run: func(s *Stage) {
			a := brief(s, "A")
			a.Create("/wire", zkproto.FlagEphemeral)
			a.Silently(func() {
				for range 100 {
					if a.DoXid(zkproto.XidAuth, zkproto.OpAuth, &zkproto.AuthRequest{Scheme: "ip", Auth: []byte{}}).Closed {
						break
					}
					time.Sleep(FastTick / 4)
				}
			})
			a.logf("closed: %v", a.gone)
			b := s.Resume("B", a)
			b.ExpectClose()
		}},
		{Name: "expiry-cut", Fast: true, Rule: "a session whose client is gone expires with its ephemerals; it is learned on reconnect", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			b := brief(s, "B")
			b.Create("/wire/e", zkproto.FlagEphemeral)
			a.GetChildren("/wire", true)
			a.Exists("/wire/e", true)
			b.Drop()
			a.AwaitEvent()
			a.Ping()
			a.Sync("/")
			a.GetChildren2("/wire", false)
			c := s.Resume("C", b)
			c.ExpectClose()
		}},
		{Name: "expiry-connected", Fast: true, Rule: "a silent client that is still connected is closed when its session expires", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			b := brief(s, "B")
			b.Create("/wire/e", zkproto.FlagEphemeral)
			b.GetChildren("/wire", true)
			b.Exists("/wire/e", true)
			a.GetChildren("/wire", true)
			a.AwaitEvent()
			// The real server queues b's own events and closes; whether they
			// leave before that is a matter of luck.
			b.Silently(b.ExpectClose)
			b.logf("closed: %v", b.gone)
			c := s.Resume("C", b)
			c.ExpectClose()
		}},
		{Name: "expiry-touch", Fast: true, Rule: "pings and reads keep a session", Run: func(s *Stage) {
			a := brief(s, "A")
			a.Create("/wire", zkproto.FlagEphemeral)
			for i := range 30 {
				time.Sleep(FastTick / 2)
				if i%2 == 0 {
					a.Ping()
				} else {
					a.Silently(func() { a.Exists("/wire", false) })
				}
			}
			a.Exists("/wire", false)
		}},
		{Name: "expiry-same-path-again", Fast: true, Rule: "field report 2: once expired, the node is gone for everybody before anybody can know", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			b := brief(s, "B")
			b.Create("/wire/e", zkproto.FlagEphemeral)
			a.Exists("/wire/e", true)
			b.Drop()
			a.AwaitEvent()
			c := s.Resume("C", b)
			c.ExpectClose()
			d := s.Connect("D")
			d.Create("/wire/e", zkproto.FlagEphemeral)
			d.Exists("/wire/e", false)
		}},
		{Name: "expiry-new-owner", Fast: true, Rule: "field report 3: a node that was deleted and created by another session is not taken by the first one's end", Run: func(s *Stage) {
			a := brief(s, "A")
			b := s.Connect("B")
			b.Create("/wire", 0)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			a.Create("/wire/mark", zkproto.FlagEphemeral)
			b.Create("/wire/e", zkproto.FlagEphemeral)
			b.Delete("/wire/e", -1)
			b.Create("/wire/e", zkproto.FlagEphemeral)
			b.Exists("/wire/mark", true)
			a.Drop()
			b.AwaitEvent()
			b.Exists("/wire/e", false)
			b.GetChildren("/wire", false)
		}},
		{Name: "expiry-resumed-timeout", Fast: true, Rule: "the timeout of the current connection counts", Run: func(s *Stage) {
			a := s.Connect("A")
			w := s.Connect("W")
			w.Create("/wire", 0)
			a.Create("/wire/e", zkproto.FlagEphemeral)
			a.Drop()
			b := s.Dial("B")
			b.Handshake(zkproto.ConnectRequest{Timeout: 1, SessionID: a.ID, Passwd: a.Passwd, HasReadOnly: true})
			b.Drop()
			w.Exists("/wire/e", true)
			w.AwaitEvent()
			c := s.Resume("C", a)
			c.ExpectClose()
		}},
	}
}
