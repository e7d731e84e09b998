package zkbridge.clients.curator;

import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** LeaderLatch and LeaderSelector. */
public final class Leaders implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Side a = Side.of(s);
        Side b = Side.of(s);
        LeaderLatch la = new LeaderLatch(a.curator, s.root + "/latch", "a");
        LeaderLatch lb = new LeaderLatch(b.curator, s.root + "/latch", "b");
        la.start();
        s.await("a leads", la::hasLeadership);
        lb.start();
        s.await("b stands", () -> la.getParticipants().size() == 2);
        s.say("leader " + la.getLeader() + ", b " + lb.hasLeadership() + ", b sees " + lb.getLeader());
        la.close();
        s.await("b leads", lb::hasLeadership);
        s.say("a closed: leader " + lb.getLeader() + ", participants " + lb.getParticipants());
        lb.close();
        s.await("nothing is left", () -> a.children(s.root + "/latch").isEmpty()); // deleted in the background

        Heard heard = new Heard();
        CountDownLatch endA = new CountDownLatch(1);
        CountDownLatch endB = new CountDownLatch(1);
        LeaderSelector sa = selector(s, a.curator, "a", heard, endA);
        s.await("a leads", () -> heard.has("a leads"));
        LeaderSelector sb = selector(s, b.curator, "b", heard, endB);
        s.await("b stands", () -> sa.getParticipants().size() == 2);
        s.say("selector: " + heard.take() + ", leader " + sb.getLeader());
        endA.countDown();
        heard.expect(s, "a yields", "a yields", "b leads");
        s.say("leader " + sb.getLeader() + ", participants " + sb.getParticipants());
        endB.countDown();
        heard.expect(s, "b yields", "b yields");
    }

    private static LeaderSelector selector(Script s, CuratorFramework c, String id, Heard heard, CountDownLatch end) {
        LeaderSelector selector = new LeaderSelector(c, s.root + "/selector", new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                heard.add(id + " leads");
                end.await();
                heard.add(id + " yields");
            }
        });
        selector.setId(id);
        selector.start();
        s.track(selector);
        return selector;
    }
}
