"""kazoo's recipes, each with two clients or more."""

import threading

from kazoo.recipe.party import ShallowParty

from transcript import PATIENCE


def run(s):
    lock(s)
    lock_of_a_lost_session(s)
    read_write_lock(s)
    semaphore(s)
    election(s)
    counter(s)
    barriers(s)
    queues(s)
    parties(s)


def background(call):
    """Runs call in a thread; the list that is returned gets its result."""
    result = []

    def run():
        try:
            result.append(call())
        except Exception as error:
            result.append(type(error).__name__)

    threading.Thread(target=run, daemon=True).start()
    return result


def lock(s):
    a, b, c = s.client(), s.client(), s.client()
    path = s.root + "/lock"
    la, lb, lc = a.Lock(path, "a"), b.Lock(path, "b"), c.Lock(path, "c")
    s.attempt("Lock: a acquires", la.acquire)
    s.attempt("b tries", lb.acquire, blocking=False)
    s.attempt("b waits for a second", lb.acquire, timeout=1)
    s.attempt("contenders", la.contenders)
    wb = background(lb.acquire)
    s.wait("b queues", lambda: la.contenders() == ["a", "b"])
    wc = background(lc.acquire)
    s.wait("c queues", lambda: la.contenders() == ["a", "b", "c"])
    s.say("contenders %s, acquired b %s c %s" % (la.contenders(), wb, wc))
    s.attempt("a releases", la.release)
    s.wait("b has it", lambda: wb)
    s.say("then: b %s, c %s, contenders %s" % (wb, wc, lb.contenders()))
    lb.release()
    s.wait("c has it", lambda: wc)
    s.say("then: c %s, contenders %s" % (wc, lc.contenders()))
    lc.release()
    s.say("in the end: %s" % a.get_children(path))
    with la:
        s.say("again: %s" % lb.contenders())


def lock_of_a_lost_session(s):
    """Who holds a lock and loses its session loses the lock to the next."""
    a, b = s.client(relay=True), s.client()
    path = s.root + "/lost-lock"
    a.Lock(path, "a").acquire()
    session = a.client_id[0]
    wb = background(b.Lock(path, "b").acquire)
    s.wait("b queues", lambda: len(b.Lock(path).contenders()) == 2)
    s.do("refuse")
    s.wait("b has it", lambda: wb)
    s.say("lost Lock: b %s, contenders %s" % (wb, b.Lock(path).contenders()))
    s.do("accept")
    s.wait("a is back", lambda: a.connected and a.client_id and a.client_id[0] != session)
    s.attempt("a tries", a.Lock(path, "a").acquire, blocking=False)


def read_write_lock(s):
    a, b, c = s.client(), s.client(), s.client()
    path = s.root + "/rw"
    ra, rb, wc = a.ReadLock(path, "ra"), b.ReadLock(path, "rb"), c.WriteLock(path, "wc")
    s.attempt("ReadLock: a reads", ra.acquire)
    s.attempt("b reads too", rb.acquire)
    s.attempt("c tries to write", wc.acquire, blocking=False)
    w = background(wc.acquire)
    s.wait("c queues", lambda: len([n for n in c.get_children(path)]) == 3)
    ra.release()
    s.attempt("a reads behind the writer", ra.acquire, blocking=False)
    rb.release()
    s.wait("c writes", lambda: w)
    s.say("c writes: %s" % w)
    s.attempt("b tries to read", rb.acquire, blocking=False)
    wc.release()
    s.attempt("b reads", rb.acquire)
    rb.release()


def semaphore(s):
    clients = {name: s.client() for name in "abc"}
    leases = {name: c.Semaphore(s.root + "/semaphore", name, max_leases=2) for name, c in clients.items()}
    s.attempt("Semaphore: a", leases["a"].acquire)
    s.attempt("b", leases["b"].acquire)
    s.attempt("c tries", leases["c"].acquire, blocking=False)
    w = background(leases["c"].acquire)
    s.say("holders %s" % sorted(leases["a"].lease_holders()))
    leases["a"].release()
    s.wait("c has one", lambda: w)
    s.say("c %s, holders %s" % (w, sorted(leases["c"].lease_holders())))
    s.attempt("b releases", leases["b"].release)
    s.attempt("c releases", leases["c"].release)


