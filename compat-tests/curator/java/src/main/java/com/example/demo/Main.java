package com.example.demo;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;

/**
 * An application on Curator, as a user would write it: {@code provider} or {@code consumer}, then options as key=value.
 *
 * <p>A provider listens on host:port and keeps an ephemeral node of that name below {@code dir}; a consumer follows the
 * directory with a CuratorCache and calls one of the names in it.
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 1; i < args.length; i++) {
            int equals = args[i].indexOf('=');
            options.put(args[i].substring(0, equals), args[i].substring(equals + 1));
        }
        CuratorFramework client =
                CuratorFrameworkFactory.newClient(options.get("zookeeper"), new ExponentialBackoffRetry(500, 10));
        client.getConnectionStateListenable().addListener((c, state) -> say("STATE " + state));
        client.start();
        if (args[0].equals("provider")) {
            provider(client, options);
        } else {
            consumer(client, options.get("dir"));
        }
        client.close();
        System.exit(0);
    }

    private static void provider(CuratorFramework client, Map<String, String> options) throws Exception {
        int port = Integer.parseInt(options.get("port"));
        ServerSocket server = new ServerSocket(port, 50, InetAddress.getByName(options.get("host")));
        daemon("serve", () -> serve(server, port));
        byte[] data = ("at " + port).getBytes(StandardCharsets.UTF_8);
        PersistentNode node = new PersistentNode(
                client, CreateMode.EPHEMERAL, false, options.get("dir") + "/" + options.get("host") + ":" + port, data);
        node.start();
        node.waitForInitialCreate(60, java.util.concurrent.TimeUnit.SECONDS);
        say("READY provider " + port + " pid " + ProcessHandle.current().pid());
        commands(null);
        node.close();
    }

    private static void serve(ServerSocket server, int port) {
        while (true) {
            try (Socket socket = server.accept();
                    BufferedReader in = reader(socket);
                    OutputStream out = socket.getOutputStream()) {
                out.write(("hello-" + in.readLine() + " from " + port + "\n").getBytes(StandardCharsets.UTF_8));
            } catch (IOException e) {
                say("ERROR " + e);
            }
        }
    }

    private static void consumer(CuratorFramework client, String dir) throws Exception {
        CuratorCache cache = CuratorCache.build(client, dir);
        cache.start();
        daemon("view", () -> watch(cache, dir));
        say("READY consumer pid " + ProcessHandle.current().pid());
        commands(() -> call(addresses(cache, dir)));
        cache.close();
    }

    private static Set<String> addresses(CuratorCache cache, String dir) {
        Set<String> addresses = new TreeSet<>();
        cache.stream().filter(node -> node.getPath().startsWith(dir + "/")).forEach(node -> {
            String name = node.getPath().substring(dir.length() + 1);
            String data = new String(node.getData(), StandardCharsets.UTF_8);
            addresses.add(data.equals("at " + name.substring(name.indexOf(':') + 1)) ? name : name + "?" + data);
        });
        return addresses;
    }

    private static void watch(CuratorCache cache, String dir) {
        Set<String> last = null;
        while (true) {
            Set<String> now = addresses(cache, dir);
            if (!now.equals(last)) {
                say("PROVIDERS " + now.size() + " [" + String.join(" ", now) + "]");
                last = now;
            }
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private static void call(Set<String> addresses) {
        if (addresses.isEmpty()) {
            say("CALL fail no provider");
            return;
        }
        String address = addresses.iterator().next();
        int colon = address.indexOf(':');
        try (Socket socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
                OutputStream out = socket.getOutputStream();
                BufferedReader in = reader(socket)) {
            out.write("you\n".getBytes(StandardCharsets.UTF_8));
            say("CALL ok " + in.readLine());
        } catch (IOException e) {
            say("CALL fail " + e);
        }
    }

    private static BufferedReader reader(Socket socket) throws IOException {
        return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    private static void daemon(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Runs call at every line "call"; returns at "exit" or at the end of the input. */
    private static void commands(Runnable call) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null && !line.equals("exit"); line = in.readLine()) {
            call.run();
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
