"""Sessions: resumed after a cut, expired, taken over, closed. What an
application must not notice, and what it must be told."""

import threading

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError
from kazoo.protocol.states import KazooState

from transcript import PATIENCE, SESSION_TIMEOUT, Events, States, stat


def run(s):
    resumed(s)
    watches_after_a_cut(s)
    expired(s)
    lost_listener(s)
    taken_over(s)
    wrong_password(s)
    closed(s)


def follow(s, client, path):
    """Records the lists of path that the client sees, from now on."""
    lists = []
    client.ChildrenWatch(path, lambda children: lists.append(sorted(children)))
    return lists


def take(lists):
    taken = "; ".join(str(l) for l in lists) or "nothing"
    lists.clear()
    return taken


def back(s, states, lost):
    """Waits until a client that was cut off is connected again."""
    s.wait("the client is back", lambda: states.seen and states.seen[-1] == "CONNECTED" and (not lost or "LOST" in states.seen))


def resumed(s):
    """Field report 7: the session is resumed after a second without a
    connection. Its node is the same node, a second create of it is refused, and
    nobody else sees an event."""
    c, other = s.client(relay=True), s.client()
    r = s.root + "/resumed"
    other.ensure_path(r)
    c.create(r + "/a", b"1", ephemeral=True)
    before, session = c.exists(r + "/a"), c.client_id
    lists, states = follow(s, other, r), States(c)
    s.say("others see %s" % take(lists))

    s.do("refuse")
    s.wait("the client notices", lambda: states.seen == ["SUSPENDED"])
    waiting = c.get_async(r + "/a")
    s.do("accept")
    back(s, states, lost=False)
    s.say("states: " + states.take())
    s.say("a read made meanwhile: %s" % (type(waiting.exception).__name__ if waiting.wait(PATIENCE) is None else waiting.get(timeout=PATIENCE)[0]))
    s.say("same session and password: %s" % (c.client_id == session))
    s.attempt("create it again", c.create, r + "/a", b"2", ephemeral=True)
    s.attempt("create it persistent", c.create, r + "/a", b"3")
    after = c.exists(r + "/a")
    s.say("same Stat as before: %s, owner %s" % (after == before, stat(after, session[0]).split("owner ")[1].split(",")[0]))
    s.fence(other)
    s.say("others see %s" % take(lists))

    for _ in range(3):
        states.take()
        s.do("cut")
        s.wait("the client is back", lambda: states.seen == ["SUSPENDED", "CONNECTED"])
    s.say("after three more cuts: same session %s, data %r" % (c.client_id == session, c.get(r + "/a")[0]))
    s.fence(other)
    s.say("others see %s" % take(lists))


def watches_after_a_cut(s):
    """Changes made while a client is away reach its watches when it is back."""
    c, other = s.client(relay=True), s.client()
    r = s.root + "/watches"
    other.create(r + "/dir/x", b"", makepath=True)
    other.create(r + "/data", b"1")
    states, one_shot = States(c), Events()
    data = []
    c.DataWatch(r + "/data", lambda d, stat: data.append(d))
    later = []
    c.DataWatch(r + "/later", lambda d, stat: later.append(d))
    lists = follow(s, c, r + "/dir")
    c.get(r + "/data", watch=one_shot)
    s.fence(c)
    s.say("at first: %s, %s, %s" % (data, later, take(lists)))

    s.do("refuse")
    s.wait("the client notices", lambda: states.seen == ["SUSPENDED"])
    other.set(r + "/data", b"2")
    other.create(r + "/later", b"new")
    other.create(r + "/dir/y", b"")
    s.do("accept")
    back(s, states, lost=False)
    s.wait("the watches tell", lambda: len(data) > 1 and len(later) > 1 and lists)
    s.fence(c)
    s.say("after the cut: %s, %s, %s" % (data, later, take(lists)))
    s.say("a one-shot watch of before: " + one_shot.take())
    other.set(r + "/data", b"3")
    other.delete(r + "/dir/x")
    s.wait("the watches tell", lambda: len(data) > 2 and lists)
    s.fence(c)
    s.say("watches go on: %s, %s, %s" % (data, later, take(lists)))


def expired(s):
    """A client that is away for longer than its timeout is told so when it is
    back; its nodes went when the time was over, not when it came."""
    c, other = s.client(relay=True), s.client()
    r = s.root + "/expired"
    other.ensure_path(r)
    c.create(r + "/e", b"", ephemeral=True)
    c.create(r + "/es-", b"", ephemeral=True, sequence=True)
    c.create(r + "/p", b"")
    session, states, lists = c.client_id, States(c), follow(s, other, r)
    data = []
    c.DataWatch(r + "/p", lambda d, stat: data.append(d))
    s.fence(other)
    take(lists)
    s.do("refuse")
    s.wait("the server ends the session", lambda: lists and lists[-1] == ["p"])
    s.say("what is left: %s" % lists[-1])
    other.set(r + "/p", b"after")
    s.do("accept")
    back(s, states, lost=True)
    s.say("states: " + states.take())
    s.say("new session: %s" % (c.client_id[0] != session[0]))
    s.attempt("its node", c.exists, r + "/e")
    s.attempt("its sequential node", lambda: [n for n in c.get_children(r) if n.startswith("es-")])
    s.wait("the DataWatch goes on", lambda: len(data) > 1)
    s.say("DataWatch: %s" % data)
    s.attempt("register again", c.create, r + "/e", b"2", ephemeral=True)
    s.say("owner: " + stat(c.exists(r + "/e"), c.client_id[0]).split("owner ")[1].split(",")[0])


