package zkbridge.clients.plain;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Transaction;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import zkbridge.clients.common.Client;
import zkbridge.clients.common.Scenario;
import zkbridge.clients.common.Script;

/** multi: all or nothing, one zxid, one result for each operation. */
public final class Transactions implements Scenario {
    @Override
    public void run(Script s) throws Exception {
        Client c = s.client();
        ZooKeeper zk = c.zk;
        String r = s.root;
        c.create(r, "");
        multi(s, zk, "everything at once",
            create(r + "/a", CreateMode.PERSISTENT), create(r + "/a/b", CreateMode.PERSISTENT),
            create(r + "/n-", CreateMode.PERSISTENT_SEQUENTIAL), create(r + "/n-", CreateMode.EPHEMERAL_SEQUENTIAL),
            Op.setData(r + "/a", "5".getBytes(), 0), Op.check(r + "/a", 1), Op.delete(r + "/a/b", -1));
        s.attempt("children", () -> c.children(r));
        Set<Long> zxids = new HashSet<>();
        for (String name : c.children(r)) {
            zxids.add(zk.exists(r + "/" + name, false).getCzxid());
        }
        s.say("zxids: " + zxids.size());
        multi(s, zk, "a check that fails", create(r + "/x", CreateMode.PERSISTENT), Op.check(r + "/a", 7), Op.delete(r + "/none", -1));
        multi(s, zk, "a create that fails", create(r + "/a", CreateMode.PERSISTENT), create(r + "/y", CreateMode.PERSISTENT));
        multi(s, zk, "no parent", Op.setData(r + "/a", null, -1), create(r + "/none/z", CreateMode.PERSISTENT));
        multi(s, zk, "not empty", create(r + "/p", CreateMode.PERSISTENT), create(r + "/p/q", CreateMode.PERSISTENT), Op.delete(r + "/p", -1));
        multi(s, zk, "a child of an ephemeral", create(r + "/e", CreateMode.EPHEMERAL), create(r + "/e/x", CreateMode.PERSISTENT));
        multi(s, zk, "a set of nothing", Op.setData(r + "/none", null, -1));
        multi(s, zk, "a check of nothing", Op.check(r + "/none", -1));
        multi(s, zk, "a check of nothing, version 0", Op.check(r + "/none", 0));
        multi(s, zk, "an empty ACL", Op.create(r + "/no-acl", null, new ArrayList<ACL>(), CreateMode.PERSISTENT));
        multi(s, zk, "nothing at all");
        multi(s, zk, "set twice", Op.setData(r + "/a", "6".getBytes(), 1), Op.setData(r + "/a", "7".getBytes(), 2));
        multi(s, zk, "made and gone", create(r + "/t", CreateMode.PERSISTENT), Op.delete(r + "/t", 0), create(r + "/t", CreateMode.EPHEMERAL), Op.delete(r + "/t", 0));
        s.attempt("children", () -> c.children(r));
        s.attempt("data", () -> zk.getData(r + "/a", false, null));
        s.attempt("Stat", () -> zk.exists(r, false));

        Transaction t = zk.transaction();
        t.create(r + "/u", "1".getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        t.setData(r + "/u", "2".getBytes(), 0);
        s.attempt("a Transaction", () -> t.commit());
        List<Op> many = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            many.add(create(r + "/u/" + i, CreateMode.EPHEMERAL));
        }
        s.attempt("200 creates", () -> zk.multi(many).size());
        s.attempt("are there", () -> zk.exists(r + "/u", false));
    }

    private static Op create(String path, CreateMode mode) {
        return Op.create(path, "d".getBytes(), Ids.OPEN_ACL_UNSAFE, mode);
    }

    private static void multi(Script s, ZooKeeper zk, String what, Op... ops) throws Exception {
        try {
            s.say(what + " -> " + Script.render(zk.multi(Arrays.asList(ops))));
        } catch (KeeperException e) {
            s.say(what + " -> " + Script.render(e) + " " + Script.render(e.getResults()));
        }
    }
}
