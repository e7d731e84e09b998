package zkbridge.clients.common;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;

/** One scenario's run against one server: its clients and its transcript. */
public final class Script implements AutoCloseable {
    /** Seconds that something may take before the scenario gives up. */
    public static final int PATIENCE = 40;
    /** Session timeout of clients that are to lose their session, in ms. */
    public static final int SHORT = 4000;
    /** Session timeout of the others, in ms: a client's second attempt to come back may begin four seconds after a cut. */
    public static final int LONG = 20000;

    public final String root;
    /** Address that can be cut, and the one that cannot. */
    public final String relay;
    public final String direct;

    private final String name;
    private final String server;
    private final List<AutoCloseable> closing = new ArrayList<>();
    private int fences;

    Script(String name, String server, String relay, String direct) {
        this.name = name;
        this.server = server;
        this.relay = relay;
        this.direct = direct;
        this.root = "/" + System.getProperty("client", "java") + "-" + name;
    }

    public synchronized void say(String text) {
        Main.print(server + "> " + name + ": " + text);
    }

    /** A fault of the network between the relay and its clients. */
    public void inflict(String fault) throws Exception {
        Main.inflict(server, fault);
    }

    /** A client that is never cut off, connected. */
    public Client client() throws Exception {
        return track(new Client(direct, LONG)).connected();
    }

    /** A client that can be cut off, connected; timeout is that of its session, in ms. */
    public Client exposed(int timeout) throws Exception {
        return track(new Client(relay, timeout)).connected();
    }

    /** Has c closed when the scenario ends. */
    public <T extends AutoCloseable> T track(T c) {
        closing.add(0, c);
        return c;
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable c : closing) {
            c.close();
        }
    }

    /** Calls, and says what comes of it. */
    public <T> T attempt(String what, Callable<T> call) {
        try {
            T result = call.call();
            say(what + " -> " + render(result));
            return result;
        } catch (Exception e) {
            say(what + " -> " + render(e));
            return null;
        }
    }

    /** A call that gives nothing. */
    public interface Action {
        void run() throws Exception;
    }

    public void attempt(String what, Action action) {
        attempt(what, () -> {
            action.run();
            return "done";
        });
    }

    /** Waits until a condition holds; what says which one, for a failure. */
    public void await(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
        while (!condition.call()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("waited " + PATIENCE + " s in vain until " + what);
            }
            Thread.sleep(10);
        }
    }

    /**
     * Returns when every event that the server had for the client is handled:
     * events come in order and one thread handles them, so the event of a node
     * that is made now comes after all of them.
     */
    public void fence(ZooKeeper zk) throws Exception {
        String dir = root + "-fence";
        if (zk.exists(dir, false) == null) {
            zk.create(dir, null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        }
        String path = dir + "/" + fences++;
        CountDownLatch seen = new CountDownLatch(1);
        zk.exists(path, event -> seen.countDown());
        zk.create(path, null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        if (!seen.await(PATIENCE, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no event for a node that was created");
        }
    }

    /** A result as text, without what differs from run to run. */
    public static String render(Object value) {
        if (value == null) {
            return "null";
        }
        if (value instanceof KeeperException) {
            KeeperException e = (KeeperException) value;
            return e.code() + (e.getPath() == null ? "" : " " + e.getPath());
        }
        if (value instanceof Throwable) {
            return value.getClass().getSimpleName();
        }
        if (value instanceof byte[]) {
            byte[] data = (byte[]) value;
            return data.length > 100 ? data.length + " bytes, hash " + Arrays.hashCode(data) : '"' + new String(data) + '"';
        }
        if (value instanceof Stat) {
            return stat((Stat) value);
        }
        if (value instanceof ACL) {
            ACL a = (ACL) value;
            return a.getId().getScheme() + ":" + a.getId().getId() + ":" + a.getPerms();
        }
        if (value instanceof OpResult.CreateResult) {
            return "created " + ((OpResult.CreateResult) value).getPath();
        }
        if (value instanceof OpResult.SetDataResult) {
            return "set " + stat(((OpResult.SetDataResult) value).getStat());
        }
        if (value instanceof OpResult.ErrorResult) {
            return "error " + ((OpResult.ErrorResult) value).getErr();
        }
        if (value instanceof OpResult) {
            return value.getClass().getSimpleName();
        }
        if (value instanceof Collection) {
            List<String> all = new ArrayList<>();
            for (Object o : (Collection<?>) value) {
                all.add(render(o));
            }
            return all.toString();
        }
        return value.toString();
    }

    /** The fields of a Stat that are the same in every run. */
    public static String stat(Stat s) {
        return "Stat(v" + s.getVersion() + " cv" + s.getCversion() + " av" + s.getAversion() + " length " + s.getDataLength()
            + " children " + s.getNumChildren() + " owner " + (s.getEphemeralOwner() == 0 ? "none" : "somebody")
            + " c" + sign(s.getCzxid(), s.getMzxid()) + "m c" + sign(s.getCzxid(), s.getPzxid()) + "p"
            + " ctime" + (s.getCtime() <= s.getMtime() ? "<=" : ">") + "mtime)";
    }

    private static String sign(long a, long b) {
        return a == b ? "=" : a < b ? "<" : ">";
    }
}
