package com.example.demo;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * The line protocol between a test and an application: one event a line on standard output, one command a line on
 * standard input.
 */
final class Console {
    private Console() {}

    /** Prints one event. */
    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Reads key=value arguments. */
    static Map<String, String> options(String[] args, int from) {
        Map<String, String> options = new HashMap<>();
        for (int i = from; i < args.length; i++) {
            int equals = args[i].indexOf('=');
            options.put(args[i].substring(0, equals), args[i].substring(equals + 1));
        }
        return options;
    }

    /** Runs the command of every line that is not "exit"; returns at "exit" or at the end of the input. */
    static void commands(Map<String, Runnable> commands) {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            for (String line = in.readLine(); line != null && !line.equals("exit"); line = in.readLine()) {
                Runnable command = commands.get(line);
                if (command == null) {
                    say("ERROR no such command: " + line);
                } else {
                    command.run();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static long pid() {
        return ProcessHandle.current().pid();
    }
}
