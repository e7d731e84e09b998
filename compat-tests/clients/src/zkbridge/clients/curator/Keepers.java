package zkbridge.clients.curator;

import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.data.Stat;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** Recipes that keep a node there: PersistentNode, GroupMember. */
public final class Keepers implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Side a = Side.exposed(s, Script.SHORT);
        Side b = Side.of(s);
        b.create(s.root + "/p", "");
        String path = s.root + "/p/node";
        PersistentNode node = s.track(new PersistentNode(a.curator, CreateMode.EPHEMERAL, false, path, "1".getBytes()));
        node.start();
        s.attempt("is made", () -> node.waitForInitialCreate(Script.PATIENCE, TimeUnit.SECONDS));
        s.attempt("data", () -> b.curator.getData().forPath(path));
        long made = b.curator.checkExists().forPath(path).getCzxid();
        b.delete(path);
        s.await("it is made again", () -> {
            Stat stat = b.curator.checkExists().forPath(path);
            return stat != null && stat.getCzxid() > made;
        });
        s.attempt("data", () -> b.curator.getData().forPath(path));
        node.setData("2".getBytes());
        s.await("its data is set", () -> new String(b.curator.getData().forPath(path)).equals("2"));

        GroupMember ga = new GroupMember(a.curator, s.root + "/group", "a", "A".getBytes());
        GroupMember gb = s.track(new GroupMember(b.curator, s.root + "/group", "b", "B".getBytes()));
        ga.start();
        gb.start();
        s.await("both are members", () -> gb.getCurrentMembers().size() == 2);
        s.say("members " + new java.util.TreeSet<>(gb.getCurrentMembers().keySet()));

        long owner = b.curator.checkExists().forPath(path).getEphemeralOwner();
        s.inflict("refuse");
        s.await("the session ends", () -> b.curator.checkExists().forPath(path) == null);
        s.await("the member is gone", () -> gb.getCurrentMembers().size() == 1);
        s.inflict("accept");
        s.await("Curator is back", () -> a.is(ConnectionState.RECONNECTED));
        s.await("the node is back", () -> b.curator.checkExists().forPath(path) != null);
        s.say("another session's: " + (b.curator.checkExists().forPath(path).getEphemeralOwner() != owner));
        s.await("the member is back", () -> gb.getCurrentMembers().size() == 2);
        s.say("members " + new java.util.TreeSet<>(gb.getCurrentMembers().keySet()));
        ga.close();
        s.await("the member has left", () -> gb.getCurrentMembers().size() == 1);
        node.close();
        s.await("the node is gone", () -> b.curator.checkExists().forPath(path) == null);
        s.say("left: " + b.children(s.root + "/group") + b.children(s.root + "/p"));
    }
}
