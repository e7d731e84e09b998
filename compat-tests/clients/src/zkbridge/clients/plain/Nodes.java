package zkbridge.clients.plain;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Events;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** Single operations: results, errors, Stat fields; a chroot. */
public final class Nodes implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        ZooKeeper zk = c.zk;
        String r = s.root;
        s.attempt("create", () -> c.create(r, "one"));
        s.attempt("create again", () -> c.create(r, "two"));
        s.attempt("create without a parent", () -> c.create(r + "/a/b", "x"));
        s.attempt("create null", () -> c.create(r + "/null", null));
        s.attempt("create empty", () -> c.create(r + "/empty", ""));
        s.attempt("null", () -> zk.getData(r + "/null", false, null));
        s.attempt("empty", () -> zk.getData(r + "/empty", false, null));
        s.attempt("exists", () -> zk.exists(r, false));
        s.attempt("exists of nothing", () -> zk.exists(r + "/none", false));
        s.attempt("the root exists", () -> zk.exists("/", false) != null);
        s.attempt("data", () -> {
            Stat stat = new Stat();
            return Script.render(zk.getData(r, false, stat)) + " " + Script.render(stat);
        });
        s.attempt("data of nothing", () -> zk.getData(r + "/none", false, null));
        s.attempt("set", () -> zk.setData(r, "three".getBytes(), 0));
        s.attempt("set, wrong version", () -> zk.setData(r, "x".getBytes(), 0));
        s.attempt("set, any version", () -> zk.setData(r, "three".getBytes(), -1));
        s.attempt("set null", () -> zk.setData(r, null, 2));
        s.attempt("set of nothing", () -> zk.setData(r + "/none", null, -1));
        s.attempt("data", () -> zk.getData(r, false, null));

        for (String name : new String[] {"a", "b", "c"}) {
            c.create(r + "/" + name, name);
        }
        s.attempt("children", () -> sorted(zk.getChildren(r, false)));
        s.attempt("children and Stat", () -> {
            Stat stat = new Stat();
            List<String> names = sorted(zk.getChildren(r, false, stat));
            return names + " " + Script.render(stat);
        });
        s.attempt("children of a leaf", () -> zk.getChildren(r + "/a", false));
        s.attempt("children of nothing", () -> zk.getChildren(r + "/none", false));
        s.attempt("delete, wrong version", () -> zk.delete(r + "/a", 3));
        s.attempt("delete, right version", () -> zk.delete(r + "/a", 0));
        s.attempt("delete of nothing", () -> zk.delete(r + "/a", -1));
        s.attempt("delete of a node with children", () -> zk.delete(r, -1));
        s.attempt("delete of the root", () -> zk.delete("/", -1));
        s.attempt("create of the root", () -> c.create("/", ""));
        s.attempt("Stat after it", () -> zk.exists(r, false));

        s.attempt("sequential", () -> c.create(r + "/n-", "", CreateMode.PERSISTENT_SEQUENTIAL));
        s.attempt("sequential and ephemeral", () -> c.create(r + "/n-", "", CreateMode.EPHEMERAL_SEQUENTIAL));
        s.attempt("delete one", () -> zk.delete(r + "/n-0000000006", -1));
        s.attempt("the counter goes on", () -> c.create(r + "/", "", CreateMode.PERSISTENT_SEQUENTIAL));
        s.attempt("ephemeral", () -> c.create(r + "/e", "e", CreateMode.EPHEMERAL));
        s.attempt("its Stat", () -> zk.exists(r + "/e", false));
        s.say("its owner is me: " + (zk.exists(r + "/e", false).getEphemeralOwner() == zk.getSessionId()));
        s.attempt("a child of it", () -> c.create(r + "/e/x", ""));
        s.attempt("children", () -> sorted(zk.getChildren(r, false)));

        byte[] big = new byte[900_000];
        Arrays.fill(big, (byte) 'x');
        s.attempt("900,000 bytes", () -> zk.create(r + "/big", big, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
        s.attempt("come back", () -> zk.getData(r + "/big", false, null));
        s.attempt("a name outside ASCII", () -> c.create(r + "/größe-漢字 &=?%2F", ""));
        s.attempt("is there", () -> zk.exists(r + "/größe-漢字 &=?%2F", false) != null);
        s.attempt("a name outside the BMP", () -> c.create(r + "/x\uD83D\uDE00y", ""));
        for (String bad : new String[] {"", "a", r + "/", r + "//x", r + "/./x", r + "/../x", r + "/\u0001"}) {
            s.attempt("path " + bad.replace("\u0001", "^A"), () -> c.create(bad, ""));
        }
        chroot(s, c);
        system(s, zk);
    }

    private static void chroot(Script s, Client c) throws Exception {
        String r = s.root + "/chroot";
        c.create(r, "");
        Client below = s.track(new Client(s.direct + r, Script.LONG)).connected();
        s.attempt("chroot: create", () -> below.create("/x", "1"));
        s.attempt("sequential", () -> below.create("/x/n-", "", CreateMode.PERSISTENT_SEQUENTIAL));
        s.attempt("list", () -> below.children("/"));
        s.attempt("from outside", () -> c.children(r));
        s.attempt("its root", () -> below.zk.exists("/", false) != null);
        Events e = new Events();
        below.zk.exists("/later", e);
        below.zk.getChildren("/", e);
        c.create(r + "/later", "");
        s.await("both events", () -> e.count() == 2);
        s.say("events: " + e.take());
        s.attempt("nothing", () -> below.zk.getData("/none", false, null));
        Client nowhere = s.track(new Client(s.direct + s.root + "/no/such", Script.LONG)).connected();
        s.attempt("a chroot that is not there: create", () -> nowhere.create("/x", ""));
        s.attempt("list", () -> nowhere.children("/"));
    }

    private static void system(Script s, ZooKeeper zk) {
        s.attempt("/zookeeper", () -> zk.getChildren("/zookeeper", false).containsAll(Arrays.asList("config", "quota")));
        s.attempt("/zookeeper/quota", () -> zk.getChildren("/zookeeper/quota", false));
        s.attempt("/zookeeper/config", () -> zk.getData("/zookeeper/config", false, null));
        s.attempt("delete /zookeeper", () -> zk.delete("/zookeeper", -1));
        s.attempt("create below it", () -> zk.create("/zookeeper" + s.root, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
        s.attempt("delete it", () -> zk.delete("/zookeeper" + s.root, -1));
    }

    private static List<String> sorted(List<String> names) {
        Collections.sort(names);
        return names;
    }
}
