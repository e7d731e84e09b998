package zkbridge.clients.since35;

import java.util.Arrays;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.admin.ZooKeeperAdmin;
import org.apache.zookeeper.data.Stat;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** What came with 3.5: create with a Stat, containers, nodes with a time to live, the configuration. */
public final class Kinds implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        ZooKeeper zk = c.zk;
        String r = s.root;
        Stat stat = new Stat();
        s.attempt("create", () -> zk.create(r, "12345".getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, stat));
        s.say("its " + Script.stat(stat));
        s.attempt("create again", () -> zk.create(r, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, stat));
        s.attempt("sequential", () -> zk.create(r + "/n-", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL, stat));
        s.say("its " + Script.stat(stat));
        s.attempt("container", () -> c.create(r + "/c", "c", CreateMode.CONTAINER));
        s.attempt("its Stat", () -> zk.exists(r + "/c", false));
        s.attempt("a child", () -> c.create(r + "/c/x", "", CreateMode.EPHEMERAL));
        s.attempt("a container below", () -> c.create(r + "/c/y", "", CreateMode.CONTAINER));
        s.attempt("container with a Stat", () -> zk.create(r + "/c2", null, Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER, stat));
        s.say("its " + Script.stat(stat));
        s.attempt("container again", () -> c.create(r + "/c", "", CreateMode.CONTAINER));
        s.attempt("delete of a container with children", () -> c.delete(r + "/c"));
        s.attempt("in a transaction", () -> zk.multi(Arrays.asList(
            Op.create(r + "/c3", null, Ids.OPEN_ACL_UNSAFE, CreateMode.CONTAINER),
            Op.create(r + "/c3/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT))));
        s.attempt("time to live", () -> zk.create(r + "/t", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL, stat, 1000));
        s.attempt("time to live, sequential", () -> zk.create(r + "/t-", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL, stat, 1000));
        s.attempt("time to live of 0", () -> zk.create(r + "/t0", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL, stat, 0));
        s.attempt("children", () -> c.children(r));
        s.attempt("configuration", () -> zk.getConfig(false, stat));
        s.say("its " + stat.getDataLength() + " bytes, version " + stat.getVersion());
        ZooKeeperAdmin admin = s.track(new ZooKeeperAdmin(s.direct, Script.LONG, event -> { }));
        s.attempt("reconfig", () -> admin.reconfigure("server.5=localhost:1:2;3", null, null, -1, stat));
        s.attempt("updateServerList", () -> {
            zk.updateServerList(s.direct + "," + s.direct);
            return zk.exists(r, false) != null;
        });
    }
}
