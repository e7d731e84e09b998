import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;

/** Arguments: address, authority, and the client's own key and certificate, or "none". Prints what it sees. */
public class Client {
    static void say(String format, Object... args) {
        System.out.println(String.format(format, args));
    }

    public static void main(String[] args) throws Exception {
        ZKClientConfig config = new ZKClientConfig();
        config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
        config.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
        config.setProperty("zookeeper.ssl.trustStore.location", args[1]);
        if (!args[2].equals("none")) {
            config.setProperty("zookeeper.ssl.keyStore.location", args[2]);
        }
        CountDownLatch connected = new CountDownLatch(1);
        LinkedBlockingQueue<WatchedEvent> events = new LinkedBlockingQueue<>();
        ZooKeeper zk = new ZooKeeper(args[0], 20000, e -> {
            if (e.getState() == KeeperState.SyncConnected && e.getPath() == null) {
                connected.countDown();
            } else {
                events.add(e);
            }
        }, config);
        if (!connected.await(20, TimeUnit.SECONDS)) {
            say("not connected");
            System.exit(1);
        }
        List<String> who = new ArrayList<>();
        zk.whoAmI().forEach(i -> who.add(i.getAuthScheme() + ":" + i.getUser()));
        who.sort(null);
        say("who am I: %s", who);
        try {
            zk.create("/tls", new byte[0], ZooDefs.Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
            say("ACL: %s", zk.getACL("/tls", new Stat()));
            zk.delete("/tls", -1);
        } catch (KeeperException e) {
            say("creator's ACL: %s", e.code());
        }
        for (String name : new String[] {"CN=bob", "CN=bob, O=x", "nobody", "CN=\"a,b\""}) {
            try {
                zk.create("/acl", null, java.util.Collections.singletonList(new ACL(ZooDefs.Perms.READ, new Id("x509", name))), CreateMode.PERSISTENT);
                say("%s: ok", name);
                zk.delete("/acl", -1);
            } catch (KeeperException e) {
                say("%s: %s", name, e.code());
            }
        }
        zk.create("/big", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        zk.exists("/big", true);
        byte[] data = new byte[900000];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) (i * 31);
        }
        zk.setData("/big", data, 0);
        WatchedEvent e = events.poll(10, TimeUnit.SECONDS);
        say("event: %s %s", e.getType(), e.getPath());
        say("the same data: %s", java.util.Arrays.equals(data, zk.getData("/big", false, null)));
        for (int i = 0; i < 3; i++) {
            zk.exists("/gone", true);
            zk.create("/gone", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            say("event: %s", events.poll(10, TimeUnit.SECONDS).getType());
            zk.delete("/gone", -1);
        }
        zk.close();
        say("closed");
        System.exit(0);
    }
}
