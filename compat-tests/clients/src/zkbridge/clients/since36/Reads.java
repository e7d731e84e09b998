package zkbridge.clients.since36;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** What came with 3.6 for readers: ephemerals of a session, all children counted, many reads in one. */
public final class Reads implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        ZooKeeper zk = c.zk;
        String r = s.root;
        c.create(r, "1");
        c.create(r + "/a", "2");
        c.create(r + "/a/b", "3");
        s.attempt("no ephemerals", () -> zk.getEphemerals());
        c.create(r + "/e", "", CreateMode.EPHEMERAL);
        c.create(r + "/a/e", "", CreateMode.EPHEMERAL);
        s.client().create(r + "/other", "", CreateMode.EPHEMERAL);
        s.attempt("ephemerals", () -> sorted(zk.getEphemerals()));
        s.attempt("ephemerals below a", () -> zk.getEphemerals(r + "/a"));
        s.attempt("ephemerals with a prefix", () -> sorted(zk.getEphemerals(r + "/")));
        s.attempt("ephemerals of nothing", () -> zk.getEphemerals(r + "/none"));
        s.attempt("all children", () -> zk.getAllChildrenNumber(r));
        s.attempt("all children of a leaf", () -> zk.getAllChildrenNumber(r + "/e"));
        s.attempt("all children of nothing", () -> zk.getAllChildrenNumber(r + "/none"));
        CompletableFuture<String> counted = new CompletableFuture<>();
        zk.getAllChildrenNumber(r + "/a", (rc, path, ctx, number) -> counted.complete(rc + " " + number), null);
        s.say("asynchronously: " + counted.get(Script.PATIENCE, TimeUnit.SECONDS));

        read(s, zk, "reads", Op.getData(r), Op.getChildren(r), Op.getData(r + "/a/b"), Op.getChildren(r + "/a/b"));
        read(s, zk, "some of nothing", Op.getData(r + "/none"), Op.getData(r), Op.getChildren(r + "/none"));
        zk.create(r + "/secret", "x".getBytes(), Collections.singletonList(new ACL(Perms.ALL, new Id("ip", "10.1.1.1"))), CreateMode.PERSISTENT);
        read(s, zk, "some refused", Op.getData(r + "/secret"), Op.getChildren(r + "/secret"), Op.getData(r + "/a"));
        s.attempt("reads and writes", () -> zk.multi(Arrays.asList(Op.getData(r), Op.create(r + "/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT))));
    }

    private static void read(Script s, ZooKeeper zk, String what, Op... ops) throws Exception {
        try {
            List<String> out = new ArrayList<>();
            for (OpResult result : zk.multi(Arrays.asList(ops))) {
                if (result instanceof OpResult.GetDataResult) {
                    OpResult.GetDataResult data = (OpResult.GetDataResult) result;
                    out.add(Script.render(data.getData()) + " " + Script.render(data.getStat()));
                } else if (result instanceof OpResult.GetChildrenResult) {
                    out.add(sorted(((OpResult.GetChildrenResult) result).getChildren()).toString());
                } else {
                    out.add(Script.render(result));
                }
            }
            s.say(what + " -> " + out);
        } catch (KeeperException e) {
            s.say(what + " -> " + Script.render(e) + " " + Script.render(e.getResults()));
        }
    }

    private static List<String> sorted(List<String> names) {
        List<String> out = new ArrayList<>(names);
        Collections.sort(out);
        return out;
    }
}
