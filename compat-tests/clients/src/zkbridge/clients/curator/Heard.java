package zkbridge.clients.curator;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import zkbridge.clients.common.Script;

/** What a listener was told, in order. */
final class Heard {
    private final List<String> heard = new ArrayList<>();

    synchronized void add(String what) {
        heard.add(what);
    }

    /** Waits until exactly these were heard, in any order, says so, and forgets them. */
    void expect(Script s, String when, String... all) throws Exception {
        List<String> want = new ArrayList<>(Arrays.asList(all));
        Collections.sort(want);
        try {
            s.await(when, () -> sorted().size() >= want.size() && (want.isEmpty() || sorted().containsAll(want)));
        } catch (IllegalStateException e) {
            throw new IllegalStateException(when + ": want " + want + ", heard " + sorted(), e);
        }
        s.say(when + ": " + take());
    }

    synchronized boolean has(String what) {
        return heard.contains(what);
    }

    synchronized List<String> take() {
        List<String> taken = sorted();
        heard.clear();
        return taken;
    }

    private synchronized List<String> sorted() {
        List<String> out = new ArrayList<>(heard);
        Collections.sort(out);
        return out;
    }
}
