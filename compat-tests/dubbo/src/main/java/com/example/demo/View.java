package com.example.demo;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.TreeSet;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.registry.client.migration.MigrationInvoker;
import org.apache.dubbo.rpc.Invoker;
import org.apache.dubbo.rpc.cluster.ClusterInvoker;

/** What a reference has in its two lists: by interface, and by application instance. */
final class View {
    private static final long POLL_MILLIS = 2;

    private final MigrationInvoker<?> migration;

    View(ReferenceConfig<?> reference) {
        this.migration = find(reference);
    }

    /** Says the lists now, and from a thread of its own whenever they change. */
    void watch() {
        String first = line();
        Console.say(first);
        Thread thread = new Thread(() -> {
            String last = first;
            while (true) {
                String now = line();
                if (!now.equals(last)) {
                    Console.say(now);
                    last = now;
                }
                try {
                    Thread.sleep(POLL_MILLIS);
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        thread.setName("view");
        thread.setDaemon(true);
        thread.start();
    }

    private String line() {
        Set<String> byInterface = addresses(migration.getInvoker());
        Set<String> byInstance = addresses(migration.getServiceDiscoveryInvoker());
        Set<String> all = new TreeSet<>(byInterface);
        all.addAll(byInstance);
        return "PROVIDERS " + all.size() + " [" + String.join(" ", all) + "] interface=" + byInterface.size() + " instance="
                + byInstance.size();
    }

    private static Set<String> addresses(ClusterInvoker<?> invoker) {
        Set<String> addresses = new TreeSet<>();
        if (invoker == null || invoker.isDestroyed() || invoker.getDirectory() == null) {
            return addresses;
        }
        Collection<? extends Invoker<?>> invokers = invoker.getDirectory().getAllInvokers();
        if (invokers != null) {
            for (Invoker<?> one : invokers) {
                addresses.add(one.getUrl().getAddress());
            }
        }
        return addresses;
    }

    /** Follows the invokers that wrap each other inside a reference until the one that holds both lists. */
    private static MigrationInvoker<?> find(ReferenceConfig<?> reference) {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> queue = new ArrayDeque<>();
        queue.add(reference);
        while (!queue.isEmpty()) {
            Object one = queue.remove();
            if (!seen.add(one)) {
                continue;
            }
            if (one instanceof MigrationInvoker) {
                return (MigrationInvoker<?>) one;
            }
            for (Class<?> type = one.getClass(); type != null && type != Object.class; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (!Invoker.class.isAssignableFrom(field.getType())) {
                        continue;
                    }
                    try {
                        field.setAccessible(true);
                        Object value = field.get(one);
                        if (value != null) {
                            queue.add(value);
                        }
                    } catch (ReflectiveOperationException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
        }
        throw new IllegalStateException("no MigrationInvoker inside the reference");
    }
}
