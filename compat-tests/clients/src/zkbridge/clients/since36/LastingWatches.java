package zkbridge.clients.since36;

import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.WatcherType;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Events;
import zkbridge.clients.common.Removals;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** addWatch: persistent and recursive watches, beside one-shot ones and after a cut. */
public final class LastingWatches implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        Client other = s.client();
        String r = s.root;
        c.create(r, "");
        c.create(r + "/p", "");
        c.create(r + "/q", "");

        Removals persistent = new Removals();
        Removals recursive = new Removals();
        s.attempt("persistent", () -> c.zk.addWatch(r + "/p", persistent, AddWatchMode.PERSISTENT));
        s.attempt("recursive", () -> c.zk.addWatch(r + "/q", recursive, AddWatchMode.PERSISTENT_RECURSIVE));
        for (String dir : new String[] {"/p", "/q"}) {
            life(other, r + dir);
        }
        s.fence(c.zk);
        s.say("persistent: " + persistent.take());
        s.say("recursive: " + recursive.take());

        Events shot = new Events();
        c.zk.getData(r + "/p", shot, null);
        c.zk.getChildren(r + "/q", shot);
        other.set(r + "/p", "1");
        other.create(r + "/q/z", "", CreateMode.EPHEMERAL);
        s.fence(c.zk);
        s.say("beside one-shot watches: " + persistent.take() + " | " + recursive.take() + " | " + shot.take());
        other.set(r + "/p", "2");
        other.delete(r + "/q/z");
        s.fence(c.zk);
        s.say("and after them: " + persistent.take() + " | " + recursive.take() + " | " + shot.take());

        s.attempt("recursive as well", () -> c.zk.addWatch(r + "/p", persistent, AddWatchMode.PERSISTENT_RECURSIVE));
        other.create(r + "/p/a", "");
        other.create(r + "/p/a/b", "");
        s.fence(c.zk);
        s.say("both: " + persistent.take());
        s.attempt("remove", () -> c.zk.removeWatches(r + "/p", persistent, WatcherType.Any, false));
        s.attempt("remove again", () -> c.zk.removeWatches(r + "/p", persistent, WatcherType.Any, false));
        s.attempt("remove as data", () -> c.zk.removeWatches(r + "/q", recursive, WatcherType.Data, false));
        other.set(r + "/p", "3");
        other.set(r + "/q", "3");
        s.fence(c.zk);
        s.say("afterwards: " + persistent.take() + " | " + recursive.take());
        s.attempt("on nothing", () -> c.zk.addWatch(r + "/later", persistent, AddWatchMode.PERSISTENT));
        other.create(r + "/later", "");
        other.delete(r + "/later");
        s.fence(c.zk);
        s.say("then: " + persistent.take());
        cut(s);
    }

    private static void life(Client c, String dir) throws Exception {
        c.set(dir, "x");
        c.create(dir + "/a", "");
        c.set(dir + "/a", "y");
        c.create(dir + "/a/b", "");
        c.delete(dir + "/a/b");
        c.delete(dir + "/a");
        c.delete(dir);
        c.create(dir, "");
    }

    private static void cut(Script s) throws Exception {
        Client c = s.exposed(Script.LONG);
        Client other = s.client();
        String r = s.root + "/cut";
        other.create(r, "");
        other.create(r + "/p", "");
        other.create(r + "/q", "");
        other.create(r + "/q/a", "");
        other.create(r + "/q/b", "");
        Events persistent = new Events();
        Events recursive = new Events();
        c.zk.addWatch(r + "/p", persistent, AddWatchMode.PERSISTENT);
        c.zk.addWatch(r + "/q", recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        c.zk.getData(r + "/q/a", recursive, null);
        s.inflict("refuse");
        c.reached("Disconnected");
        other.set(r + "/p", "1");
        other.create(r + "/p/x", "");
        other.set(r + "/q/a", "1");
        other.delete(r + "/q/b");
        other.create(r + "/q/c", "");
        s.inflict("accept");
        c.reached("SyncConnected");
        s.fence(c.zk);
        s.say("after a cut: " + persistent.take() + " | " + recursive.take());
        other.set(r + "/p", "2");
        other.create(r + "/q/d", "");
        s.fence(c.zk);
        s.say("they go on: " + persistent.take() + " | " + recursive.take());
    }
}
