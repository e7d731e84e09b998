package zkbridge.clients.curator5;

import java.util.TreeSet;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;
import org.apache.curator.retry.RetryForever;
import zkbridge.clients.common.Events;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** CuratorCache and PersistentWatcher, which stand on addWatch. */
public final class NewCaches implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        CuratorFramework c = start(s, s.relay);
        CuratorFramework other = start(s, s.direct);
        String r = s.root;
        other.create().forPath(r, "0".getBytes());
        other.create().forPath(r + "/a", "1".getBytes());
        Events watched = new Events();
        PersistentWatcher watcher = s.track(new PersistentWatcher(c, r, true));
        watcher.getListenable().addListener(watched);
        watcher.start(); // its request is on the way before those of the cache
        StringBuffer log = new StringBuffer();
        CuratorCache cache = s.track(CuratorCache.build(c, r));
        cache.listenable().addListener((type, old, now) -> log.append(type).append(' ').append(now == null ? old.getPath() : now.getPath()).append("; "));
        cache.start();
        s.await("both are there", () -> cache.size() == 2);
        step(s, log, "at first");
        other.create().forPath(r + "/a/b", "2".getBytes());
        s.await("the cache has it", () -> cache.get(r + "/a/b").isPresent());
        step(s, log, "created");
        other.setData().forPath(r + "/a", "3".getBytes());
        s.await("the cache has it", () -> new String(cache.get(r + "/a").get().getData()).equals("3"));
        step(s, log, "set");
        other.delete().forPath(r + "/a/b");
        s.await("the cache has it", () -> !cache.get(r + "/a/b").isPresent());
        step(s, log, "deleted");
        s.await("the watcher has heard", () -> watched.count() == 3);
        s.say("watcher: " + watched.take());

        s.inflict("refuse");
        s.await("Curator notices", () -> !c.getZookeeperClient().isConnected());
        other.create().forPath(r + "/new", "1".getBytes());
        other.setData().forPath(r + "/a", "4".getBytes());
        s.inflict("accept");
        s.await("the cache is right", () -> cache.get(r + "/new").isPresent() && new String(cache.get(r + "/a").get().getData()).equals("4"));
        TreeSet<String> paths = new TreeSet<>();
        cache.stream().forEach(d -> paths.add(d.getPath()));
        s.say("after a cut: " + paths);
        other.delete().forPath(r + "/new");
        s.await("the cache has it", () -> !cache.get(r + "/new").isPresent());
        s.await("the watcher goes on", () -> watched.take().contains("NodeDeleted " + r + "/new"));
        s.say("they go on");
    }

    private static void step(Script s, StringBuffer log, String what) throws Exception {
        s.await("the listener is told", () -> log.length() > 0);
        if (what.equals("at first")) {
            s.await("of both", () -> log.toString().split("; ").length == 2);
        }
        s.say(what + ": " + log);
        log.setLength(0);
    }

    private static CuratorFramework start(Script s, String address) throws Exception {
        CuratorFramework c = s.track(CuratorFrameworkFactory.builder().connectString(address).sessionTimeoutMs(Script.LONG)
            .connectionTimeoutMs(3000).retryPolicy(new RetryForever(100)).build());
        c.start();
        c.blockUntilConnected();
        return c;
    }
}