def lost_listener(s):
    """The usual listener of kazoo's users: it registers again when a LOST
    session is followed by a connection. It runs once, and the lists of others
    have the node once."""
    c, other = s.client(relay=True), s.client()
    r = s.root + "/listener"
    other.ensure_path(r)
    registered = []
    lost = threading.Event()

    def register():
        try:
            c.create(r + "/a", b"", ephemeral=True)
            registered.append("created")
        except NodeExistsError:
            registered.append("exists")

    def listener(state):
        if state == KazooState.LOST:
            lost.set()
        elif state == KazooState.CONNECTED and lost.is_set():
            lost.clear()
            c.handler.spawn(register)

    register()
    c.add_listener(listener)
    states, lists = States(c), follow(s, other, r)
    s.do("cut")
    s.wait("the client notices", lambda: "SUSPENDED" in states.seen)
    back(s, states, lost=False)
    s.fence(other)
    s.say("after a cut: registered %s, others see %s" % (registered, take(lists)))
    s.do("refuse")
    s.wait("the server ends the session", lambda: lists and lists[-1] == [])
    s.do("accept")
    s.wait("the listener registers", lambda: len(registered) > 1)
    s.wait("others see it", lambda: lists[-1] == ["a"])
    s.say("after an expiry: registered %s, others see %s" % (registered, take(lists)))


def taken_over(s):
    """A session that another connection takes over with its id and password goes
    on there; closing it there ends it for both."""
    c, other = s.client(relay=True), s.client()
    r = s.root + "/taken-over"
    other.ensure_path(r)
    c.create(r + "/a", b"", ephemeral=True)
    session, states, lists = c.client_id, States(c), follow(s, other, r)
    s.do("refuse")
    s.wait("the client notices", lambda: states.seen == ["SUSPENDED"])
    heir = s.client(client_id=session)
    s.say("same session: %s" % (heir.client_id == session))
    s.attempt("its node, at the heir", heir.exists, r + "/a")
    s.attempt("create it again", heir.create, r + "/a", b"", ephemeral=True)
    s.fence(other)
    s.say("others see %s" % take(lists))
    heir.stop()
    s.fence(other)
    s.say("when the heir closes it, others see %s" % take(lists))
    s.do("accept")
    back(s, states, lost=True)
    s.say("states of the first: %s, new session %s" % (states.take(), c.client_id[0] != session[0]))


def wrong_password(s):
    """Neither a wrong password nor an id that never was gives a session away. A
    server closes the connection of whoever has the session before it looks at
    the password, so the owner has to resume."""
    c = s.client()
    r = s.root + "/password"
    c.ensure_path(r)
    c.create(r + "/a", b"", ephemeral=True)
    session, states = c.client_id, States(c)

    thief = s.client(client_id=(session[0], b"0123456789abcdef"))
    s.wait("the thief has a session", lambda: thief.connected and thief.client_id)
    s.say("a wrong password: new session %s" % (thief.client_id[0] != session[0]))
    back(s, states, lost=False)
    s.say("states of the owner: %s, same session %s" % (states.take(), c.client_id == session))

    stranger = s.client(client_id=(0x7F00000000000001, session[1]))
    s.wait("the stranger has a session", lambda: stranger.connected and stranger.client_id)
    s.say("an unknown session: new session %s" % (stranger.client_id[0] not in (0x7F00000000000001, session[0])))
    s.attempt("the owner goes on", c.get, r + "/a")
    s.say("states of the owner: %s" % states.take())


def closed(s):
    """Closing a session removes its nodes at once, whatever its timeout."""
    c, other = s.client(), s.client()
    r = s.root + "/closed"
    other.ensure_path(r)
    for name in "abc":
        c.create(r + "/" + name, b"", ephemeral=True)
    seen = Events()
    other.exists(r + "/a", watch=seen)
    c.stop()
    s.say("right after it: %s" % other.get_children(r))
    s.fence(other)
    s.say("events: " + seen.take())
    c.start(timeout=PATIENCE)
    s.attempt("started again", c.create, r + "/a", b"", ephemeral=True)
    again = KazooClient(hosts=",".join("%s:%d" % h for h in c.hosts), timeout=SESSION_TIMEOUT)
    again.start(timeout=PATIENCE)
    s.attempt("create by another session", again.create, r + "/a", b"", ephemeral=True)
    again.stop()
    again.close()
