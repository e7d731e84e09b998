package zkbridge.clients.since35;

import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.WatcherType;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Events;
import zkbridge.clients.common.Removals;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** Watches taken back, one of them or all of a path. */
public final class WatchRemoval implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        Client other = s.client();
        String r = s.root;
        c.create(r, "");
        for (WatcherType type : new WatcherType[] {WatcherType.Data, WatcherType.Children, WatcherType.Any}) {
            Removals e = new Removals();
            c.zk.getData(r, e, null);
            c.zk.getChildren(r, e);
            s.attempt("remove " + type, () -> c.zk.removeWatches(r, e, type, false));
            s.attempt("remove " + type + " again", () -> c.zk.removeWatches(r, e, type, false));
            other.set(r, "x");
            other.create(r + "/" + type, "");
            s.fence(c.zk);
            s.say(type + ": " + e.take());
        }
        Removals one = new Removals();
        Events two = new Events();
        c.zk.getData(r, one, null);
        c.zk.getData(r, two, null);
        s.attempt("remove one of two", () -> c.zk.removeWatches(r, one, WatcherType.Data, false));
        other.set(r, "x");
        s.fence(c.zk);
        s.say("one: " + one.take() + ", two: " + two.take());
        c.zk.getData(r, one, null);
        c.zk.exists(r + "/later", one);
        c.zk.getChildren(r, one);
        s.attempt("remove all of a path", () -> c.zk.removeAllWatches(r, WatcherType.Any, false));
        s.attempt("remove all of a path with none", () -> c.zk.removeAllWatches(r, WatcherType.Any, false));
        s.attempt("remove that of nothing", () -> c.zk.removeAllWatches(r + "/later", WatcherType.Data, false));
        other.set(r, "x");
        other.create(r + "/later", "");
        s.fence(c.zk);
        s.say("told: " + one.take());
        Watcher never = new Events();
        s.attempt("remove one that never was", () -> c.zk.removeWatches(r, never, WatcherType.Any, false));
        s.attempt("locally", () -> c.zk.removeWatches(r, never, WatcherType.Any, true));
    }
}
