package zkbridge.clients.plain;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Events;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** Sessions: resumed after a cut, expired, taken over, closed. */
public final class Sessions implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        s.client().create(s.root, "");
        negotiated(s);
        resumed(s);
        watches(s);
        takenOver(s);
        wrongPassword(s);
        closed(s);
        expired(s);
    }

    private static void negotiated(Script s) throws Exception {
        for (int timeout : new int[] {1000, 4000, 7777, 3_600_000}) {
            Client c = s.track(new Client(s.direct, timeout)).connected();
            s.say("asked for " + timeout + " ms: granted " + c.zk.getSessionTimeout() + ", password " + c.zk.getSessionPasswd().length + " bytes");
            c.close();
        }
    }

    /** Nobody else sees anything of a cut, and nothing is lost. */
    private static void resumed(Script s) throws Exception {
        Client c = s.exposed(Script.LONG);
        Client other = s.client();
        String r = s.root + "/resumed";
        other.create(r, "");
        c.create(r + "/a", "1", CreateMode.EPHEMERAL);
        Stat before = c.zk.exists(r + "/a", false);
        long id = c.zk.getSessionId();
        Events e = new Events();
        other.zk.getChildren(r, e);
        other.zk.exists(r + "/a", e);
        s.inflict("refuse");
        c.reached("Disconnected");
        s.attempt("an operation meanwhile", () -> c.zk.exists(r, false));
        s.inflict("accept");
        c.reached("SyncConnected");
        s.say("resumed: " + c.states() + ", same session " + (c.zk.getSessionId() == id) + ", timeout " + c.zk.getSessionTimeout());
        s.say("same node: " + before.equals(c.zk.exists(r + "/a", false)));
        s.attempt("create it again", () -> c.create(r + "/a", "2", CreateMode.EPHEMERAL));
        for (int i = 0; i < 2; i++) {
            c.states();
            s.inflict("cut");
            s.await("the client is back", () -> reads(c, r));
            c.reached("SyncConnected");
        }
        s.say("two more cuts: same session " + (c.zk.getSessionId() == id) + ", data " + Script.render(c.zk.getData(r + "/a", false, null)));
        s.fence(other.zk);
        s.say("others see " + e.take());
    }

    private static boolean reads(Client c, String path) {
        try {
            return c.zk.exists(path, false) != null;
        } catch (Exception e) {
            return false;
        }
    }

    /** Changes made while a client is away reach its watches when it is back. */
    private static void watches(Script s) throws Exception {
        Client c = s.exposed(Script.LONG);
        Client other = s.client();
        String r = s.root + "/watches";
        for (String path : new String[] {"", "/data", "/same", "/dir", "/gone", "/again"}) {
            other.create(r + path, "1");
        }
        Events data = new Events();
        Events same = new Events();
        Events dir = new Events();
        Events gone = new Events();
        Events later = new Events();
        Events again = new Events();
        c.zk.getData(r + "/data", data, null);
        c.zk.getData(r + "/same", same, null);
        c.zk.getChildren(r + "/dir", dir);
        c.zk.getData(r + "/gone", gone, null);
        c.zk.exists(r + "/later", later);
        c.zk.exists(r + "/again", again);
        s.inflict("refuse");
        c.reached("Disconnected");
        other.set(r + "/data", "2");
        other.create(r + "/dir/x", "");
        other.delete(r + "/gone");
        other.create(r + "/later", "");
        other.delete(r + "/again");
        other.create(r + "/again", "");
        s.inflict("accept");
        c.reached("SyncConnected");
        s.fence(c.zk);
        s.say("after a cut: data " + data.take() + ", same " + same.take() + ", dir " + dir.take() + ", gone " + gone.take()
            + ", later " + later.take() + ", again " + again.take());
        other.set(r + "/same", "2");
        s.fence(c.zk);
        s.say("what did not change is still watched: " + same.take());

        int many = 3000;
        Events lots = new Events();
        CountDownLatch armed = new CountDownLatch(many);
        for (int i = 0; i < many; i++) {
            c.zk.exists(r + "/many-" + i + "-with-a-name-that-is-rather-long-so-that-one-request-does-not-hold-all-of-them", lots,
                (rc, path, ctx, stat) -> armed.countDown(), null);
        }
        armed.await(Script.PATIENCE, TimeUnit.SECONDS);
        s.inflict("cut");
        s.await("the client is back", () -> reads(c, r));
        s.fence(c.zk);
        for (int i = 0; i < many; i += 1000) {
            other.create(r + "/many-" + i + "-with-a-name-that-is-rather-long-so-that-one-request-does-not-hold-all-of-them", "");
        }
        s.fence(c.zk);
        s.say(many + " watches after a cut: " + lots.count() + " of 3 events");
    }

    /** A session that another connection takes over goes on there; closed there, it is over for both. */
    private static void takenOver(Script s) throws Exception {
        Client c = s.exposed(Script.LONG);
        Client other = s.client();
        String r = s.root + "/taken-over";
        other.create(r, "");
        c.create(r + "/a", "", CreateMode.EPHEMERAL);
        s.inflict("refuse");
        c.reached("Disconnected");
        Client heir = s.track(new Client(s.direct, Script.SHORT, c.zk.getSessionId(), c.zk.getSessionPasswd())).connected();
        s.say("same session: " + (heir.zk.getSessionId() == c.zk.getSessionId()));
        s.say("its node is its own: " + (heir.zk.exists(r + "/a", false).getEphemeralOwner() == heir.zk.getSessionId()));
        s.attempt("delete it", () -> heir.delete(r + "/a"));
        s.attempt("create it", () -> heir.create(r + "/a", "", CreateMode.EPHEMERAL));
        heir.close();
        s.attempt("closed by the heir", () -> other.children(r));
        s.inflict("accept");
        c.reached("Expired");
        s.say("states of the first: " + c.states());
        s.attempt("its operations", () -> c.zk.exists(r, false));
    }

    /** Neither a wrong password nor an unknown id gives a session away. */
    private static void wrongPassword(Script s) throws Exception {
        Client c = s.client();
        String r = s.root + "/password";
        c.create(r, "");
        c.create(r + "/a", "", CreateMode.EPHEMERAL);
        Client thief = s.track(new Client(s.direct, Script.SHORT, c.zk.getSessionId(), new byte[16]));
        thief.reached("Expired");
        s.say("a wrong password: " + thief.states());
        s.await("the owner is back", () -> reads(c, r));
        c.reached("SyncConnected");
        s.say("the owner: " + c.states());
        s.attempt("its node", () -> c.zk.exists(r + "/a", false));
        Client stranger = s.track(new Client(s.direct, Script.SHORT, 0x7F00000000000001L, c.zk.getSessionPasswd()));
        stranger.reached("Expired");
        s.say("an unknown session: " + stranger.states());
    }

    /** Closing removes nodes at once, whatever the timeout. */
    private static void closed(Script s) throws Exception {
        Client c = s.client();
        Client other = s.client();
        String r = s.root + "/closed";
        other.create(r, "");
        c.create(r + "/a", "", CreateMode.EPHEMERAL);
        c.create(r + "/b-", "", CreateMode.EPHEMERAL_SEQUENTIAL);
        c.create(r + "/p", "");
        long id = c.zk.getSessionId();
        byte[] password = c.zk.getSessionPasswd();
        c.close();
        s.attempt("right after the close", () -> other.children(r));
        s.attempt("its operations", () -> c.zk.exists(r, false));
        Client late = s.track(new Client(s.direct, Script.SHORT, id, password));
        late.reached("Expired");
        s.say("resumed after the close: " + late.states());
    }

    /** The nodes of a silent client go when its time is over, and it is told when it is back. */
    private static void expired(Script s) throws Exception {
        Client c = s.exposed(Script.SHORT);
        Client other = s.client();
        String r = s.root + "/expired";
        other.create(r, "");
        c.create(r + "/a", "", CreateMode.EPHEMERAL);
        c.create(r + "/b-", "", CreateMode.EPHEMERAL_SEQUENTIAL);
        c.create(r + "/p", "");
        Events mine = new Events();
        c.zk.getData(r + "/p", mine, null);
        Events e = new Events();
        other.zk.exists(r + "/a", e);
        long start = System.nanoTime();
        s.inflict("refuse");
        AtomicReference<Code> pending = new AtomicReference<>();
        s.await("the session ends", () -> e.count() > 0);
        long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start);
        s.say("others see " + e.take() + ", not before its time: " + (took > Script.SHORT * 2 / 3 - 100));
        s.attempt("what is left", () -> other.children(r));
        other.set(r + "/p", "2");
        c.zk.exists(r, false, (rc, path, ctx, stat) -> pending.set(Code.get(rc)), null);
        s.inflict("accept");
        c.reached("Expired");
        s.say("states: " + c.states());
        s.attempt("its operations", () -> c.zk.exists(r, false));
        s.say("alive: " + c.zk.getState().isAlive() + ", its watch: " + mine.take());
        Client next = s.client();
        s.attempt("registered again", () -> next.create(r + "/a", "", CreateMode.EPHEMERAL));
    }
}
