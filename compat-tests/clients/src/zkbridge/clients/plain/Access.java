package zkbridge.clients.plain;

import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Events;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** ACLs: who may do what, and what is told to those who may not. */
public final class Access implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        Client other = s.client();
        ZooKeeper zk = c.zk;
        String r = s.root;
        c.create(r, "");
        s.attempt("ACL", () -> zk.getACL(r, new Stat()));
        s.attempt("ACL of nothing", () -> zk.getACL(r + "/none", new Stat()));
        s.attempt("creator's, without an identity", () -> zk.create(r + "/auth", null, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT));
        s.attempt("empty", () -> zk.create(r + "/empty", null, new ArrayList<ACL>(), CreateMode.PERSISTENT));
        s.attempt("unknown scheme", () -> zk.create(r + "/x", null, list(Perms.ALL, "nosuch", "x"), CreateMode.PERSISTENT));
        s.attempt("world:somebody", () -> zk.create(r + "/x", null, list(Perms.ALL, "world", "somebody"), CreateMode.PERSISTENT));
        s.attempt("malformed digest", () -> zk.create(r + "/x", null, list(Perms.ALL, "digest", "u"), CreateMode.PERSISTENT));
        s.attempt("malformed ip", () -> zk.create(r + "/x", null, list(Perms.ALL, "ip", "300.1.1.1"), CreateMode.PERSISTENT));
        s.attempt("ip", () -> zk.create(r + "/ip", null, list(Perms.ALL, "ip", "127.0.0.1"), CreateMode.PERSISTENT));
        s.attempt("its data", () -> zk.getData(r + "/ip", false, null));
        s.attempt("other ip", () -> zk.create(r + "/net", null, list(Perms.ALL, "ip", "10.0.0.0/8"), CreateMode.PERSISTENT));
        s.attempt("its data", () -> zk.getData(r + "/net", false, null));
        s.attempt("its Stat", () -> zk.exists(r + "/net", false));
        s.attempt("its ACL", () -> zk.getACL(r + "/net", new Stat()));

        zk.addAuthInfo("digest", "u:p".getBytes());
        s.attempt("creator's, with an identity", () -> zk.create(r + "/auth", "secret".getBytes(), Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT));
        s.attempt("its ACL", () -> zk.getACL(r + "/auth", new Stat()));
        s.attempt("its data", () -> zk.getData(r + "/auth", false, null));
        s.attempt("for a user", () -> zk.create(r + "/user", "secret".getBytes(), list(Perms.ALL, "digest", digest("u:p")), CreateMode.PERSISTENT));
        refused(s, "a stranger", other, r + "/auth");
        Events e = new Events();
        s.attempt("a stranger watches", () -> other.zk.exists(r + "/auth", e));
        s.attempt("set", () -> zk.setData(r + "/auth", "secret".getBytes(), 0));
        s.fence(other.zk);
        s.say("the stranger is told: " + e.take());
        other.zk.addAuthInfo("digest", "u:wrong".getBytes());
        refused(s, "a wrong password", other, r + "/auth");
        other.zk.addAuthInfo("digest", "u:p".getBytes());
        s.attempt("one more identity", () -> other.zk.getData(r + "/auth", false, null));

        s.attempt("read only", () -> zk.setACL(r, list(Perms.READ | Perms.ADMIN, "world", "anyone"), 0));
        s.attempt("create below", () -> c.create(r + "/y", ""));
        s.attempt("delete below", () -> c.delete(r + "/ip"));
        s.attempt("set", () -> zk.setData(r, null, -1));
        s.attempt("ACL back", () -> zk.setACL(r, Ids.OPEN_ACL_UNSAFE, -1));
        c.create(r + "/z", "");
        s.attempt("ACL, wrong version", () -> zk.setACL(r + "/z", Ids.READ_ACL_UNSAFE, 4));
        s.attempt("ACL, empty", () -> zk.setACL(r + "/z", new ArrayList<ACL>(), -1));
        s.attempt("ACL, right version", () -> zk.setACL(r + "/z", both(), 0));
        s.attempt("ACL", () -> zk.getACL(r + "/z", new Stat()));
        s.attempt("Stat", () -> zk.exists(r + "/z", false));
        s.attempt("multi", () -> s.client().zk.multi(Arrays.asList(Op.check(r, -1), Op.setData(r + "/z", null, -1))));
        s.attempt("of nothing", () -> zk.setACL(r + "/none", Ids.OPEN_ACL_UNSAFE, -1));

        Client bad = s.client();
        bad.create(r + "/bad", "", CreateMode.EPHEMERAL);
        bad.zk.addAuthInfo("nosuch", "x".getBytes());
        bad.reached("AuthFailed");
        s.say("an unknown scheme: " + bad.states());
        s.attempt("afterwards", () -> bad.zk.exists(r, false));
        s.attempt("its node", () -> zk.exists(r + "/bad", false));
    }

    private static void refused(Script s, String who, Client c, String path) {
        s.attempt(who + " reads", () -> c.zk.getData(path, false, null));
        s.attempt(who + " lists", () -> c.children(path));
        s.attempt(who + " sets", () -> c.set(path, ""));
        s.attempt(who + " creates", () -> c.create(path + "/x", ""));
        s.attempt(who + " asks", () -> c.zk.exists(path, false));
        s.attempt(who + " asks for the ACL", () -> c.zk.getACL(path, new Stat()));
        s.attempt(who + " changes the ACL", () -> c.zk.setACL(path, Ids.OPEN_ACL_UNSAFE, -1));
    }

    private static List<ACL> list(int perms, String scheme, String id) {
        return Collections.singletonList(new ACL(perms, new Id(scheme, id)));
    }

    private static List<ACL> both() throws Exception {
        return Arrays.asList(new ACL(Perms.READ | Perms.ADMIN, new Id("world", "anyone")), new ACL(Perms.ALL, new Id("digest", digest("v:q"))));
    }

    private static String digest(String user) throws Exception {
        byte[] sum = MessageDigest.getInstance("SHA1").digest(user.getBytes());
        return user.substring(0, user.indexOf(':')) + ":" + Base64.getEncoder().encodeToString(sum);
    }
}
