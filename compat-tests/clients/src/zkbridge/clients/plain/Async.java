package zkbridge.clients.plain;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** Requests without waiting for the answers: their order, and events between them. */
public final class Async implements Scenario {
    private static final int MANY = 300;

    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        ZooKeeper zk = c.zk;
        String r = s.root;
        c.create(r, "0");
        List<String> order = Collections.synchronizedList(new ArrayList<>());

        CountDownLatch created = new CountDownLatch(MANY);
        for (int i = 0; i < MANY; i++) {
            zk.create(r + "/n-", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL, (rc, path, ctx, name) -> {
                order.add(rc + " " + name);
                created.countDown();
            }, null);
        }
        finish(created);
        s.say(MANY + " creates: in order " + isSorted(order) + ", last " + order.get(MANY - 1));
        order.clear();

        CountDownLatch rounds = new CountDownLatch(2 * 50);
        for (int i = 0; i < 50; i++) {
            zk.setData(r, ("" + i).getBytes(), i, (rc, path, ctx, stat) -> {
                order.add(Code.get(rc) + " v" + stat.getVersion());
                rounds.countDown();
            }, null);
            zk.getData(r, false, (rc, path, ctx, data, stat) -> {
                order.add(new String(data) + " v" + stat.getVersion());
                rounds.countDown();
            }, null);
        }
        finish(rounds);
        s.say("set and get in turn: " + order);
        order.clear();

        CountDownLatch mixed = new CountDownLatch(10);
        zk.getData(r, event -> done(order, mixed, "event " + event.getType()), (rc, path, ctx, data, stat) -> done(order, mixed, "data"), null);
        zk.setData(r, null, -1, (rc, path, ctx, stat) -> done(order, mixed, "set"), null);
        zk.getChildren(r, event -> done(order, mixed, "event " + event.getType()), (rc, path, ctx, names) -> done(order, mixed, names.size() + " children"), null);
        zk.create(r + "/x", null, Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL, (rc, path, ctx, name) -> done(order, mixed, "created"), null);
        zk.delete(r + "/none", -1, (rc, path, ctx) -> done(order, mixed, "delete " + Code.get(rc)), null);
        zk.exists(r + "/none", false, (rc, path, ctx, stat) -> done(order, mixed, "exists " + Code.get(rc)), null);
        zk.sync(r, (rc, path, ctx) -> done(order, mixed, "sync " + Code.get(rc) + " " + path), null);
        zk.getACL(r, new org.apache.zookeeper.data.Stat(), (rc, path, ctx, acl, stat) -> done(order, mixed, "ACL " + Script.render(acl)), null);
        finish(mixed);
        s.say("events before the answers that follow them: " + order);
        order.clear();

        CountDownLatch synced = new CountDownLatch(2);
        zk.sync("/", (rc, path, ctx) -> done(order, synced, "sync " + Code.get(rc) + " " + path), null);
        zk.sync(r + "/none", (rc, path, ctx) -> done(order, synced, "sync " + Code.get(rc) + " " + path), null);
        finish(synced);
        s.say("sync: " + order);
    }

    private static void done(List<String> order, CountDownLatch latch, String what) {
        order.add(what);
        latch.countDown();
    }

    private static void finish(CountDownLatch latch) throws Exception {
        if (!latch.await(Script.PATIENCE, TimeUnit.SECONDS)) {
            throw new IllegalStateException(latch.getCount() + " answers are missing");
        }
    }

    private static boolean isSorted(List<String> list) {
        List<String> sorted = new ArrayList<>(list);
        Collections.sort(sorted);
        return sorted.equals(list);
    }
}
