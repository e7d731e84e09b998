package zkbridge.clients.common;

import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/** A watcher that remembers the events of nodes it got. */
public final class Events implements Watcher {
    private final List<String> seen = new ArrayList<>();

    @Override
    public synchronized void process(WatchedEvent e) {
        // What happens to the connection is told to every watcher; Client has it.
        if (e.getType() != Event.EventType.None) {
            seen.add(e.getType() + " " + e.getPath());
        }
    }

    /** The events since the last time. */
    public synchronized String take() {
        String taken = seen.isEmpty() ? "nothing" : String.join("; ", seen);
        seen.clear();
        return taken;
    }

    public synchronized int count() {
        return seen.size();
    }
}