def election(s):
    a, b = s.client(), s.client()
    path = s.root + "/election"
    ea, eb = a.Election(path, "a"), b.Election(path, "b")
    led, end = [], {"a": threading.Event(), "b": threading.Event()}

    def lead(name):
        led.append(name)
        end[name].wait(PATIENCE)

    ta = background(lambda: ea.run(lead, "a"))
    s.wait("a leads", lambda: led == ["a"])
    tb = background(lambda: eb.run(lead, "b"))
    s.wait("b stands", lambda: ea.contenders() == ["a", "b"])
    s.say("Election: led %s, contenders %s" % (led, eb.contenders()))
    end["a"].set()
    s.wait("b leads", lambda: led == ["a", "b"])
    s.say("then: led %s, contenders %s" % (led, eb.contenders()))
    end["b"].set()
    s.wait("both are done", lambda: ta and tb)
    s.say("in the end: %s" % a.get_children(path))


def counter(s):
    counters = [s.client().Counter(s.root + "/counter") for _ in range(4)]

    def add(c):
        for _ in range(10):
            c += 1

    done = [background(lambda c=c: add(c)) for c in counters]
    s.wait("all have counted", lambda: all(done))
    s.say("Counter: %s, %s" % (counters[0].value, done))
    counters[1] -= 5
    s.say("Counter: %s" % counters[2].value)


def barriers(s):
    a, b = s.client(), s.client()
    barrier = a.Barrier(s.root + "/barrier")
    barrier.create()
    s.attempt("Barrier: wait for a second", b.Barrier(s.root + "/barrier").wait, 1)
    w = background(lambda: b.Barrier(s.root + "/barrier").wait(PATIENCE))
    s.attempt("remove", barrier.remove)
    s.wait("b goes on", lambda: w)
    s.say("b: %s" % w)
    s.attempt("remove again", barrier.remove)

    passed = []

    def both(c, name):
        double = c.DoubleBarrier(s.root + "/double", 2, name)
        double.enter()
        passed.append("in")
        double.leave()
        passed.append("out")

    one = background(lambda: both(a, "a"))
    s.wait("a waits", lambda: a.exists(s.root + "/double") and a.get_children(s.root + "/double"))
    s.say("DoubleBarrier: alone %s" % passed)
    two = background(lambda: both(b, "b"))
    s.wait("both are through", lambda: one and two)
    s.say("DoubleBarrier: %s, left %s" % (sorted(passed), a.get_children(s.root + "/double")))


def queues(s):
    a, b = s.client(), s.client()
    q = a.Queue(s.root + "/queue")
    for value, priority in [(b"late", 200), (b"first", 1), (b"second", 50), (b"third", 50)]:
        q.put(value, priority=priority)
    other = b.Queue(s.root + "/queue")
    s.say("Queue of %d: %s" % (len(other), [other.get() for _ in range(4)]))
    s.attempt("an empty one", other.get)

    lq, other = a.LockingQueue(s.root + "/locking"), b.LockingQueue(s.root + "/locking")
    lq.put_all([b"1", b"2"])
    s.attempt("LockingQueue: a gets", lq.get)
    s.attempt("b gets", other.get)
    s.attempt("a consumes", lq.consume)
    s.attempt("b releases", other.release)
    s.attempt("a gets what b released", lq.get)
    s.attempt("a consumes", lq.consume)
    s.attempt("nothing left", other.get, timeout=1)


def parties(s):
    for kind in ["Party", "ShallowParty"]:
        a, b = s.client(), s.client()
        path = s.root + "/" + kind
        pa = a.Party(path, "a") if kind == "Party" else ShallowParty(a, path, "a")
        pb = b.Party(path, "b") if kind == "Party" else ShallowParty(b, path, "b")
        pa.join()
        pb.join()
        s.say("%s: %d members, %s" % (kind, len(pa), sorted(pb)))
        pa.leave()
        s.say("one left: %s" % sorted(pb))
        b.stop()
        s.say("its session closed: %s" % sorted(pa))
