"""One-shot watches, DataWatch and ChildrenWatch, on one connection and with
changes by another client."""

from kazoo.recipe.cache import TreeCache

from transcript import Events


def run(s):
    one_shot(s)
    data_watch(s)
    children_watch(s)
    tree_cache(s)


def one_shot(s):
    c, other = s.client(), s.client()
    r = s.root + "/one-shot"
    c.ensure_path(r)
    e = Events()

    def step(what, change):
        change()
        s.fence(c)
        s.say("%s: %s" % (what, e.take()))

    c.exists(r + "/a", watch=e)
    step("exists of nothing, created", lambda: other.create(r + "/a", b""))
    step("no second event", lambda: other.set(r + "/a", b"x"))
    c.exists(r + "/a", watch=e)
    step("exists, data set", lambda: other.set(r + "/a", b"y"))
    c.get(r + "/a", watch=e)
    step("get, a child created", lambda: other.create(r + "/a/b", b""))
    step("get, data set to the same", lambda: other.set(r + "/a", b"y"))
    c.get_children(r + "/a", watch=e)
    step("children, data set", lambda: other.set(r + "/a", b"z"))
    step("children, a grandchild created", lambda: other.create(r + "/a/b/c", b""))
    step("children, one created", lambda: other.create(r + "/a/d", b""))
    c.get_children(r + "/a", watch=e)
    step("children, one deleted", lambda: other.delete(r + "/a/d"))
    other.delete(r + "/a/b/c")
    other.delete(r + "/a/b")

    data, exists, children = Events(), Events(), Events()
    c.get(r + "/a", watch=data)
    c.exists(r + "/a", watch=exists)
    c.get_children(r + "/a", watch=children)
    parent = Events()
    c.get_children(r, watch=parent)
    other.delete(r + "/a")
    s.fence(c)
    s.say("deleted: get %s, exists %s, children %s, the parent's children %s" % (data.take(), exists.take(), children.take(), parent.take()))

    e = Events()
    c.exists(r + "/t", watch=e)
    t = other.transaction()
    t.create(r + "/t", b"")
    t.set_data(r + "/t", b"1")
    t.delete(r + "/t")
    t.commit()
    s.fence(c)
    s.say("created and deleted in one transaction: " + e.take())
    c.get_children(r, watch=e)
    t = other.transaction()
    for name in "xyz":
        t.create(r + "/" + name, b"")
    t.commit()
    s.fence(c)
    s.say("three children in one transaction: " + e.take())
    c.get(r + "/x", watch=e)
    c.set(r + "/x", b"mine")
    s.fence(c)
    s.say("one's own change: " + e.take())
    try:
        c.get(r + "/none", watch=e)
    except Exception as error:
        s.say("get of nothing with a watch: " + type(error).__name__)
    other.create(r + "/none", b"")
    s.fence(c)
    s.say("arms none: " + e.take())
    try:
        c.get_children(r + "/none/x", watch=e)
    except Exception as error:
        s.say("children of nothing with a watch: " + type(error).__name__)

    ephemeral = s.client()
    ephemeral.create(r + "/gone", b"", ephemeral=True)
    c.exists(r + "/gone", watch=e)
    c.get_children(r, watch=e)
    ephemeral.stop()
    ephemeral.close()
    s.fence(c)
    s.say("its session closed: " + e.take())


def data_watch(s):
    c, other = s.client(), s.client()
    path = s.root + "/data-watch"
    calls = []

    @c.DataWatch(path)
    def changed(data, stat, event):
        calls.append("%r v%s by %s" % (data, stat and stat.version, event and event.type))

    def step(what, change):
        change()
        s.fence(c)
        s.say("DataWatch, %s: %s" % (what, "; ".join(calls) or "nothing"))
        calls.clear()

    step("at first", lambda: None)
    step("created", lambda: other.create(path, b"1"))
    step("set", lambda: other.set(path, b"2"))
    step("set to the same", lambda: other.set(path, b"2"))
    step("a child", lambda: other.create(path + "/x", b""))
    step("deleted", lambda: other.delete(path, recursive=True))
    step("created again", lambda: other.create(path, b"3"))


def children_watch(s):
    c, other = s.client(), s.client()
    path = s.root + "/children-watch"
    c.ensure_path(path)
    calls = []

    def changed(children, event):
        calls.append("%s by %s" % (sorted(children), event and event.type))

    c.ChildrenWatch(path, changed, send_event=True)

    def step(what, change):
        change()
        s.fence(c)
        s.say("ChildrenWatch, %s: %s" % (what, "; ".join(calls) or "nothing"))
        calls.clear()

    step("at first", lambda: None)
    step("one more", lambda: other.create(path + "/a", b""))
    step("another", lambda: other.create(path + "/b", b"", ephemeral=True))
    step("data of one", lambda: other.set(path + "/a", b"x"))
    step("a grandchild", lambda: other.create(path + "/a/x", b""))
    step("one less", lambda: other.delete(path + "/a", recursive=True))
    step("the owner of another ends", other.stop)
    step("the directory deleted", lambda: c.delete(path))
    step("the directory created again", lambda: c.create(path))
    step("one more after that", lambda: c.create(path + "/z"))


def tree_cache(s):
    c, other = s.client(), s.client()
    r = s.root + "/tree"
    other.create(r + "/a/b", b"1", makepath=True)
    cache = TreeCache(c, r)
    events = []
    names = {0: "added", 1: "updated", 2: "removed", 3: "suspended", 4: "reconnected", 5: "lost", 6: "initialized"}
    cache.listen(lambda event: events.append((names[event.event_type], event.event_data and event.event_data.path)))
    cache.start()

    def step(what, change, last):
        change()
        s.wait("the cache tells of %s" % (last,), lambda: last in events)
        s.say("TreeCache, %s: %s" % (what, "; ".join(sorted("%s %s" % e for e in events))))
        events.clear()

    step("at first", lambda: None, ("initialized", None))
    step("a node more", lambda: other.create(r + "/a/c", b"2"), ("added", r + "/a/c"))
    step("data", lambda: other.set(r + "/a/b", b"3"), ("updated", r + "/a/b"))
    s.say("TreeCache holds %r" % (cache.get_data(r + "/a/b").data,))
    step("a node less", lambda: other.delete(r + "/a/c"), ("removed", r + "/a/c"))
    s.say("TreeCache lists %s" % sorted(cache.get_children(r + "/a")))
    cache.close()
