package zkbridge.clients.common;

import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** A session of the plain client, and the states it went through. */
public final class Client implements Watcher, AutoCloseable {
    public final ZooKeeper zk;
    /** Events of nodes that the default watcher got. */
    public final Events events = new Events();
    private final List<String> states = new ArrayList<>();

    public Client(String address, int timeout) throws Exception {
        zk = new ZooKeeper(address, timeout, this);
    }

    /** Takes a session over. */
    public Client(String address, int timeout, long id, byte[] password) throws Exception {
        zk = new ZooKeeper(address, timeout, this, id, password);
    }

    @Override
    public void process(WatchedEvent e) {
        if (e.getType() != Event.EventType.None) {
            events.process(e);
            return;
        }
        synchronized (states) { // a client tells of each attempt that fails: once is enough
            String state = e.getState().toString();
            if (states.isEmpty() || !states.get(states.size() - 1).equals(state)) {
                states.add(state);
            }
            states.notifyAll();
        }
    }

    /** Waits until the client is in that state, which is the last it went into. */
    public Client reached(String state) throws Exception {
        long end = System.currentTimeMillis() + Script.PATIENCE * 1000;
        synchronized (states) {
            while (states.isEmpty() || !states.get(states.size() - 1).equals(state)) {
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException("waited in vain for " + state + ", states " + states);
                }
                states.wait(100);
            }
        }
        return this;
    }

    /** Waits until the client is connected, and forgets the states before. */
    public Client connected() throws Exception {
        reached("SyncConnected");
        states();
        return this;
    }

    /** The states since the last time. */
    public String states() {
        synchronized (states) {
            String taken = states.isEmpty() ? "none" : String.join(" ", states);
            states.clear();
            return taken;
        }
    }

    public String create(String path, String data, CreateMode mode) throws Exception {
        return zk.create(path, data == null ? null : data.getBytes("UTF-8"), ZooDefs.Ids.OPEN_ACL_UNSAFE, mode);
    }

    public String create(String path, String data) throws Exception {
        return create(path, data, CreateMode.PERSISTENT);
    }

    public void set(String path, String data) throws Exception {
        zk.setData(path, data.getBytes("UTF-8"), -1);
    }

    public void delete(String path) throws Exception {
        zk.delete(path, -1);
    }

    public List<String> children(String path) throws Exception {
        List<String> names = new ArrayList<>(zk.getChildren(path, false));
        java.util.Collections.sort(names);
        return names;
    }

    @Override
    public void close() throws Exception {
        zk.close();
    }
}
