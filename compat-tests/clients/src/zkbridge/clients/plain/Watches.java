package zkbridge.clients.plain;

import java.util.Arrays;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Events;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** One-shot watches. */
public final class Watches implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        Client other = s.client();
        String r = s.root;
        String a = r + "/a";
        c.create(r, "");
        Events e = new Events();

        c.zk.exists(a, e);
        step(s, c, e, "exists of nothing, created", () -> other.create(a, ""));
        step(s, c, e, "no second event", () -> other.set(a, "x"));
        c.zk.exists(a, e);
        step(s, c, e, "exists, set", () -> other.set(a, "y"));
        c.zk.getData(a, e, null);
        step(s, c, e, "data, a child created", () -> other.create(a + "/b", ""));
        step(s, c, e, "data, set to the same", () -> other.set(a, "y"));
        c.zk.getChildren(a, e);
        step(s, c, e, "children, set", () -> other.set(a, "z"));
        step(s, c, e, "children, a grandchild created", () -> other.create(a + "/b/c", ""));
        step(s, c, e, "children, one created", () -> other.create(a + "/d", ""));
        c.zk.getChildren(a, e);
        step(s, c, e, "children, one deleted", () -> other.delete(a + "/d"));
        c.zk.getData(a, e, null);
        step(s, c, e, "data, ACL set", () -> other.zk.setACL(a, Ids.OPEN_ACL_UNSAFE, -1));
        step(s, c, e, "data, one's own set", () -> c.set(a, "mine"));
        other.delete(a + "/b/c");
        other.delete(a + "/b");

        Events data = new Events();
        Events exists = new Events();
        Events children = new Events();
        Events parent = new Events();
        c.zk.getData(a, data, null);
        c.zk.exists(a, exists);
        c.zk.getChildren(a, children);
        c.zk.getChildren(r, parent);
        other.delete(a);
        s.fence(c.zk);
        s.say("deleted: data " + data.take() + ", exists " + exists.take() + ", children " + children.take() + ", parent " + parent.take());
        Events same = new Events();
        other.create(a, "");
        c.zk.getData(a, same, null);
        c.zk.exists(a, same);
        c.zk.getChildren(a, same);
        step(s, c, same, "one watcher for all three, deleted", () -> other.delete(a));

        c.zk.exists(r + "/t", e);
        step(s, c, e, "made and gone in one transaction", () -> other.zk.multi(Arrays.asList(
            Op.create(r + "/t", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT),
            Op.setData(r + "/t", null, -1), Op.delete(r + "/t", -1))));
        c.zk.getChildren(r, e);
        step(s, c, e, "two children in one transaction", () -> other.zk.multi(Arrays.asList(
            Op.create(r + "/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT),
            Op.create(r + "/y", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT))));
        s.attempt("data of nothing with a watch", () -> c.zk.getData(r + "/none", e, null));
        step(s, c, e, "arms none", () -> other.create(r + "/none", ""));
        s.attempt("children of nothing with a watch", () -> c.zk.getChildren(r + "/no/x", e));

        c.zk.exists(r + "/d", true);
        c.zk.getChildren(r, true);
        other.create(r + "/d", "");
        s.fence(c.zk);
        s.say("the default watcher: " + c.events.take());
        Events second = new Events();
        c.zk.register(second);
        c.zk.exists(r + "/d", true);
        step(s, c, second, "another default watcher", () -> other.delete(r + "/d"));
        c.zk.register(c);

        Client leaving = s.client();
        leaving.create(r + "/g1", "", CreateMode.EPHEMERAL);
        leaving.create(r + "/g2", "", CreateMode.EPHEMERAL);
        Events gone = new Events();
        c.zk.exists(r + "/g1", gone);
        step(s, c, gone, "its session closed", leaving::close);
        s.say("nothing is left: " + c.children(r));
    }

    private static void step(Script s, Client c, Events e, String what, Script.Action change) throws Exception {
        change.run();
        s.fence(c.zk);
        s.say(what + ": " + e.take());
    }
}
