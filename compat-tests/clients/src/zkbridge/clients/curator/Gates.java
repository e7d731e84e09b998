package zkbridge.clients.curator;

import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** Barriers and queues. */
public final class Gates implements Scenario {
    private static final QueueSerializer<String> TEXT = new QueueSerializer<String>() {
        @Override
        public byte[] serialize(String item) {
            return item.getBytes();
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes);
        }
    };

    @Override
    public void run(Script s) throws Exception {
        Side a = Side.of(s);
        Side b = Side.of(s);
        DistributedBarrier ba = new DistributedBarrier(a.curator, s.root + "/barrier");
        DistributedBarrier bb = new DistributedBarrier(b.curator, s.root + "/barrier");
        ba.setBarrier();
        s.attempt("barrier, closed", () -> bb.waitOnBarrier(100, TimeUnit.MILLISECONDS));
        Future<Boolean> through = Side.background(s, () -> bb.waitOnBarrier(Script.PATIENCE, TimeUnit.SECONDS));
        ba.removeBarrier();
        s.say("barrier, opened: " + Side.get(through));

        DistributedDoubleBarrier da = new DistributedDoubleBarrier(a.curator, s.root + "/double", 2);
        DistributedDoubleBarrier db = new DistributedDoubleBarrier(b.curator, s.root + "/double", 2);
        Future<Boolean> first = Side.background(s, () -> da.enter(Script.PATIENCE, TimeUnit.SECONDS));
        s.await("one waits", () -> a.curator.checkExists().forPath(s.root + "/double") != null && a.children(s.root + "/double").size() == 1);
        s.say("double barrier: alone " + first.isDone());
        Future<Boolean> second = Side.background(s, () -> db.enter(Script.PATIENCE, TimeUnit.SECONDS));
        s.say("both in: " + Side.get(first) + " " + Side.get(second));
        Future<Boolean> out = Side.background(s, () -> da.leave(Script.PATIENCE, TimeUnit.SECONDS));
        s.say("both out: " + db.leave(Script.PATIENCE, TimeUnit.SECONDS) + " " + Side.get(out));

        Heard got = new Heard();
        QueueConsumer<String> consumer = new QueueConsumer<String>() {
            @Override
            public void consumeMessage(String message) {
                got.add(message);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {
                got.add(state.toString());
            }
        };
        DistributedQueue<String> in = s.track(QueueBuilder.builder(a.curator, null, TEXT, s.root + "/queue").buildQueue());
        in.start();
        for (int i = 0; i < 5; i++) {
            in.put("m" + i);
        }
        DistributedQueue<String> outQueue = s.track(QueueBuilder.builder(b.curator, consumer, TEXT, s.root + "/queue").buildQueue());
        outQueue.start();
        got.expect(s, "queue", "m0", "m1", "m2", "m3", "m4");
        in.put("late");
        got.expect(s, "queue, later", "late");
        s.await("it is empty", () -> a.children(s.root + "/queue").isEmpty());
        DistributedPriorityQueue<String> priority = s.track(QueueBuilder.builder(a.curator, consumer, TEXT, s.root + "/priority").buildPriorityQueue(1));
        priority.start();
        priority.put("low", 9);
        priority.put("high", 1);
        got.expect(s, "priority queue", "low", "high");
        SimpleDistributedQueue simple = new SimpleDistributedQueue(a.curator, s.root + "/simple");
        s.attempt("simple queue, nothing", () -> simple.poll(100, TimeUnit.MILLISECONDS));
        s.attempt("offer", () -> simple.offer("1".getBytes()) && simple.offer("2".getBytes()));
        s.attempt("peek", () -> simple.peek());
        s.attempt("take", () -> simple.take());
        s.attempt("poll", () -> new SimpleDistributedQueue(b.curator, s.root + "/simple").poll(5, TimeUnit.SECONDS));
    }
}
