"""Single operations: results, errors, Stat fields."""

from kazoo.security import make_acl, make_digest_acl

from transcript import stat


def run(s):
    c = s.client()
    r = s.root
    s.attempt("create without a parent", c.create, r + "/a/b", b"x")
    s.attempt("create, parents too", c.create, r + "/a/b", b"one", makepath=True)
    s.attempt("create again", c.create, r + "/a/b", b"two")
    s.attempt("create with Stat", c.create, r + "/with-stat", b"12345", include_data=True)
    s.attempt("create empty", c.create, r + "/empty", b"")
    s.attempt("get", c.get, r + "/a/b")
    s.attempt("get of nothing", c.get, r + "/none")
    s.attempt("get of an empty node", c.get, r + "/empty")
    s.attempt("exists", c.exists, r + "/a/b")
    s.attempt("exists of nothing", c.exists, r + "/none")
    s.attempt("exists of the root", lambda: c.exists("/") is not None)
    s.attempt("set", c.set, r + "/a/b", b"three")
    s.attempt("set, right version", c.set, r + "/a/b", b"four", version=1)
    s.attempt("set, wrong version", c.set, r + "/a/b", b"five", version=1)
    s.attempt("set of nothing", c.set, r + "/none", b"x")
    s.attempt("set, same data", c.set, r + "/a/b", b"four")
    s.attempt("get after the sets", c.get, r + "/a/b")
    s.attempt("Stat of the parent", c.exists, r + "/a")

    for name in ["c", "d", "e"]:
        c.create(r + "/a/" + name)
    s.attempt("children", lambda: sorted(c.get_children(r + "/a")))
    s.attempt("children and Stat", lambda: (lambda l: (sorted(l[0]), l[1]))(c.get_children(r + "/a", include_data=True)))
    s.attempt("children of a leaf", c.get_children, r + "/a/b")
    s.attempt("children of nothing", c.get_children, r + "/none")
    s.attempt("delete of a node with children", c.delete, r + "/a")
    s.attempt("delete, wrong version", c.delete, r + "/a/b", version=7)
    s.attempt("delete, right version", c.delete, r + "/a/b", version=3)
    s.attempt("delete of nothing", c.delete, r + "/a/b")
    s.attempt("Stat of the parent after a delete", c.exists, r + "/a")
    s.attempt("delete of all", c.delete, r + "/a", recursive=True)
    s.attempt("exists after it", c.exists, r + "/a")

    s.attempt("ensure a path", c.ensure_path, r + "/p/q/r")
    s.attempt("ensure it again", c.ensure_path, r + "/p/q/r")
    for _ in range(3):
        s.attempt("sequential", c.create, r + "/p/n-", b"", sequence=True)
    s.attempt("delete one", c.delete, r + "/p/n-0000000002")
    s.attempt("the counter goes on", c.create, r + "/p/n-", b"", sequence=True)
    s.attempt("sequential without a name", c.create, r + "/p/q/", b"", sequence=True)
    s.attempt("ephemeral", lambda: c.create(r + "/p/e", b"e", ephemeral=True))
    s.say("its Stat: " + stat(c.exists(r + "/p/e"), c.client_id[0]))
    s.attempt("child of an ephemeral", c.create, r + "/p/e/x", b"")
    s.attempt("ephemeral and sequential", c.create, r + "/p/es-", b"", ephemeral=True, sequence=True)

    s.attempt("ACL of a new node", c.get_acls, r + "/p")
    acl = [make_acl("world", "anyone", read=True, create=True, admin=True, delete=True)]
    s.attempt("set the ACL", c.set_acls, r + "/p/q", acl)
    s.attempt("ACL after it", c.get_acls, r + "/p/q")
    s.attempt("set the ACL, wrong version", c.set_acls, r + "/p/q", acl, version=9)
    s.attempt("create with an ACL for a user", c.create, r + "/user", b"", acl=[make_digest_acl("u", "p", all=True)])
    s.attempt("authenticate", c.add_auth, "digest", "u:p")
    s.attempt("get as that user", c.get, r + "/user")
    s.attempt("create with an empty ACL", c.create, r + "/no-acl", b"", acl=[])

    big = b"x" * 900_000
    s.attempt("create 900,000 bytes", c.create, r + "/big", big)
    s.attempt("get them", lambda: c.get(r + "/big")[0] == big)
    s.attempt("a name outside ASCII", c.create, r + "/größe-漢字 &=?", b"")
    s.attempt("is listed so", lambda: "größe-漢字 &=?" in c.get_children(r))
    s.attempt("sync", c.sync, r)
    s.attempt("ruok", c.command, b"ruok")
    s.attempt("isro", c.command, b"isro")

    c.ensure_path(r + "/chroot")
    below = s.client()
    below.chroot = r + "/chroot"
    s.attempt("create below a chroot", below.create, "/x/y", b"", makepath=True)
    s.attempt("list it there", below.get_children, "/")
    s.attempt("and from outside", c.get_children, r + "/chroot")
    s.attempt("sequential below a chroot", below.create, "/x/n-", b"", sequence=True)
