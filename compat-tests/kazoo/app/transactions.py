"""Transactions: all or nothing, one zxid, one result for each operation."""


def run(s):
    c = s.client()
    r = s.root
    c.create(r, b"")

    t = c.transaction()
    t.create(r + "/a", b"1")
    t.create(r + "/a/b", b"2")
    t.create(r + "/n-", b"3", sequence=True)
    t.create(r + "/n-", b"4", sequence=True, ephemeral=True)
    t.set_data(r + "/a", b"5")
    t.check(r + "/a", 1)
    t.delete(r + "/a/b")
    s.attempt("everything at once", t.commit)
    s.attempt("what is there", lambda: sorted(c.get_children(r)))
    s.attempt("the changed node", c.get, r + "/a")
    zxids = {c.exists(r + "/" + name).czxid for name in c.get_children(r)} | {c.exists(r + "/a").mzxid}
    s.say("zxids of the transaction: %d" % len(zxids))

    t = c.transaction()
    t.create(r + "/x", b"")
    t.check(r + "/a", 7)
    t.delete(r + "/none")
    s.attempt("a check that fails", t.commit)
    s.attempt("nothing of it is there", c.exists, r + "/x")

    t = c.transaction()
    t.create(r + "/a", b"")
    t.create(r + "/y", b"")
    s.attempt("a create that fails", t.commit)

    t = c.transaction()
    t.set_data(r + "/a", b"6")
    t.create(r + "/none/z", b"")
    s.attempt("a parent that is not there", t.commit)
    s.attempt("the set is undone", c.get, r + "/a")

    t = c.transaction()
    t.create(r + "/p", b"")
    t.create(r + "/p/q", b"")
    t.delete(r + "/p")
    s.attempt("a node that is not empty", t.commit)

    t = c.transaction()
    t.create(r + "/e", b"", ephemeral=True)
    t.create(r + "/e/x", b"")
    s.attempt("a child of an ephemeral", t.commit)

    t = c.transaction()
    t.create(r + "/v", b"")
    t.delete(r + "/v", version=3)
    s.attempt("a wrong version", t.commit)
    s.attempt("an empty transaction", c.transaction().commit)

    with c.transaction() as t:
        t.create(r + "/with", b"")
    s.attempt("as a context", c.get, r + "/with")
    s.attempt("twice", t.commit)
