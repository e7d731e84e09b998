package wire

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"zkbridge/zkproto"
)

// manyScripts are about numbers: many nodes, connections and watches.
func manyScripts() []Script {
	return []Script{
		{Name: "many-children", Rule: "a reply may be longer than the frame limit", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			a.Silently(func() {
				for from := 0; from < 12000; from += 1000 {
					ops := make([]zkproto.MultiOp, 1000)
					for i := range ops {
						ops[i] = zkproto.MultiOp{Op: zkproto.OpCreate, Path: "/wire/" + longName(from+i), ACL: open()}
					}
					a.Multi(ops...)
				}
			})
			a.GetChildren2("/wire", false)
			a.Do(zkproto.OpGetAllChildrenNumber, &zkproto.GetAllChildrenNumberRequest{Path: "/wire"})
			a.Silently(func() {
				for from := 0; from < 12000; from += 1000 {
					ops := make([]zkproto.MultiOp, 1000)
					for i := range ops {
						ops[i] = opDelete("/wire/"+longName(from+i), -1)
					}
					a.Multi(ops...)
				}
			})
			a.GetChildren2("/wire", false)
		}},
		{Name: "many-ephemerals-end", Rule: "the end of a session with many ephemerals", Run: func(s *Stage) {
			a, b := s.Connect("A"), s.Connect("B")
			b.Create("/wire", 0)
			a.Silently(func() {
				ops := make([]zkproto.MultiOp, 600)
				for i := range ops {
					ops[i] = opCreate("/wire/e-", zkproto.FlagEphemeralSequential)
				}
				a.Multi(ops...)
			})
			b.AddWatch("/wire", zkproto.WatchPersistentRecursive)
			b.GetChildren("/wire", true)
			a.Silently(func() { a.CloseSession() })
			b.Silently(b.Ping)
			deleted, children, zxids := 0, 0, map[int64]bool{}
			for _, e := range b.events {
				switch e.Type {
				case zkproto.EventDeleted:
					deleted++
					zxids[e.zxid] = true
				case zkproto.EventChildrenChanged:
					children++
				}
			}
			b.logf("%d NodeDeleted with %d zxids, %d NodeChildrenChanged", deleted, len(zxids), children)
			b.Silently(func() {
				r := b.GetChildren2("/wire", false)
				b.silent = false
				if list, ok := r.Body.(*zkproto.GetChildren2Response); ok {
					b.logf("%d children left, cversion %d", len(list.Children), list.Stat.Cversion)
				}
			})
		}},
		{Name: "field-05-concurrent-handshakes", Rule: "field report 5: of many handshakes at once each is answered with its own id or with one that nobody else has", Run: func(s *Stage) {
			const n = 100
			first := s.handshakes(make([]zkproto.ConnectRequest, n))
			again := make([]zkproto.ConnectRequest, 2*n)
			for i, r := range first {
				again[2*i] = zkproto.ConnectRequest{SessionID: r.SessionID, Passwd: r.Passwd}
			}
			kept, fresh := 0, map[int64]bool{}
			for i, r := range s.handshakes(again) {
				if i%2 == 0 && r.SessionID == first[i/2].SessionID && r.Timeout > 0 {
					kept++
				}
				if i%2 == 1 && !slices.ContainsFunc(first, func(f zkproto.ConnectResponse) bool { return f.SessionID == r.SessionID }) {
					fresh[r.SessionID] = true
				}
			}
			s.Note("%d resumed with their own id, %d new ones, all different: %v", kept, len(fresh), len(fresh) == n && !fresh[0])
		}},
		{Name: "field-16-watches-leak", Rule: "field report 16: when connections and sessions have ended, mntr counts no watches", Run: func(s *Stage) {
			a := s.Connect("A")
			a.Create("/wire", 0)
			for i := range 50 {
				c := s.Connect("C")
				c.Silently(func() {
					for range 2 {
						c.AddWatch("/wire", zkproto.WatchPersistent)
						c.AddWatch("/wire", zkproto.WatchPersistentRecursive)
						c.GetChildren("/wire", true)
						c.GetData("/wire", true)
						c.Exists("/wire/missing", true)
					}
					if i%2 == 0 {
						c.CloseSession()
					} else {
						c.Drop()
					}
				})
				s.conns = slices.DeleteFunc(s.conns, func(o *Conn) bool { return o == c })
			}
			count := ""
			s.Until("no watches are left", func() bool {
				c := s.Dial("mntr")
				c.SendRaw([]byte("mntr"))
				for line := range strings.Lines(c.ReadText()) {
					if v, ok := strings.CutPrefix(line, "zk_watch_count\t"); ok {
						count = strings.TrimSpace(v)
					}
				}
				s.conns = slices.DeleteFunc(s.conns, func(o *Conn) bool { return o == c })
				return count == "0"
			})
			s.Note("zk_watch_count %s", count)
		}},
	}
}

// handshakes makes connections, all at once, and returns what they are answered.
func (s *Stage) handshakes(requests []zkproto.ConnectRequest) []zkproto.ConnectResponse {
	answers := make([]zkproto.ConnectResponse, len(requests))
	failed := make([]error, len(requests))
	var group sync.WaitGroup
	for i, m := range requests {
		group.Go(func() {
			m.Timeout = 30000
			answers[i], failed[i] = s.handshake(m)
		})
	}
	group.Wait()
	for i, r := range answers {
		if failed[i] != nil {
			panic(stop{fmt.Sprintf("handshake %d: %v", i, failed[i])})
		}
		if r.SessionID != 0 && s.passwd(r.SessionID) == nil {
			s.opened = append(s.opened, opened{r.SessionID, r.Passwd})
		}
	}
	return answers
}

func (s *Stage) handshake(m zkproto.ConnectRequest) (r zkproto.ConnectResponse, err error) {
	d := net.Dialer{Timeout: patience}
	nc, err := d.DialContext(s.ctx, "tcp", s.server.Addr)
	if err != nil {
		return r, err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return r, err
	}
	if _, err := nc.Write(zkproto.AppendFrame(nil, m.AppendTo)); err != nil {
		return r, err
	}
	frame, err := zkproto.ReadFrame(nc, nil, maxReply)
	if err != nil {
		return r, err
	}
	return r, r.Decode(frame)
}
