package zkbridge.clients.curator;

import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.zookeeper.CreateMode;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** What Curator tells of lost connections and sessions, and a leader that loses its own. */
public final class Outages implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Side a = Side.exposed(s, Script.LONG);
        Side b = Side.of(s);
        String path = s.root + "/e";
        b.create(s.root + "/p", "");
        a.curator.create().withMode(CreateMode.EPHEMERAL).forPath(path);
        long session = a.curator.getZookeeperClient().getZooKeeper().getSessionId();
        s.inflict("refuse");
        s.await("Curator notices", () -> a.is(ConnectionState.SUSPENDED));
        s.inflict("accept");
        s.attempt("an operation waits for the connection", () -> a.curator.getData().forPath(s.root + "/p"));
        s.await("Curator is back", () -> a.is(ConnectionState.RECONNECTED));
        s.say("a cut: " + a.states() + ", same session " + (session == a.curator.getZookeeperClient().getZooKeeper().getSessionId()));
        s.attempt("its node", () -> b.curator.checkExists().forPath(path).getEphemeralOwner() == session);

        Side c = Side.exposed(s, Script.SHORT);
        LeaderLatch lc = s.track(new LeaderLatch(c.curator, s.root + "/latch", "c"));
        LeaderLatch lb = s.track(new LeaderLatch(b.curator, s.root + "/latch", "b"));
        lc.start();
        s.await("c leads", lc::hasLeadership);
        lb.start();
        s.await("b stands", () -> lb.getParticipants().size() == 2);
        s.inflict("refuse");
        long lost = c.curator.getZookeeperClient().getZooKeeper().getSessionId();
        s.await("b leads", lb::hasLeadership);
        s.say("its session lost: c leads " + lc.hasLeadership() + ", leader " + lb.getLeader());
        s.inflict("accept");
        s.await("c is back", () -> c.is(ConnectionState.RECONNECTED));
        // Whether Curator 2 says LOST in between is a matter of its timing.
        s.say("another session: " + (lost != c.curator.getZookeeperClient().getZooKeeper().getSessionId()));
        s.await("c stands again", () -> lb.getParticipants().size() == 2);
        s.say("c stands again: leader " + lb.getLeader() + ", c leads " + lc.hasLeadership());
    }
}
