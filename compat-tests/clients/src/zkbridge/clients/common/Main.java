package zkbridge.clients.common;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Goes through scenarios (class names) against servers (name=relay,direct), on
 * all servers at the same time, one scenario after the other on each.
 */
public final class Main {
    private static final BufferedReader ANSWERS = new BufferedReader(new InputStreamReader(System.in));

    public static void main(String[] args) throws Exception {
        List<String> scenarios = new ArrayList<>();
        Map<String, String[]> servers = new LinkedHashMap<>();
        for (String arg : args) {
            int eq = arg.indexOf('=');
            if (eq < 0) {
                scenarios.add(arg);
            } else {
                servers.put(arg.substring(0, eq), arg.substring(eq + 1).split(","));
            }
        }
        List<Thread> threads = new ArrayList<>();
        for (Map.Entry<String, String[]> server : servers.entrySet()) {
            Thread t = new Thread(() -> play(scenarios, server.getKey(), server.getValue()), server.getKey());
            t.start();
            threads.add(t);
        }
        for (Thread t : threads) {
            t.join();
        }
        print("END");
        System.exit(0);
    }

    private static void play(List<String> scenarios, String server, String[] addresses) {
        for (String name : scenarios) {
            try (Script s = new Script(name, server, addresses[0], addresses[1])) {
                long start = System.nanoTime();
                Scenario scenario = (Scenario) Class.forName("zkbridge.clients." + name).getDeclaredConstructor().newInstance();
                s.say("begins");
                scenario.run(s);
                s.say("ends");
                System.err.printf("%s %s took %d ms%n", server, name, (System.nanoTime() - start) / 1_000_000);
            } catch (Throwable e) {
                System.err.println(server + " " + name + " broke off");
                e.printStackTrace();
                print(server + "> " + name + ": BROKE OFF, " + e.toString().replace('\n', ' '));
            }
        }
    }

    static synchronized void print(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Has the driver do something to the network, and waits until it has. */
    static synchronized void inflict(String server, String fault) throws Exception {
        print(server + " DO " + fault);
        String answer = ANSWERS.readLine();
        if (!"done".equals(answer)) {
            throw new IllegalStateException("the driver answers " + answer + " to " + fault);
        }
    }
}
