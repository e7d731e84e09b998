package zkbridge.clients.curator;

import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** Locks and semaphores. */
public final class Locks implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Side a = Side.of(s);
        Side b = Side.of(s);
        Side c = Side.of(s);
        String m = s.root + "/mutex";
        InterProcessMutex ma = new InterProcessMutex(a.curator, m);
        InterProcessMutex mb = new InterProcessMutex(b.curator, m);
        InterProcessMutex mc = new InterProcessMutex(c.curator, m);
        s.attempt("a acquires", () -> ma.acquire(5, TimeUnit.SECONDS));
        s.attempt("a acquires again", () -> ma.acquire(5, TimeUnit.SECONDS));
        s.attempt("b tries", () -> mb.acquire(100, TimeUnit.MILLISECONDS));
        s.say("queue: " + ma.getParticipantNodes().size());
        Future<String> wb = Side.background(s, () -> hold(mb));
        s.await("b queues", () -> ma.getParticipantNodes().size() == 2);
        Future<String> wc = Side.background(s, () -> hold(mc));
        s.await("c queues", () -> ma.getParticipantNodes().size() == 3);
        ma.release();
        s.say("released once: b has it " + wb.isDone());
        ma.release();
        s.say("released twice: b " + Side.get(wb) + ", c " + Side.get(wc) + ", queue " + ma.getParticipantNodes().size());
        s.attempt("release of what is not held", () -> ma.release());

        Side dying = Side.of(s);
        InterProcessMutex md = new InterProcessMutex(dying.curator, m);
        md.acquire();
        Future<String> after = Side.background(s, () -> hold(mb));
        s.await("b queues", () -> ma.getParticipantNodes().size() == 2);
        dying.close();
        s.say("its holder closed: b " + Side.get(after));

        InterProcessReadWriteLock ra = new InterProcessReadWriteLock(a.curator, s.root + "/rw");
        InterProcessReadWriteLock rb = new InterProcessReadWriteLock(b.curator, s.root + "/rw");
        s.attempt("a reads", () -> ra.readLock().acquire(5, TimeUnit.SECONDS));
        s.attempt("b reads", () -> rb.readLock().acquire(5, TimeUnit.SECONDS));
        s.attempt("b tries to write", () -> new InterProcessReadWriteLock(c.curator, s.root + "/rw").writeLock().acquire(100, TimeUnit.MILLISECONDS));
        ra.readLock().release();
        rb.readLock().release();
        s.attempt("b writes", () -> rb.writeLock().acquire(5, TimeUnit.SECONDS));
        s.attempt("a tries to read", () -> ra.readLock().acquire(100, TimeUnit.MILLISECONDS));
        rb.writeLock().release();

        InterProcessSemaphoreV2 sa = new InterProcessSemaphoreV2(a.curator, s.root + "/semaphore", 2);
        InterProcessSemaphoreV2 sb = new InterProcessSemaphoreV2(b.curator, s.root + "/semaphore", 2);
        Lease one = sa.acquire(5, TimeUnit.SECONDS);
        Lease two = sb.acquire(5, TimeUnit.SECONDS);
        s.say("two leases: " + (one != null) + " " + (two != null));
        s.say("a third: " + sb.acquire(100, TimeUnit.MILLISECONDS));
        sa.returnLease(one);
        s.say("then: " + (sb.acquire(5, TimeUnit.SECONDS) != null) + ", holders " + sa.getParticipantNodes().size());
        InterProcessSemaphoreMutex sm = new InterProcessSemaphoreMutex(a.curator, s.root + "/semaphore-mutex");
        s.attempt("semaphore mutex", () -> sm.acquire(5, TimeUnit.SECONDS));
        s.attempt("not twice", () -> sm.acquire(100, TimeUnit.MILLISECONDS));
        s.attempt("release", () -> sm.release());
    }

    private static String hold(InterProcessMutex m) throws Exception {
        m.acquire();
        m.release();
        return "had it";
    }
}
