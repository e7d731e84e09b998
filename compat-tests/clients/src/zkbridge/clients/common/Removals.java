package zkbridge.clients.common;

import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;

/** A watcher that remembers whatever it is told of a node, removals too. */
public final class Removals implements Watcher {
    private final List<String> seen = new ArrayList<>();

    @Override
    public synchronized void process(WatchedEvent e) {
        if (e.getPath() != null) {
            seen.add(e.getType() + " " + e.getPath());
        }
    }

    /** The events since the last time. */
    public synchronized String take() {
        String taken = seen.isEmpty() ? "nothing" : String.join("; ", seen);
        seen.clear();
        return taken;
    }
}
