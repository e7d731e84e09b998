package zkbridge.clients.curator;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** SharedCount and DistributedAtomicLong. */
public final class Counters implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Side a = Side.of(s);
        Side b = Side.of(s);
        SharedCount ca = s.track(new SharedCount(a.curator, s.root + "/shared", 5));
        SharedCount cb = s.track(new SharedCount(b.curator, s.root + "/shared", 7));
        ca.start();
        cb.start();
        s.say("at first: " + ca.getCount() + " " + cb.getCount());
        Heard heard = new Heard();
        cb.addListener(new SharedCountListener() {
            @Override
            public void countHasChanged(SharedCountReader reader, int count) {
                heard.add("count " + count);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {
                heard.add(state.toString());
            }
        });
        ca.setCount(9);
        heard.expect(s, "set", "count 9");
        s.attempt("versioned", () -> cb.trySetCount(cb.getVersionedValue(), 10));
        s.await("a sees it", () -> ca.getCount() == 10);
        s.say("values: " + ca.getCount() + " version " + ca.getVersionedValue().getVersion());

        List<Future<Integer>> all = new ArrayList<>();
        for (Side side : new Side[] {a, b, Side.of(s), Side.of(s)}) {
            all.add(Side.background(s, () -> {
                DistributedAtomicLong n = new DistributedAtomicLong(side.curator, s.root + "/long", new RetryNTimes(1000, 1));
                int good = 0;
                for (int i = 0; i < 25; i++) {
                    AtomicValue<Long> v = n.increment();
                    good += v.succeeded() ? 1 : 0;
                }
                return good;
            }));
        }
        int good = 0;
        for (Future<Integer> f : all) {
            good += Side.get(f);
        }
        DistributedAtomicLong n = new DistributedAtomicLong(a.curator, s.root + "/long", new RetryNTimes(10, 1));
        s.say(good + " increments: " + n.get().postValue());
        s.attempt("compare and set", () -> n.compareAndSet(100L, 7L).succeeded() + " " + n.get().postValue());
        s.attempt("compare and set, wrong", () -> n.compareAndSet(100L, 8L).succeeded() + " " + n.get().postValue());
    }
}
