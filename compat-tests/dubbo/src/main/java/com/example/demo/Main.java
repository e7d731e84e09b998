package com.example.demo;

import java.util.Arrays;
import java.util.Map;

/**
 * A Dubbo application, as a user would write it: {@code provider} or {@code consumer}, then options as key=value.
 *
 * <ul>
 *   <li>{@code zookeeper=host:port}: the registry; without it a provider registers nowhere
 *   <li>{@code app=name}: the application's name
 *   <li>{@code host=ip port=n}: where a provider listens
 *   <li>{@code timeout=ms}: how long a consumer waits for an answer, 5000
 * </ul>
 */
public final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> options = Console.options(args, 1);
        switch (args[0]) {
            case "provider":
                Provider.run(options);
                break;
            case "consumer":
                Consumer.run(options);
                break;
            default:
                throw new IllegalArgumentException("neither provider nor consumer: " + Arrays.toString(args));
        }
        System.exit(0); // Dubbo's shutdown hook unregisters
    }
}
