package clients

import (
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

var openACL = zk.WorldACL(zk.PermAll)

// goNodes are single operations.
func goNodes(s *goScript) {
	c := s.client().zk
	r := s.root
	create := func(what, path string, data []byte, flags int32) {
		name, err := c.Create(path, data, flags, openACL)
		s.result(what, err, name)
	}
	create("create", r, []byte("one"), 0)
	create("create again", r, nil, 0)
	create("create without a parent", r+"/x/y", nil, 0)
	create("null", r+"/null", nil, 0)
	create("sequential", r+"/n-", nil, zk.FlagSequence)
	create("ephemeral", r+"/e", []byte("e"), zk.FlagEphemeral)
	create("both", r+"/n-", nil, zk.FlagSequence|zk.FlagEphemeral)
	create("a child of an ephemeral", r+"/e/x", nil, 0)
	create("a path without a slash", "x", nil, 0)
	name, err := c.CreateProtectedEphemeralSequential(r+"/p-", nil, openACL)
	s.result("protected", err, strings.HasPrefix(name, r+"/_c_") && strings.HasSuffix(name, "-p-0000000004"), len(name))
	name, err = c.CreateContainer(r+"/c", []byte("c"), zk.FlagContainer, openACL)
	s.result("container", err, name)
	name, err = c.CreateTTL(r+"/t", nil, zk.FlagTTL, openACL, time.Minute)
	s.result("time to live", err, name)

	data, stat, err := c.Get(r)
	s.result("get", err, data, stat)
	data, stat, err = c.Get(r + "/null")
	s.result("get null", err, data, stat)
	_, _, err = c.Get(r + "/none")
	s.result("get nothing", err)
	ok, stat, err := c.Exists(r + "/e")
	s.result("exists", err, ok, stat)
	ok, _, err = c.Exists(r + "/none")
	s.result("exists nothing", err, ok)
	stat, err = c.Set(r, []byte("two"), 0)
	s.result("set", err, stat)
	_, err = c.Set(r, nil, 0)
	s.result("set, wrong version", err)
	stat, err = c.Set(r, nil, 1)
	s.result("set null", err, stat)
	_, err = c.Set(r+"/none", nil, -1)
	s.result("set nothing", err)
	names, stat, err := c.Children(r + "/null")
	s.result("children of a leaf", err, names, stat)
	_, _, err = c.Children(r + "/none")
	s.result("children of nothing", err)
	_, stat, err = c.Children(r)
	s.result("Stat of children", err, stat)
	s.result("delete, wrong version", c.Delete(r+"/null", 4))
	s.result("delete", c.Delete(r+"/null", 0))
	s.result("delete nothing", c.Delete(r+"/null", 0))
	s.result("delete with children", c.Delete(r, -1))
	path, err := c.Sync(r)
	s.result("sync", err, path)
	big := []byte(strings.Repeat("x", 900_000))
	create("900,000 bytes", r+"/big", big, 0)
	data, _, err = c.Get(r + "/big")
	s.result("come back", err, string(data) == string(big))
	create("outside ASCII", r+"/größe-漢字", nil, 0)
	_, err = c.IncrementalReconfig([]string{"server.5=localhost:1:2;3"}, nil, -1)
	s.result("reconfig", err)
	s.say("ruok: %v", zk.FLWRuok([]string{s.server.direct}, patience))
}

// goTransactions are multi requests.
func goTransactions(s *goScript) {
	c := s.client()
	r := s.root
	s.create(c, r, "", 0)
	create := func(path string, flags int32) *zk.CreateRequest {
		return &zk.CreateRequest{Path: path, Data: []byte("d"), Acl: openACL, Flags: flags}
	}
	multi := func(what string, ops ...any) {
		results, err := c.zk.Multi(ops...)
		s.say("%s -> %s, %v", what, goRender(results), err)
	}
	multi("everything", create(r+"/a", 0), create(r+"/a/b", 0), create(r+"/n-", zk.FlagSequence), create(r+"/n-", 3),
		&zk.SetDataRequest{Path: r + "/a", Data: []byte("5"), Version: 0}, &zk.CheckVersionRequest{Path: r + "/a", Version: 1},
		&zk.DeleteRequest{Path: r + "/a/b", Version: -1})
	multi("a check fails", create(r+"/x", 0), &zk.CheckVersionRequest{Path: r + "/a", Version: 9}, create(r+"/y", 0))
	multi("a create fails", create(r+"/a", 0))
	multi("no parent", &zk.SetDataRequest{Path: r + "/a", Version: -1}, create(r+"/none/x", 0))
	multi("not empty", create(r+"/p", 0), create(r+"/p/q", 0), &zk.DeleteRequest{Path: r + "/p", Version: -1})
	multi("nothing")
	s.say("in the end %v", s.list(c, r))
}

// goAccess is about ACLs.
func goAccess(s *goScript) {
	c, other := s.client(), s.client()
	r := s.root
	s.create(c, r, "", 0)
	acl, stat, err := c.zk.GetACL(r)
	s.result("ACL", err, acl, stat)
	_, err = c.zk.Create(r+"/auth", nil, 0, zk.AuthACL(zk.PermAll))
	s.result("creator's without an identity", err)
	s.result("authenticate", c.zk.AddAuth("digest", []byte("u:p")))
	_, err = c.zk.Create(r+"/auth", []byte("secret"), 0, zk.AuthACL(zk.PermAll))
	s.result("creator's with an identity", err)
	acl, stat, err = c.zk.GetACL(r + "/auth")
	s.result("its ACL", err, acl, stat)
	_, err = c.zk.Create(r+"/user", []byte("secret"), 0, zk.DigestACL(zk.PermRead|zk.PermWrite, "u", "p"))
	s.result("for a user", err)
	for _, path := range []string{r + "/auth", r + "/user"} {
		_, _, err = other.zk.Get(path)
		s.result("a stranger reads", err)
		_, err = other.zk.Set(path, nil, -1)
		s.result("a stranger sets", err)
		_, _, err = other.zk.Children(path)
		s.result("a stranger lists", err)
		_, _, err = other.zk.GetACL(path)
		s.result("a stranger asks for the ACL", err)
	}
	s.result("authenticate", other.zk.AddAuth("digest", []byte("u:p")))
	_, _, err = other.zk.Get(r + "/auth")
	s.result("no stranger reads", err)
	stat, err = c.zk.SetACL(r, zk.WorldACL(zk.PermRead|zk.PermAdmin), 0)
	s.result("set the ACL", err, stat)
	_, err = c.zk.SetACL(r, openACL, 0)
	s.result("wrong version", err)
	_, err = c.zk.Create(r+"/x", nil, 0, openACL)
	s.result("create", err)
	_, err = c.zk.SetACL(r, nil, -1)
	s.result("an empty ACL", err)
}

// goWatches are one-shot watches.
func goWatches(s *goScript) {
	c, other := s.client(), s.client()
	r := s.root
	a := r + "/a"
	s.create(c, r, "", 0)
	exists := func(path string) <-chan zk.Event {
		_, _, events, err := c.zk.ExistsW(path)
		s.must(err)
		return events
	}
	get := func(path string) <-chan zk.Event {
		_, _, events, err := c.zk.GetW(path)
		s.must(err)
		return events
	}
	children := func(path string) <-chan zk.Event {
		_, _, events, err := c.zk.ChildrenW(path)
		s.must(err)
		return events
	}
	step := func(what string, events <-chan zk.Event, change func()) {
		change()
		s.fence(c)
		s.say("%s: %s", what, told(events))
	}
	step("exists, created", exists(a), func() { s.create(other, a, "", 0) })
	step("exists, set", exists(a), func() { s.set(other, a, "1") })
	step("get, set to the same", get(a), func() { s.set(other, a, "1") })
	step("get, a child", get(a), func() { s.create(other, a+"/b", "", 0) })
	step("children, set", children(a), func() { s.set(other, a, "2") })
	step("children, a grandchild", children(a), func() { s.create(other, a+"/b/c", "", 0) })
	step("children, created", children(a), func() { s.create(other, a+"/d", "", 0) })
	step("children, deleted", children(a), func() { s.remove(other, a+"/d") })
	s.remove(other, a+"/b/c")
	s.remove(other, a+"/b")
	g, e, ch, p := get(a), exists(a), children(a), children(r)
	step("get, deleted", g, func() { s.remove(other, a) })
	s.say("exists %s, children %s, parent %s", told(e), told(ch), told(p))
	_, _, _, err := c.zk.GetW(r + "/none")
	s.result("get nothing with a watch", err)
	gone := s.client()
	s.create(gone, r+"/e", "", zk.FlagEphemeral)
	step("its session closed", exists(r+"/e"), gone.zk.Close)
}

// goLocks is the library's recipe.
func goLocks(s *goScript) {
	path := s.root + "/lock"
	a, b := s.client(), s.client()
	la, lb := zk.NewLock(a.zk, path, openACL), zk.NewLock(b.zk, path, openACL)
	s.result("a locks", la.Lock())
	s.result("a locks again", la.Lock())
	got := make(chan error, 1)
	go func() { got <- lb.Lock() }()
	s.await("b queues", func() bool { return len(s.list(a, path)) == 2 })
	s.say("b has it: %v", len(got) == 1)
	s.result("a unlocks", la.Unlock())
	select {
	case err := <-got:
		s.result("b locks", err)
	case <-time.After(patience):
		s.say("b never gets the lock")
		return
	}
	s.result("b unlocks", lb.Unlock())
	s.result("b unlocks again", lb.Unlock())
	s.say("left: %v", s.list(a, path))
	var mu sync.Mutex
	held, most := 0, 0
	var wg sync.WaitGroup
	for range 4 {
		c := s.client()
		wg.Go(func() {
			for range 5 {
				l := zk.NewLock(c.zk, path, openACL)
				if l.Lock() != nil {
					continue
				}
				mu.Lock()
				held++
				most = max(most, held)
				held--
				mu.Unlock()
				_ = l.Unlock()
			}
		})
	}
	wg.Wait()
	s.say("at most %d held it, left: %v", most, s.list(a, path))
}

// goSessions are resumed, expire and are closed.
func goSessions(s *goScript) {
	c, other := s.exposed(longSession), s.client()
	r := s.root
	s.create(other, r, "", 0)
	s.create(other, r+"/data", "1", 0)
	s.create(other, r+"/dir", "", 0)
	s.create(c, r+"/e", "", zk.FlagEphemeral)
	_, before, err := c.zk.Exists(r + "/e")
	s.must(err)
	id := c.zk.SessionID()
	_, _, seen, err := other.zk.ExistsW(r + "/e")
	s.must(err)
	_, _, data, err := c.zk.GetW(r + "/data")
	s.must(err)
	_, _, dir, err := c.zk.ChildrenW(r + "/dir")
	s.must(err)
	_, _, later, err := c.zk.ExistsW(r + "/later")
	s.must(err)
	_, _, still, err := c.zk.ExistsW(r + "/e")
	s.must(err)

	s.server.relay.Refuse()
	s.await("the client notices", func() bool { return c.went(zk.StateDisconnected) })
	s.set(other, r+"/data", "2")
	s.create(other, r+"/dir/x", "", 0)
	s.create(other, r+"/later", "", 0)
	s.must(s.server.relay.Accept())
	s.await("the client is back", func() bool { return c.last() == zk.StateHasSession })
	s.fence(c)
	s.say("resumed: %s, same session %v", c.take(), c.zk.SessionID() == id)
	_, after, err := c.zk.Exists(r + "/e")
	s.must(err)
	s.say("same node: %v", *before == *after)
	s.say("watches: data %s, dir %s, later %s, still %s", told(data), told(dir), told(later), told(still))
	s.fence(other)
	s.say("others see %s", told(seen))
	s.remove(other, r+"/e")
	s.fence(c)
	s.say("what did not change is still watched: %s", told(still))
	s.say("and by others: %s", told(seen))

	d := s.exposed(shortSession)
	s.create(d, r+"/gone", "", zk.FlagEphemeral)
	_, _, seen, err = other.zk.ExistsW(r + "/gone")
	s.must(err)
	_, _, own, err := d.zk.GetW(r + "/data")
	s.must(err)
	id = d.zk.SessionID()
	s.server.relay.Refuse()
	select {
	case e := <-seen:
		s.say("expired: %v", e.Type)
	case <-time.After(patience):
		s.say("the session never expires")
	}
	s.must(s.server.relay.Accept())
	s.await("the client is back", func() bool { return d.went(zk.StateExpired) && d.last() == zk.StateHasSession })
	s.say("new session %v, told %v, its watch: %s", d.zk.SessionID() != id, d.went(zk.StateExpired), told(own))
	s.create(d, r+"/gone", "", zk.FlagEphemeral)
	d.zk.Close()
	s.say("closed: %v", s.list(other, r))
}
