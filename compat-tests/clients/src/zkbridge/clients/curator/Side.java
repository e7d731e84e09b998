package zkbridge.clients.curator;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryForever;
import zkbridge.clients.common.Script;

/** A Curator client and the states that its connection went through. */
final class Side implements AutoCloseable {
    final CuratorFramework curator;
    private final List<String> states = Collections.synchronizedList(new ArrayList<>());

    private Side(String address, int timeout) {
        curator = CuratorFrameworkFactory.builder().connectString(address).sessionTimeoutMs(timeout).connectionTimeoutMs(3000)
            .retryPolicy(new RetryForever(100)).build();
        curator.getConnectionStateListenable().addListener((client, state) -> states.add(state.toString()));
        curator.start();
    }

    /** A client that is never cut off. */
    static Side of(Script s) throws Exception {
        return started(s, s.direct, Script.LONG);
    }

    /** A client that can be cut off; timeout is that of its session, in ms. */
    static Side exposed(Script s, int timeout) throws Exception {
        return started(s, s.relay, timeout);
    }

    private static Side started(Script s, String address, int timeout) throws Exception {
        Side side = s.track(new Side(address, timeout));
        s.await("Curator is connected", () -> side.states.contains(ConnectionState.CONNECTED.toString()));
        side.states();
        return side;
    }

    /** The states since the last time. */
    String states() {
        synchronized (states) {
            String taken = String.join(" ", states);
            states.clear();
            return taken;
        }
    }

    boolean is(ConnectionState state) {
        synchronized (states) {
            return !states.isEmpty() && states.get(states.size() - 1).equals(state.toString());
        }
    }

    void create(String path, String data) throws Exception {
        curator.create().creatingParentsIfNeeded().forPath(path, data.getBytes());
    }

    void set(String path, String data) throws Exception {
        curator.setData().forPath(path, data.getBytes());
    }

    void delete(String path) throws Exception {
        curator.delete().forPath(path);
    }

    List<String> children(String path) throws Exception {
        List<String> names = new ArrayList<>(curator.getChildren().forPath(path));
        Collections.sort(names);
        return names;
    }

    /** Names without the part that Curator makes up: a protection's or a node's number. */
    static List<String> plain(List<String> names) {
        List<String> out = new ArrayList<>();
        for (String name : names) {
            out.add(name.replaceAll("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID").replaceAll("^_c_UUID-", "_c_-"));
        }
        Collections.sort(out);
        return out;
    }

    /** Calls in a thread of its own. */
    static <T> Future<T> background(Script s, Callable<T> call) {
        ExecutorService one = Executors.newSingleThreadExecutor(r -> {
            Thread t = new Thread(r);
            t.setDaemon(true);
            return t;
        });
        s.track(one::shutdownNow);
        return one.submit(call);
    }

    static <T> T get(Future<T> future) throws Exception {
        return future.get(Script.PATIENCE, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        curator.close();
    }
}
