package zkbridge.clients.curator;

import java.util.Collection;
import java.util.Collections;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.transaction.CuratorTransactionResult;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** The framework's own operations. */
public final class Framework implements Scenario {
    @Override
    @SuppressWarnings("deprecation")
    public void run(Script s) throws Exception {
        CuratorFramework c = Side.of(s).curator;
        String r = s.root;
        s.attempt("create without a parent", () -> c.create().forPath(r + "/a/b", "1".getBytes()));
        s.attempt("parents too", () -> c.create().creatingParentsIfNeeded().forPath(r + "/a/b", "1".getBytes()));
        s.attempt("parents as containers", () -> c.create().creatingParentContainersIfNeeded().withMode(CreateMode.EPHEMERAL).forPath(r + "/c/d/e", "1".getBytes()));
        s.attempt("Stat of one", () -> c.checkExists().forPath(r + "/c/d"));
        s.attempt("again", () -> c.create().creatingParentsIfNeeded().forPath(r + "/a/b"));
        s.attempt("data and Stat", () -> {
            Stat stat = new Stat();
            return Script.render(c.getData().storingStatIn(stat).forPath(r + "/a/b")) + " " + Script.render(stat);
        });
        s.attempt("set", () -> c.setData().withVersion(0).forPath(r + "/a/b", "2".getBytes()));
        s.attempt("set, wrong version", () -> c.setData().withVersion(0).forPath(r + "/a/b", "3".getBytes()));
        s.attempt("exists", () -> c.checkExists().forPath(r + "/none"));
        s.attempt("children of nothing", () -> c.getChildren().forPath(r + "/none"));
        s.attempt("protected", () -> c.create().withProtection().withMode(CreateMode.EPHEMERAL_SEQUENTIAL).forPath(r + "/p-").replaceAll("_c_[0-9a-f-]{36}-", "_c_-"));
        s.attempt("children", () -> Side.plain(c.getChildren().forPath(r)));
        s.attempt("delete of a node with children", () -> c.delete().forPath(r + "/a"));
        s.attempt("delete of all", () -> c.delete().guaranteed().deletingChildrenIfNeeded().forPath(r + "/a"));
        s.attempt("delete of nothing", () -> c.delete().forPath(r + "/a"));

        s.attempt("a transaction", () -> kinds(c.inTransaction().create().forPath(r + "/t", "1".getBytes()).and()
            .setData().forPath(r + "/t", "2".getBytes()).and().check().withVersion(1).forPath(r + "/t").and().delete().forPath(r + "/t").and().commit()));
        s.attempt("one that fails", () -> kinds(c.inTransaction().create().forPath(r + "/t").and().delete().forPath(r + "/none").and().commit()));
        s.attempt("leaves nothing", () -> c.checkExists().forPath(r + "/t"));

        BlockingQueue<String> called = new ArrayBlockingQueue<>(10);
        c.create().inBackground((client, event) -> called.add(event.getType() + " " + event.getResultCode() + " " + event.getName())).forPath(r + "/bg");
        s.say("in the background: " + called.poll(Script.PATIENCE, TimeUnit.SECONDS));
        c.getData().inBackground((client, event) -> called.add(event.getType() + " " + event.getResultCode())).forPath(r + "/none");
        s.say("in the background: " + called.poll(Script.PATIENCE, TimeUnit.SECONDS));
        c.sync().inBackground((client, event) -> called.add(event.getType() + " " + event.getResultCode())).forPath(r);
        s.say("in the background: " + called.poll(Script.PATIENCE, TimeUnit.SECONDS));
        c.getData().usingWatcher((org.apache.curator.framework.api.CuratorWatcher) event -> called.add(event.getType() + " " + event.getPath())).forPath(r + "/bg");
        c.setData().forPath(r + "/bg", "x".getBytes());
        s.say("watched: " + called.poll(Script.PATIENCE, TimeUnit.SECONDS));

        s.attempt("ACL", () -> c.getACL().forPath(r));
        s.attempt("set it", () -> c.setACL().withACL(Collections.singletonList(new ACL(Perms.READ, new Id("world", "anyone")))).forPath(r + "/bg"));
        s.attempt("and the data", () -> c.setData().forPath(r + "/bg", "y".getBytes()));
        CuratorFramework below = c.usingNamespace(r.substring(1) + "/space");
        s.attempt("namespace", () -> below.create().creatingParentsIfNeeded().forPath("/x/y"));
        s.attempt("from outside", () -> c.getChildren().forPath(r + "/space"));
        s.attempt("mkdirs", () -> {
            ZKPaths.mkdirs(c.getZookeeperClient().getZooKeeper(), r + "/m/n/o");
            return c.checkExists().forPath(r + "/m/n/o") != null;
        });
    }

    private static String kinds(Collection<CuratorTransactionResult> results) {
        StringBuilder out = new StringBuilder();
        for (CuratorTransactionResult result : results) {
            out.append(result.getType()).append(' ').append(result.getForPath()).append(' ')
                .append(result.getResultStat() == null ? "" : Script.render(result.getResultStat())).append("; ");
        }
        return out.toString();
    }
}
